/* SPDX-License-Identifier: MIT
 * The bits of an element of 1, 2, 4 or 8 bytes, of any type and alignment. */

fn u64 bits_at(GLOBAL const u8 *p, int bytes)
{
    if (ADDRESS(p) % (u64)bytes) {
        u64 bits = 0;
        for (int k = bytes - 1; k >= 0; k--) bits = bits << 8 | p[k];
        return bits;
    }
    if (bytes == 4) return *(GLOBAL const u32 *)p;
    if (bytes == 8) return *(GLOBAL const u64 *)p;
    return bytes == 2 ? *(GLOBAL const u16 *)p : *p;
}

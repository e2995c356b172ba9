/* SPDX-License-Identifier: MIT
 * Elements of 1, 2, 4 or 8 bytes as bits, of any type and alignment. `at`: numbers of elements. */

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

/* A thread loads this many elements together, so that the loads overlap. */
enum { LOADS = 4 };

#define LOAD_WORDS(name, word) \
    fn void name(u64 *v, GLOBAL const u8 *x, const i64 *at) \
    { \
        FOR(k, LOADS) v[k] = ((GLOBAL const word *)x)[at[k]]; \
    }
LOAD_WORDS(load_1, u8)
LOAD_WORDS(load_2, u16)
LOAD_WORDS(load_4, u32)
LOAD_WORDS(load_8, u64)

fn void load_bits(u64 *v, GLOBAL const u8 *x, const i64 *at, int bytes)
{
    const int size = ADDRESS(x) & (u64)(bytes - 1) ? 0 : bytes;
    if (size == 1) load_1(v, x, at);
    if (size == 2) load_2(v, x, at);
    if (size == 4) load_4(v, x, at);
    if (size == 8) load_8(v, x, at);
    for (int k = 0; size == 0 && k < LOADS; k++) {
        v[k] = 0;
        for (int i = bytes - 1; i >= 0; i--) v[k] = v[k] << 8 | x[at[k] * bytes + i];
    }
}

fn void store_bits(GLOBAL u8 *to, i64 at, u64 bits, int bytes)
{
    const int size = ADDRESS(to) & (u64)(bytes - 1) ? 0 : bytes;
    if (size == 1) to[at] = (u8)bits;
    if (size == 2) ((GLOBAL u16 *)to)[at] = (u16)bits;
    if (size == 4) ((GLOBAL u32 *)to)[at] = (u32)bits;
    if (size == 8) ((GLOBAL u64 *)to)[at] = bits;
    for (int i = 0; size == 0 && i < bytes; i++) to[at * bytes + i] = (u8)(bits >> 8 * i);
}

/* ---- floats: types are numbers TYPE(kind, bytes) ---- */

/* The bits of a type's infinity; of integers: the bits without the sign, all of them set. So an
 * element whose bits without the sign are larger is a NaN. */
fn u64 infinity_of(int type)
{
    if (TYPE_KIND(type) < KIND_FLOAT) return ~(u64)0 >> (65 - 8 * TYPE_BYTES(type));
    if (TYPE_BYTES(type) == 2) return TYPE_KIND(type) == KIND_FLOAT ? 0x7c00 : 0x7f80;
    return TYPE_BYTES(type) == 4 ? 0x7f800000u : 0x7ff0000000000000ul;
}

/* SPDX-License-Identifier: MIT
 * Elements in packs of 16 bytes, and roads to the node of a chunk that fold packs: any order (stripes.cl), or what is
 * exact by its size (moments, below). */
enum { PACK = 16 / TL_SIZE };
typedef struct ALIGNED(16) {
    u32 w[4];
} bundle;

fn elem pack_element(bundle v, int k)
{
#if TL_SIZE == 8
    const u64 bits = v.w[2 * k] | (u64)v.w[2 * k + 1] << 32;
#else
    const u32 bits = v.w[k * TL_SIZE / 4] >> (8 * TL_SIZE * k) % 32;
#endif
#if TL_KIND == 3
    return bits_elem(bits);
#else
    return (elem)bits;
#endif
}

fn int is_packed(batch b, i64 first) { return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % 16 == 0; }


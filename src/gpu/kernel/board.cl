/* SPDX-License-Identifier: MIT
 * The board (CUDA): states that one group posts and another looks for, in the same launch. A
 * piece is 8 bytes of a state and the epoch in one word of 16 bytes, which is seen whole or not
 * at all: no fence, no counter, nothing to clear. Every launch has an epoch of its own. */
enum { PIECES = (sizeof(state) + 7) / 8 };
typedef union {
    state s;
    u64 piece[PIECES];
} pieces;

/* to: the words of state number 0. */
fn void post_state(GLOBAL u64 *to, i64 k, state v, u64 epoch)
{
    pieces u;
    u.piece[PIECES - 1] = 0;
    u.s = v;
    UNROLL for (int c = 0; c < PIECES; c++) post_word(to + (k * PIECES + c) * 2, u.piece[c], epoch);
}
/* State number k; is it not there yet? */
fn int misses_state(GLOBAL const u64 *from, i64 k, state *v, u64 epoch)
{
    pieces u;
    int missing = 0;
    UNROLL for (int c = 0; c < PIECES; c++) missing |= look_word(from + (k * PIECES + c) * 2, &u.piece[c]) != epoch;
    *v = u.s;
    return missing;
}

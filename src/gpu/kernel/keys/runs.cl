/* SPDX-License-Identifier: MIT
 * Runs of equal neighbours (tally_runs), in three launches. A part is some neighbouring keys, a group's work:
 *
 *   keys --run_bits--> a bit for each key that begins a run, and how many a part has
 *        --run_parts--> how many come before each part, and the runs of all
 *   bits --run_ends--> where they are: the ends of the runs before them
 *
 * The keys are read once; bits are a small part of their bytes. Keys are bits: those of floats are equal also where both
 * are NaN, or zeros. */

/* bytes is a constant where this is called. */
fn u64 key_at(GLOBAL const u8 *p, int bytes)
{
    if (ADDRESS(p) % (u64)bytes) {
        u64 bits = 0;
        for (int k = bytes - 1; k >= 0; k--) bits = bits << 8 | p[k];
        return bits;
    }
    return bytes == 8   ? *(GLOBAL const u64 *)p
           : bytes == 4 ? *(GLOBAL const u32 *)p
           : bytes == 2 ? *(GLOBAL const u16 *)p
                        : *p;
}

/* magnitude: the bits but the sign; NaNs are above infinity; of integers both are all bits. */
fn int keys_differ(u64 a, u64 b, u64 magnitude, u64 infinity)
{
    if (a == b) return 0;
    a &= magnitude, b &= magnitude;
    return !((a == 0 && b == 0) || (a > infinity && b > infinity));
}

/* The bits of the keys of a tile that are this lane's; 0 begins no run: it is no end of another one. */
fn void tile_bits(GLOBAL const u8 *x, i64 step, i64 tile, i64 end, int t, int bytes, u64 magnitude, u64 infinity,
                  LOCAL u32 *word)
{
    u64 key[RUN_KEYS], before[RUN_KEYS];
    UNROLL for (int k = 0; k < RUN_KEYS; k++)
    {
        const i64 i = tile + k * RUN_THREADS + t, at = i < end ? i : end - 1;
        key[k] = key_at(x + at * step, bytes);
        before[k] = key_at(x + (at ? at - 1 : 0) * step, bytes);
    }
    UNROLL for (int k = 0; k < RUN_KEYS; k++)
    {
        const int at = k * RUN_THREADS + t;
        if (tile + at < end && keys_differ(key[k], before[k], magnitude, infinity)) {
            OR_LOCAL(&word[at >> 5], 1u << (at & 31));
            ADD_LOCAL(&word[RUN_WORDS], 1u);
        }
    }
}

KERNEL_OF(run_bits)
{
    LOCAL u32 *const word = (LOCAL u32 *)ROOM_OF_PARAMETER; /* and behind them how many bits are set */
    const int t = thread_index();
    GLOBAL const u8 *const x = keys + in_byte;
    const i64 step = stride * bytes;
    for (i64 part = group_index(); part < parts; part += group_count()) {
        const i64 from = part * each, end = count - from < each ? count : from + each;
        if (t == 0) word[RUN_WORDS] = 0;
        for (i64 tile = from; tile < end; tile += RUN_TILE) {
            for (int k = t; k < RUN_WORDS; k += RUN_THREADS) word[k] = 0;
            BARRIER();
            if (bytes == 8) tile_bits(x, step, tile, end, t, 8, (u64)magnitude, (u64)infinity, word);
            if (bytes == 4) tile_bits(x, step, tile, end, t, 4, (u64)magnitude, (u64)infinity, word);
            if (bytes == 2) tile_bits(x, step, tile, end, t, 2, (u64)magnitude, (u64)infinity, word);
            if (bytes == 1) tile_bits(x, step, tile, end, t, 1, (u64)magnitude, (u64)infinity, word);
            BARRIER();
            for (int k = t; k < RUN_WORDS; k += RUN_THREADS) words[tile / 32 + k] = word[k];
            BARRIER();
        }
        if (t == 0) sums[part] = (i64)word[RUN_WORDS];
        BARRIER();
    }
}

/* What comes before lane t's number; *all: of all lanes. (Hillis and Steele, between two halves of room.) */
fn i64 before_of(LOCAL i64 *room, int t, i64 mine, i64 *all)
{
    int turn = 0;
    room[t] = mine;
    BARRIER();
    for (int m = 1; m < RUN_THREADS; m <<= 1) {
        const i64 v = room[turn + t] + (t >= m ? room[turn + t - m] : 0);
        turn ^= RUN_THREADS;
        room[turn + t] = v;
        BARRIER();
    }
    const i64 before = room[turn + t] - mine;
    *all = room[turn + RUN_THREADS - 1];
    BARRIER();
    return before;
}

/* One group. sums[parts]: how many bits there are. */
KERNEL_OF(run_parts)
{
    LOCAL i64 *const room = (LOCAL i64 *)ROOM_OF_PARAMETER;
    const int t = thread_index();
    i64 total = 0, all;
    for (i64 at = 0; at < parts; at += RUN_THREADS) {
        const i64 mine = at + t < parts ? sums[at + t] : 0, before = total + before_of(room, t, mine, &all);
        if (at + t < parts) sums[at + t] = before;
        total += all;
    }
    if (t == 0) sums[parts] = total;
}

/* offsets[1 ..]: where runs end; offsets[0] is 0, and the last one is `count`. */
KERNEL_OF(run_ends)
{
    GLOBAL i64 *const ends = (GLOBAL i64 *)(offsets + out_byte);
    LOCAL i64 *const room = (LOCAL i64 *)ROOM_OF_PARAMETER;
    const int t = thread_index();
    for (i64 part = group_index(); part < parts; part += group_count()) {
        const i64 from = part * each / 32, over = (count + 31) / 32, end = over - from < each / 32 ? over : from + each / 32;
        i64 done = sums[part], all;
        for (i64 at = from; at < end; at += RUN_THREADS) {
            i64 mine = 0;
            for (u32 b = at + t < end ? words[at + t] : 0; b; b &= b - 1) mine++;
            i64 to = 1 + done + before_of(room, t, mine, &all);
            /* read again: what PoCL 3.1 keeps of a lane's own across the barriers was now and then another's */
            for (u32 bits = at + t < end ? words[at + t] : 0; bits; bits &= bits - 1) ends[to++] = 32 * (at + t) + low_zeros(bits);
            done += all;
        }
    }
    if (group_index() == 0 && t == 0) {
        ends[0] = 0;
        ends[1 + sums[parts]] = count;
    }
}

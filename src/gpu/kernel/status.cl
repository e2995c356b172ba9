/* SPDX-License-Identifier: MIT
 * Status table for look-back (CUDA): one thread block publishes states, others of the same launch
 * poll for them. A word of 16 bytes has 8 bytes of a state and the launch's epoch. It is written
 * and read in one access, so no fence or counter is needed. The table's first word, its head, has
 * the tickets that scans have taken in this launch, and the epoch of the last launch. So each
 * launch has an epoch of its own, also if a graph repeats it, and the table is cleared once. */
enum { PIECES = (sizeof(state) + 7) / 8 };

typedef union {
    state s;
    u64 piece[PIECES];
} pieces;

/* The epoch of the last launch; the mark of this one is the next number. It is computed where it is
 * used (HERE), so that loads of elements need not wait. Only warps that need it read it, because
 * all reads are of one address. One thread ends the epoch, after all blocks have begun it and taken
 * their last tickets. */
fn u64 begin_epoch(GLOBAL const u64 *table)
{
    u64 tickets;
    return poll_word(table, &tickets);
}

fn void end_epoch(GLOBAL u64 *table, u64 epoch) { publish_word(table, 0, epoch + 1); }

/* Publishes v as state number k. to: the words of state number 0. */
fn void publish_state(GLOBAL u64 *to, i64 k, state v, u64 epoch)
{
    pieces u;
    HERE(epoch);
    u.piece[PIECES - 1] = 0;
    u.s = v;
    UNROLL for (int c = 0; c < PIECES; c++)
        publish_word(to + (k * PIECES + c) * 2, u.piece[c], epoch + 1);
}

/* Polls for state number k. Returns 0 and sets *v if it has been published, else nonzero. */
fn int state_missing(GLOBAL const u64 *from, i64 k, state *v, u64 epoch)
{
    pieces u;
    int missing = 0;
    UNROLL for (int c = 0; c < PIECES; c++) missing |=
        poll_word(from + (k * PIECES + c) * 2, &u.piece[c]) != epoch + 1;
    *v = u.s;
    return missing;
}

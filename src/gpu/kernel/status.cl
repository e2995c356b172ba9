/* SPDX-License-Identifier: MIT
 * Status table for look-back (CUDA): one thread block publishes states, others of the same launch
 * poll for them. A word of 16 bytes has 8 bytes of a state and the launch's epoch. It is written
 * and read in one access, so no fence or counter is needed. Each launch has an epoch of its own, so
 * the table is cleared only when it is allocated.
 *
 * The table begins with its head, a word too: the number of tickets that blocks of this launch have
 * taken (scans only), and the epoch of the last launch. Launches that use a table follow each other,
 * also those that a graph repeats, so the device can count the epochs. */
enum { PIECES = (sizeof(state) + 7) / 8 };

typedef union {
    state s;
    u64 piece[PIECES];
} pieces;

/* begin_epoch: the epoch of this launch. end_epoch: for one thread, after all blocks have begun the
 * epoch and taken their last tickets. */
fn u64 begin_epoch(GLOBAL const u64 *table)
{
    u64 tickets;
    return poll_word(table, &tickets) + 1;
}

fn void end_epoch(GLOBAL u64 *table, u64 epoch) { publish_word(table, 0, epoch); }

/* Publishes v as state number k. to: the words of state number 0. */
fn void publish_state(GLOBAL u64 *to, i64 k, state v, u64 epoch)
{
    pieces u;
    u.piece[PIECES - 1] = 0;
    u.s = v;
    UNROLL for (int c = 0; c < PIECES; c++) publish_word(to + (k * PIECES + c) * 2, u.piece[c],
                                                         epoch);
}

/* Polls for state number k. Returns 0 and sets *v if it has been published, else nonzero. */
fn int state_missing(GLOBAL const u64 *from, i64 k, state *v, u64 epoch)
{
    pieces u;
    int missing = 0;
    UNROLL for (int c = 0; c < PIECES; c++)
        missing |= poll_word(from + (k * PIECES + c) * 2, &u.piece[c]) != epoch;
    *v = u.s;
    return missing;
}

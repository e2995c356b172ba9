/* SPDX-License-Identifier: MIT
 * The loop of a block over its tiles: load -> levels -> store. A schedule is a way to make and fold
 * the levels of a tile. gpu/operators.c and gpu/window/ say which schedule takes a call, and
 * gpu/program.c puts its text into the program and defines TL_SCHEDULE as its name:
 *
 *   quads    quads.cl     levels in quads of neighbouring items; windows of their whole length
 *   passes   passes.cl    a high radix, states of up to 8 bytes
 *   cut      cut.cl       any windows, also those that an edge cuts off
 *
 * Programs of walks have walk.cl in place of this loop.
 *
 * A schedule S has a type S_registers, the number S_items of items in a tile, and:
 *
 *   S_prefetches(p, l)            false: tile p needs no items
 *   S_load(memory, p, l)          items to local memory. A barrier follows
 *   S_fold(memory, r, p, d, l)    makes the levels and folds them
 *   S_store(memory, r, p, d, l)   results, or states. A barrier follows
 *
 * memory: local memory, whose size the host gives; r: registers of a thread; p, d: the tile and its
 * borders; l: the launch. */
#define SCHEDULE_NAME(schedule, name) schedule##_##name
#define SCHEDULE_OF(schedule, name)   SCHEDULE_NAME(schedule, name)
#define OF_SCHEDULE(name)             SCHEDULE_OF(TL_SCHEDULE, name)

/* tiles, cuts: of this turn and of the next one, which is prepared meanwhile. */
fn void compute_tiles(LOCAL u8 *memory, LOCAL tile *tiles, LOCAL borders *cuts, const launch *l)
{
    enum { ITEMS = OF_SCHEDULE(items) };
    OF_SCHEDULE(registers) r;
    const i64 first = group_index(), step = group_count();
    const int me = thread_index();
    int turn = 0;
    if (me == 0 && first < l->jobs)
        set_tile(&tiles[0], l, first, start_of_tile(l->b, first), ITEMS);
    clear_borders(&cuts[0], l->b);
    BARRIER();
    if (first < l->jobs) set_borders(&cuts[0], &tiles[0], l->b);

    for (i64 job = first; job < l->jobs; job += step, turn ^= 1) {
        LOCAL const tile *const p = &tiles[turn];
        LOCAL tile *const after = &tiles[turn ^ 1];
        const i64 next = job + step;
        /* SKIPS 0: the last tile is prepared twice. PoCL 3.1 ran this code for a tile not set. */
        const int more = next < l->jobs, prepares = !SKIPS || more;
        const i64 then = more ? next : job;
        const tile_start start = start_of_tile(l->b, then);
        OF_SCHEDULE(load)(memory, p, l);
        clear_borders(&cuts[turn ^ 1], l->b);
        if (me == 0 && prepares) set_tile(after, l, then, start, ITEMS);
        BARRIER();

        if (prepares) set_borders(&cuts[turn ^ 1], after, l->b);
        if (more && OF_SCHEDULE(prefetches)(after, l)) prefetch_tile(after, ITEMS);
        OF_SCHEDULE(fold)(memory, &r, p, &cuts[turn], l);
        OF_SCHEDULE(store)(memory, &r, p, &cuts[turn], l);
        BARRIER();
    }
}

KERNEL_OF(window_tile)
{
    LAUNCH_OF_PARAMETERS;
    SHARED tile tiles[2];
    SHARED borders cuts[2];
    if (TL_FLAT) l.b.seqs = 1, l.b.flags = 0;
    compute_tiles((LOCAL u8 *)LOCAL_MEMORY, tiles, cuts, &l);
}

#if !TL_IN_PLACE
/* Writes a tile_start (place.cl) for each tile of segments. */
KERNEL_OF(tile_firsts)
{
    BATCH_OF_PARAMETERS;
    for (i64 job = group_index() * WINDOW_THREADS + thread_index(); job < jobs;
         job += group_count() * WINDOW_THREADS) {
        const i64 k = offset_after(b, at + job * each);
        first[2 * job] = k, first[2 * job + 1] = b.offsets[k <= b.seqs ? k : b.seqs] - b.offsets[0];
    }
}
#endif

/* SPDX-License-Identifier: MIT
 * What the host does around a rung's kernel, in words: the other half of the program. One text
 * for each schedule, as reduce.c and series.c run them. */
#include "rung.h"

const char *host_text(const rung *g)
{
    static const char *const texts[] = {
        [LOOP] = "a loop on the host; no device\n",
        [OPENMP] = "a loop on the host, shared out among its processors; no device\n",
        [LIBRARY] = "view = tally_flat(memory, dtype, n)        no copy where the data are on the "
                    "device already\n"
                    "tally_reduce, tally_scan or tally_window\n",
        [HALVES] =
            "tail = one element, cleared by a launch\n"
            "while n >= 2: launch for n / 2 elements: from, to, tail, n\n"
            "              from = to (in place from the second launch on); n = n / 2\n"
            "copy out: element 0 and the tail, and nothing else; result = element 0 . tail\n",
        [EIGHTHS] =
            "tail = one element, cleared by a launch\n"
            "while n >= 8: launch for n / 8 elements: from, to, tail, n;  n = n / 8\n"
            "copy out: the fewer than 8 elements that are left, and the tail; fold them here\n",
        [TILES] = "two arrays on the device, source and destination, and views of them\n"
                  "while n > one tile: launch a group for each tile: source, destination, n\n"
                  "                    swap the views (nothing is copied); n = number of tiles\n"
                  "copy out: the view of the first n results; fold them here\n",
        [LEVELS] = "while n > 1: launch a group for each tile: source, destination, n;  swap; n = "
                   "number of tiles\n"
                   "copy out: one element\n",
        [STRIDES] = "groups = as many as the device runs at once, however large n is\n"
                    "launch once: in, out, n\n"
                    "copy out: one result for each group; fold them here\n",
        [ATOMIC] = "one cell, cleared by a launch\n"
                   "launch once: in, cell, n\n"
                   "copy out: the cell\n",
        [ONCE] = "a ticket, set to 0 by a launch\n"
                 "launch once: in, partial results, ticket, out, n\n"
                 "copy out: one element\n",
        [TOGETHER] = "groups = at most one per processor of the device, so that all of them run at "
                     "the same time\n"
                     "a cell, set to 0 by a launch\n"
                     "launch once: in, partial results, cell, out, n\n"
                     "copy out: one element\n",
        [RECURSE] = "scan(in, out, n):\n"
                    "    launch tile_scan, a group for each tile: in, out, sums, n\n"
                    "    where there is more than one tile: scan(sums, sums, tiles)      the same, "
                    "one level up\n"
                    "                                       launch propagate: out, sums, n\n"
                    "copy out: n elements\n",
        [SEGMENTS] = "heads: a flag for each element, 1 where a segment begins; copied to the "
                     "device with the elements\n"
                     "as a scan of any length, with the flags going along:\n"
                     "    launch tile_scan: in, heads, out, seen, sums, heads of the sums, n\n"
                     "    where there is more than one tile: the same on the sums; launch "
                     "propagate: out, seen, sums, n\n"
                     "copy out: n elements\n",
        [LOOKBACK] =
            "flags of the tiles and a ticket, set to 0 by two launches\n"
            "launch once, a group for each tile: in, out, own sums, whole sums, flags, ticket, n\n"
            "copy out: n elements\n",
        [POLL] = "states of the tiles and a ticket, set to 0 by two launches\n"
                 "launch once, a group for each tile: in, out, states, ticket, n\n"
                 "copy out: n elements\n",
        [WINDOW] =
            "launch once, a thread for each element, rounded up to whole groups: in, out, n, w\n"
            "copy out: n elements, of which the first w - 1 were not written\n",
        [DIFFERENCE] = "scan the series (as hillis_steele): in, running sums\n"
                       "launch difference: running sums, out, n, w\n"
                       "copy out: n elements\n",
        [TRANSPOSE] = "launch once, a thread for each element or a group for each tile: in, out, "
                      "rows, columns\n"
                      "copy out: rows * columns elements\n",
        [HISTOGRAM] = "128 counts, set to 0 by a launch\n"
                      "launch once, as many groups as the device runs at once: in, counts, n\n"
                      "copy out: 128 counts\n",
    };
    return texts[g->schedule];
}

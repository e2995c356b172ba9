/* SPDX-License-Identifier: MIT
 * The verbs one state after the other, by the law's own steps. For operators that have no form in
 * which an element can be missing (context/inputs.h, TL_FORM_STATES). Slow: about 20 ns for an
 * element, and a window folds all of its elements anew. */
#ifndef TALLY_STATES_H
#define TALLY_STATES_H

#include "cpu/keys/ranges.h"

/* in: dense sequences (tl_gather_dense); element j is missing if there[j] is a NaN. out: as for the
 * verbs. ranges: the windows of a sequence of n elements. */
void tl_states_reduce(const tl_plan *plan, int threads, const tally_view *in, const float *there,
                      char *out);
void tl_states_scan(const tl_plan *plan, int threads, const tally_view *in, const float *there,
                    const tally_view *out, const tally_scan_options *options);
void tl_states_ranges(const tl_plan *plan, int threads, const tl_ranges *ranges, tl_line line,
                      const float *there);

#endif

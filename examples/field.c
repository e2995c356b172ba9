/* SPDX-License-Identifier: MIT
 * The time mean of a field: step by step as a model makes it, and from two parts that come the wrong way round.
 * Run: field */
#include <stdio.h>
#include <string.h>
#include <tally.h>

enum { CELLS = 10000, STEPS = 365, CUT = 120 };
static float field[STEPS][CELLS], whole[CELLS], streamed[CELLS], merged[CELLS];

int main(void)
{
    tally *t;
    tally_stream *s;
    tally_fragment *early, *late;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    for (int i = 0; i < STEPS; i++)
        for (int c = 0; c < CELLS; c++)
            field[i][c] = (float)(c % 97) + 1 / (float)(1 + i * 31 % 365);

    const tally_view all =
        tally_columns(field, TALLY_F32, STEPS, CELLS); /* each cell is a sequence */
    if (tally_reduce(t, "mean", &all, whole) ||
        tally_stream_reduce_rows(t, "mean", TALLY_F32, CELLS, &s))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    for (int i = 0; i < STEPS; i++) {
        const tally_view step = tally_columns(field[i], TALLY_F32, 1, CELLS);
        if (tally_stream_push_view(s, &step, NULL))
            return fprintf(stderr, "%s\n", tally_error(t)), 1;
    }
    if (tally_stream_finish(s, streamed, NULL)) return fprintf(stderr, "%s\n", tally_error(t)), 1;

    const tally_view first = tally_columns(field[0], TALLY_F32, CUT, CELLS),
                     last = tally_columns(field[CUT], TALLY_F32, STEPS - CUT, CELLS);
    if (tally_fragment_of_view(t, "mean", &last, CUT, &late) ||
        tally_fragment_of_view(t, "mean", &first, 0, &early) || tally_fragment_merge(late, early) ||
        tally_fragment_result(late, merged))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;

    printf("cell 0: %.9g, cell 9999: %.9g\n", (double)whole[0], (double)whole[CELLS - 1]);
    printf("step by step: %s\n",
           memcmp(streamed, whole, sizeof whole) ? "other bits" : "the same bits");
    printf("from two parts: %s\n",
           memcmp(merged, whole, sizeof whole) ? "other bits" : "the same bits");
    tally_fragment_free(early);
    tally_fragment_free(late);
    tally_stream_close(s);
    tally_close(t);
    return 0;
}

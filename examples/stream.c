/* SPDX-License-Identifier: MIT
 * A file folded in chunks of any size: the bits are those of one call on all of it, and memory stays small.
 * Run: stream data/co2.csv co2 */
#include <stdio.h>
#include <tally.h>

enum { CHUNK = 1000 };

int main(int argc, char **argv)
{
    double x[CHUNK], result;
    int64_t got, n = 0;
    tally *t;
    tally_file *f;
    tally_stream *s;
    if (argc < 2) return fprintf(stderr, "usage: stream FILE.csv [COLUMN]\n"), 2;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    const tally_file_options o = {.dtype = TALLY_F64, .column = argc > 2 ? argv[2] : NULL};
    if (tally_file_open(t, argv[1], &o, &f) || tally_stream_reduce(t, "nanmean", TALLY_F64, &s))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    do {
        if (tally_file_read(f, x, CHUNK, &got) || tally_stream_push(s, x, got, NULL, NULL))
            return fprintf(stderr, "%s\n", tally_error(t)), 1;
        n += got;
    } while (got > 0);
    if (tally_stream_finish(s, &result, NULL)) return fprintf(stderr, "%s\n", tally_error(t)), 1;
    printf("mean of %lld values, missing ones left out: %.17g\n", (long long)n, result);
    tally_stream_close(s);
    tally_file_close(f);
    tally_close(t);
    return 0;
}

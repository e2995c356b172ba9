/* SPDX-License-Identifier: MIT
 * reduce.h - what the files of tally reduce share. */
#ifndef REDUCE_H
#define REDUCE_H

#include "cli.h"

enum { READ_BYTES = 8 << 20 };

typedef struct job {
    const options *o;
    tally *ctx;
    operators ops;
    second beside; /* of the file that is read */
} job;

/* The file that is reduced, and how. */
typedef struct reduction {
    job *j;
    answer *a;
    const char *path;
    input in;
    layout l;
    groups steps;    /* of --by with --axis */
    int64_t columns; /* of a table whose columns are the sequences; else 0 */
    int by, banded;  /* --by of lines; --by of steps along --axis */
    int boxed;       /* the file can be read in boxes */
    char *buffer;    /* READ_BYTES */
    progress p;
    double start;
    where_ran before;
} reduction;

/* ---- reduce_pieces.c: data that is read in pieces ---- */
/* Reduces the next `limit` elements of the input (-1: all), as one sequence or as the columns of
 * a table. Writes the results of every operator from number `row` on. */
int reduce_fold(reduction *r, int64_t row, int64_t limit);
/* Reduces the whole input as one sequence. */
int reduce_flat(reduction *r);
/* Reduces rows that are not in memory. */
int reduce_rows(reduction *r);

/* ---- reduce_pieces.c: --axis and --segments ---- */
/* Reduces every batch of sequences of data, with the layout l, and writes results from number `row`
 * on. Of --by with --axis, each group of a batch is one view. */
int reduce_batches(const reduction *r, const void *data, const layout *l, int64_t row);
int reduce_boxes(reduction *r);
int reduce_bands(reduction *r);

/* ---- steps.c: an array in a file, along a dimension, some steps at a time ---- */
typedef struct steps {
    const job *j;
    input *in;
    answer *a;
    const layout *l;
    const groups *g; /* NULL: one group */
    progress *p;
    int64_t memory; /* the most bytes that may be used */

    /* The rest is of steps.c. */
    tally_stream **streams; /* per group that is read at once, one per operator */
    int64_t streams_count;
    int32_t *group; /* the group of each step, if the file is read in its order */
    int64_t now;    /* steps that are read at a time */
    char *buffer;
    int64_t done; /* steps that were read */
} steps;
/* *taken 0: this method does not apply, and nothing was done. */
int reduce_steps(steps *s, int *taken);

/* ---- reduce_groups.c: --by ---- */
/* The elements of the sequence of result k: len; or of group k / inner % groups. */
typedef struct lengths {
    int64_t len;
    const int64_t *offsets;
    int64_t inner, groups;
} lengths;
int reduce_groups(const job *j, input *in, answer *a);
/* Sets the indexes that show which results of column c have a value. */
void reduce_indexes(const job *j, const answer *a, int64_t c);
/* Turns the counts of operator i, if it is a share, into shares of the elements. */
void reduce_shares(const operators *ops, int i, result *r, int64_t count, const lengths *n);
#endif

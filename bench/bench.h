/* SPDX-License-Identifier: MIT
 *
 * bench.h - what the parts of the benchmark share: a problem, a contender, memory and a clock.
 *
 * A problem is a word, OP:DTYPE:SHAPE:SIZE, read from the right because an operator may hold
 * colons itself:
 *
 *     sum:f32:reduce:2^27                one flat array
 *     sum:f32:scan:2^27                  inclusive scan
 *     mean:f32:window=512:2^26           trailing windows of 512
 *     sum:f32:rows=256:2^28              rows of 256 elements each
 *     sum:f32:columns=4096:2^27          the columns of a matrix that is 4096 wide
 *     sum:f32:segments=1000000:2^27      a million segments with a heavy tail, about 2^27 elements
 *
 * A contender is a function that solves a job: tally, a peer, or a ceiling. The peers of one
 * file are a table of `peer` rows; the C++ ones sit in shared objects that the benchmark opens
 * if they were built.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum shape { REDUCE, SCAN, WINDOW, ROWS, COLUMNS, SEGMENTS } shape;
typedef enum element { F32, F64, I32, I64, U8, ELEMENTS } element;

typedef struct job {
    const char *word; /* the problem as it was written */
    char op[32];
    element type;
    shape shape;
    int64_t n; /* elements in all */
    /* the shape's number: window, row length, matrix width or segments; else 0 */
    int64_t size;
    int64_t results;        /* elements of out */
    const int64_t *offsets; /* segments: size + 1 of them */
    const void *in;
    void *out;
    /* the traffic that is counted: everything read once, everything written once */
    size_t in_bytes, out_bytes;
    int threads;
} job;

typedef void (*solver)(const job *j);

/* What a peer can do. threads: 1 it is sequential, 2 it uses job.threads of them. tbb: its
   threads are TBB's. */
typedef struct peer {
    const char *name, *op;
    element type;
    shape shape;
    int threads, tbb;
    solver run;
} peer;

/* Every shared object of peers exports this. */
typedef const peer *(*peer_list)(int *count);
extern const peer peers_ofast[], peers_shapes[], peers_hand[];
extern const int peers_ofast_count, peers_shapes_count, peers_hand_count;

/* subject.c: tally itself. `op` as tally writes it; returns 0 and says why if the problem cannot
   be run. */
int subject_here(void);
const char *subject_text(int threads);
int subject_run(const job *j);
float subject_one_liner(const float *x, int64_t n);
/* What a call on 1 to 64 elements costs. */
int calls_run(int rounds, void *json_file);

/* problem.c. parse: 0 if the word is not a problem. fill: allocates and fills in, out and
   offsets. */
int problem_parse(const char *word, job *j);
int problem_fill(job *j);
void problem_free(job *j);
double problem_result(const job *j, int64_t i);
const char *element_name(element e);
size_t element_size(element e);

/* ceiling.c. Memory on huge pages (madvise), already touched; a pinned team, and
   threads that are not pinned; seconds; the median
   (sorts v). */
void *memory_huge(size_t bytes);
void memory_free(void *p, size_t bytes);
void team_pin(int threads);
void team_free(void);
int team_most(void);
double now(void);
double median(double *v, int count);

#ifdef __cplusplus
}
#endif
#endif

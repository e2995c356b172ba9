/* SPDX-License-Identifier: MIT
 * What a rung's counts say about its time on a known GPU, and the recorded times of one. */
#ifndef LADDER_ESTIMATE_H
#define LADDER_ESTIMATE_H
#include "rung.h"

typedef struct machine {
    const char *name;
    int units; /* multiprocessors */
    double ghz;
    int warps, groups, shared_kb, issue; /* of a multiprocessor */
    double peak;                         /* bytes per second */
} machine;
const machine *find_machine(const char *device_text); /* NULL: not in the table of estimate.c */

typedef struct work {
    const rung *rung;
    /* bytes: asked by the lanes */
    double n, launches, groups, operations, shared, conflicts, requests, sectors, bytes;
    /* of a group: between barriers; those of them that touch global memory */
    double intervals, global_intervals;
    int64_t shared_bytes; /* of a group */
    double seconds;       /* measured; 0: not */
} work;
int work_of_row(const shape_report *s, const row *x, work *w); /* returns 0 if it was not counted */
/* The work and the time of the recorded device. Returns 0 if it has no such rung. Without counts
 * w->groups is 0. */
int recorded_work(const rung *g, work *w);
typedef struct recorded_device {
    const char *name;
    double n, read, copy;
} recorded_device;
const recorded_device *recorded(shape s);

/* The textbook numbers behind the estimate, in cycles: not measured on any of these machines. */
enum { CYCLES_OPERATION = 4, CYCLES_SHARED = 25, CYCLES_BARRIER = 20, CYCLES_GLOBAL = 800 };
#define SECONDS_LAUNCH 1.5e-6
#define INSTRUCTIONS_OF \
    0.75 /* a compiler makes about 3 instructions of 4 operations of the model */

typedef enum { BY_MEMORY, BY_ISSUE, BY_SHARED, BY_LATENCY, LIMITS } limit;
typedef struct estimate {
    const char *reason; /* why there is no estimate; NULL: there is one */
    limit limit;
    double seconds, part[LIMITS]; /* part: the time if nothing else were a limit */
    int resident;                 /* groups of a multiprocessor */
    double occupancy;             /* of its warps */
} estimate;
const char *limit_name(limit l);
/* bandwidth: bytes per second that were measured; 0: the machine's peak. */
void estimate_time(const machine *m, const work *w, double bandwidth, estimate *e);
#endif

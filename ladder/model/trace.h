/* SPDX-License-Identifier: MIT
 * What a small launch did, one event after another: which lane of which warp touched which word.
 * A program that is followed (model_follow) writes its events here; the page's stepper replays
 * them. Meant for some tens of threads: beyond `capacity` events nothing more is kept, and `cut`
 * says so. */
#ifndef LADDER_TRACE_H
#define LADDER_TRACE_H
#include "model.h"

typedef enum {
    TRACE_LAUNCH,  /* a kernel begins: `place` is its number in model_trace.launch */
    TRACE_GROUP,   /* a group begins: value[0] is its number */
    TRACE_READ,    /* lanes of a warp read a word each */
    TRACE_WRITE,   /* and write one */
    TRACE_ATOMIC,  /* one after the other: value[l] is what lane l left there */
    TRACE_SHUFFLE, /* lanes read another lane's register: index[l] is that lane */
    /* a branch on which the lanes disagree: `lanes` go on, the others of `active` wait */
    TRACE_SPLIT,
    TRACE_BARRIER,      /* all threads of the group have come */
    TRACE_WARP_BARRIER, /* the lanes of one warp have */
    /* all threads of the group have; it goes on when all groups have (then TRACE_GROUP again) */
    TRACE_GRID_BARRIER,
    TRACE_WAIT, /* lanes wait for the bulk copies that arrive at a word of array `place` */
    TRACE_KINDS
} trace_kind;

typedef union trace_value {
    int64_t i;
    double d;
} trace_value;

enum { TRACE_LAUNCHES = 16, TRACE_ARRAYS = 16, TRACE_WORDS = 128 };

typedef struct trace_event {
    trace_kind kind;
    int line, warp, place; /* place: the array, of the launch's */
    /* shared memory: words wanted of the worst bank; global memory: sectors of 32 bytes */
    int degree, sectors;
    int width; /* elements of a lane: 4 for load4 and store4 */
    uint64_t lanes, active;
    int32_t index[MODEL_WARP_MOST];
    trace_value value[MODEL_WARP_MOST * 4]; /* read or written: `width` of a lane */
    /* races found here; the first: its two threads and the element */
    int races, race_one, race_other, race_index;
} trace_event;

typedef struct trace_array {
    char name[32];
    /* same: an array before it that is the same memory, or -1; used: elements up to the last
       that was touched */
    int shared, same, used;
    kind kind;
    int64_t length;
    trace_value start[TRACE_WORDS]; /* global memory as the launch found it */
} trace_array;

typedef struct trace_launch {
    char kernel[32];
    int64_t groups;
    int threads, arrays;
    trace_array array[TRACE_ARRAYS];
} trace_launch;

typedef struct model_trace {
    int warp, banks, launches, count, capacity, cut;
    trace_launch launch[TRACE_LAUNCHES];
    trace_event *event;                                  /* the caller's, `capacity` of them */
    int races_pending, race_one, race_other, race_index; /* of the access that is under way */
} model_trace;

/* From now on launches of this program that count (model_launch with counts) are written to
   trace; NULL: no more. */
void model_follow(model_program *program, model_trace *trace);
#endif

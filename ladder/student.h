/* SPDX-License-Identifier: MIT
 * A kernel of the reader's: its text, the rung that it stands in for, what it is tried with. */
#ifndef LADDER_STUDENT_H
#define LADDER_STUDENT_H
#include "rung.h"

typedef struct student {
    /* in the dialect; as it was read (the same where it was in the dialect) */
    char *text, *original;
    char name[64];
    char shared[80], parameters[80]; /* of the head */
    rung rung, like;                 /* in the place of `like` */
    int operation; /* -1: all that the ladder has; else what the head or the command says */
    int fixed;     /* 1: written for one type, kind */
    kind kind;
} student;

char *read_text(const char *path, ladder_error *error); /* a file of at most 1 MiB; caller frees */
/* student_close after a success. rung NULL: the file's head says it (like: reduce/tiled_1). */
int student_open(const ladder_options *o, const char *file, const char *rung, student *s,
                 ladder_error *error);
/* Like student_open, with a text that was read from `file`. The student then owns the text, also
   after a failure. */
int student_take(const ladder_options *o, const char *file, char *text, const char *rung,
                 student *s, ladder_error *error);
void student_close(student *s);
/* start_alone of a file; student_close and end_alone, also after a failure. */
int start_file(alone *a, const ladder_options *o, const char *file, int64_t usual_n, student *s,
               ladder_error *error);

/* One run of the kernel on the model. */
typedef struct trial {
    int64_t n;
    kind kind;
    int operation, warp, banks;
    int64_t width;
} trial;
/* What is wrong, once for each kind of defect and line. */
typedef struct complaint {
    trial at;
    int defect; /* DEFECT_NONE: the values */
    int line;
    char text[300];
} complaint;
enum { COMPLAINTS_MOST = 12 };
typedef struct examination {
    int trials, wrong; /* runs; runs that went wrong */
    /* runs for which there was no time, or for types that the kernel does not take */
    int left_out;
    int no_launch; /* runs in which no kernel was launched, which are no trials */
    int64_t checked, off;
    complaint complaints[COMPLAINTS_MOST];
    int count;
    double work; /* operations an element of the largest run, which had `most` elements */
    int64_t most;
    char types[80], sizes[200];
} examination;

/* Adds one trial: 0, or error->code (the text does not compile). Memory and time are the trial's
   own. */
int examine_one(const student *s, const trial *t, examination *e, ladder_error *error);
void complain_about(examination *e, const trial *t, const char *text); /* counted as a wrong run */
/* The elements that a run may have: n; or those of the largest run so far, if the kernel is wrong
 * and n would take minutes, because each thread goes over all elements. */
int64_t affordable(const examination *e, int64_t n);
/* What `try` does before it counts: many sizes, types and operations. */
int examine(const ladder_options *o, const student *s, examination *e, ladder_error *error);
/* ladder_grade of texts, on the model; what --json would write goes to `json`. */
int grade_texts(const char *assignment, const char *name, const char *kernel, FILE *json,
                ladder_error *error);
/* "n = 4999, i32, sum" */
void trial_text(const student *s, const trial *t, char *text, size_t capacity);
#endif

/* SPDX-License-Identifier: MIT
 * The teaching ladder, as the command line sees it. Nothing here prints on standard error or
 * exits: a failure is an exit code of the command line and one sentence.
 *
 *   rungs.def  rungs/                    the rungs          model/       the SIMT model
 *   text.c  place.c  data.c  order.c     texts, devices, data with known results, documented orders
 *   schedules.c  host.c                  how the host runs a rung
 *   measure.c  verify.c  run.c           timing; verdicts; one rung, everywhere
 *   report.c  table.c  sentence.c        the whole report, on a terminal
 *   json.c  diff.c  html.c  plots.c      for programs, for two machines, as a page
 *   story.c  why.c  estimate.c           the page's story; roofline and estimates (recorded.def)
 *   stepper.c  tree.c  report.js         the page's stepper and trees, from the model's trace
 *   export.c  words.c  host/             a rung as a program in CUDA, OpenCL or C
 *   lesson.c  lesson/                    a page with exercises; the grader in it, in WebAssembly
 *   show.c  break.c  try.c  grade.c      looking closer
 *   student.c  foreign.c  examine.c      a reader's kernel: read, translated from CUDA or OpenCL, tried in many ways */
#ifndef LADDER_H
#define LADDER_H
#include <stdint.h>
#include <stdio.h>

typedef struct ladder_options {
    const char *shape; /* reduce, scan, window, or NULL: all */
    /* rungs with commas between, as reduce1 or reduce/reduce1; NULL: all of the shape */
    const char *rung;
    const char *device; /* model, or what tally_open takes; NULL or auto: the best there is */
    /* i32 u32 i64 u64 f32 f64; NULL: i32 for reductions and scans, f32 for windows */
    const char *dtype;
    const char *operation; /* sum min max; NULL: sum */
    int64_t n;             /* -1: 2^24 on a GPU, 2^20 elsewhere */
    int64_t width;         /* of windows */
    int warp, banks, runs;
    int sweep;   /* GB/s over n too */
    int plain;   /* show: the text alone */
    int columns; /* of the terminal */
    int colour;  /* bars in colour? */
    /* files to write, or NULL; "-": standard output instead of the table */
    const char *json, *html;
    const char *to, *output; /* export: cuda, opencl, c; the file, or NULL: standard output */
    int host;                /* export: the host code alone */
    int lesson;              /* the page has exercises too */
} ladder_options;

typedef struct ladder_error {
    int code; /* 1 bad data, 2 usage, 3 no device, 4 a rung was wrong */
    char sentence[600];
} ladder_error;

/* Each returns 0, or error->code with the sentence set (4 without one: the table has said it). */
/* Runs, checks and times rungs, and writes the report. */
int ladder_run(const ladder_options *options, FILE *out, ladder_error *error);
/* Prints the text of a kernel with its counts beside the lines. */
int ladder_show(const ladder_options *options, const char *rung_or_file, FILE *out,
                ladder_error *error);
/* Damages the text of a rung, one place after the other, and says which check notices it. */
int ladder_break(const ladder_options *options, const char *rung, FILE *out, ladder_error *error);
/* Runs a reader's kernel in the place of a rung. */
int ladder_try(const ladder_options *options, const char *file, FILE *out, ladder_error *error);
/* Writes the page of a shape with exercises, which the page grades; options->html is the file. */
int ladder_lesson(const ladder_options *options, const char *which, FILE *out, ladder_error *error);
/* Writes a rung as a program in CUDA, OpenCL or C. */
int ladder_export(const ladder_options *options, const char *rung, FILE *out, ladder_error *error);
/* Grades a kernel by an assignment: points for right results and for counts within limits. */
int ladder_grade(const ladder_options *options, const char *assignment, const char *file, FILE *out,
                 ladder_error *error);
/* Compares two files of --json. */
int ladder_diff(const char *one, const char *other, FILE *out, ladder_error *error);
/* All rungs, NULL-terminated; static memory. */
const char *const *ladder_rungs(void);
#endif

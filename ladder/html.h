/* SPDX-License-Identifier: MIT
 * The page of a report: html.c has its text and tables, plots.c its figures. */
#ifndef LADDER_HTML_H
#define LADDER_HTML_H
#include "rung.h"

void html_text(FILE *f, const char *text);               /* with < > & " escaped */
double row_ceiling(const shape_report *s, const row *x); /* bytes per second; 0: unknown */
void plot_rates(const shape_report *s, FILE *f);
void plot_sweep(const shape_report *s, FILE *f);
void plot_steps(const shape_report *s, FILE *f);
void plot_warps(const shape_report *s, FILE *f);
void plot_banks(const shape_report *s, FILE *f);
void plot_bytes(const shape_report *s, FILE *f);
void plot_errors(const shape_report *s, FILE *f);
void html_lesson(FILE *f);                                      /* lesson.c: its exercises */
void html_story(const report *r, FILE *f);                      /* story.c */
void html_concepts(const report *r, FILE *f);                   /* why.c */
void plot_why(const report *r, const shape_report *s, FILE *f); /* why.c */

/* stepper.c: a rung in small, with what the model saw. end_small_run unless it failed. */
typedef struct small_run {
    rung small;
    int64_t n;
    char *text; /* with small numbers in it */
    int changed;
    model_trace trace;
} small_run;
enum { SMALL_THREADS = 16 };
/* text NULL: the rung's own. */
int watch_rung(const rung *g, const char *text, int threads, small_run *out, ladder_error *error);
void end_small_run(small_run *s);
void plot_stepper(const shape_report *s, FILE *f);
void plot_trees(const shape_report *s, FILE *f); /* tree.c */
#endif

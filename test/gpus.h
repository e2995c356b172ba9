/* SPDX-License-Identifier: MIT
 * The GPU devices of a test: every one that is here and usable, or those of TALLY_TEST_DEVICES="cuda:0 opencl:1"
 * alone. */
#ifndef TALLY_TEST_GPUS_H
#define TALLY_TEST_GPUS_H
#include "check.h"

enum { SKIPPED = 77 };
static int gpus_tested;

/* Is `name` among these words? (Not by strstr: cuda:1 is no part of cuda:10.) */
static inline int is_among(const char *words, const char *name)
{
    for (size_t length; *words; words += length) {
        words += strspn(words, " ,");
        length = strcspn(words, " ,");
        if (length == strlen(name) && !strncmp(words, name, length)) return 1;
    }
    return 0;
}

/* Calls each of every such device; only: of this one alone, if it is not NULL. */
static inline void for_each_gpu(const char *only, void (*each)(const char *name))
{
    const char *wanted = only ? only : getenv("TALLY_TEST_DEVICES");
    tally_device_info info;
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", info.name);
        if (!info.usable || !strncmp(name, "cpu", 3) || (wanted && *wanted && !is_among(wanted, name))) continue;
        each(name);
        gpus_tested++;
    }
}

/* check_finish; a test that met no device was skipped, unless it failed before. */
static inline int finish_gpus(void)
{
    if (gpus_tested || check_failed) return check_finish();
    printf("skipped: no GPU device here\n");
    return SKIPPED;
}
#endif

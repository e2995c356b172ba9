/* SPDX-License-Identifier: MIT
 * The texts of src that compilers get at run time, which the build embeds (cmake/texts.cmake). */
#ifndef TALLY_SOURCES_H
#define TALLY_SOURCES_H

typedef struct tl_source {
    const char *name; /* a path in src */
    const char *text;
} tl_source;

extern const tl_source tl_sources[]; /* ends with name NULL */

#endif

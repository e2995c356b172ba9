/* SPDX-License-Identifier: MIT
 * A note in the section .note.dlopen of the library, for each library that is opened with dlopen.
 * Tools that make packages and images read these notes
 * (https://uapi-group.org/specifications/specs/elf_dlopen_metadata/). `readelf -n` shows them. */
#pragma once

#include <stdint.h>

/* Writes the note of a library; once per file. feature, text: a name and a description for people.
 * sonames: as in "\"libcuda.so.1\""; the first that exists is opened. */
#define TL_OPENS(feature, text, sonames) \
    TL_DLOPEN_NOTE("[{\"feature\":\"" feature "\",\"description\":\"" text \
                   "\",\"priority\":\"suggested\",\"soname\":[" sonames "]}]")
#define TL_DLOPEN_NOTE(json) \
    static const struct { \
        uint32_t owner_bytes, bytes, type; \
        char owner[4], text[(sizeof(json) + 3) / 4 * 4]; \
    } dlopen_note __attribute__((used, aligned(4), section(".note.dlopen"))) = { \
        4, sizeof(json), 0x407c0c0a, "FDO", json}

/* SPDX-License-Identifier: MIT
 * What a file opens with dlopen, said in the library too: a note in the section .note.dlopen for
 * those who make packages and images
 * (https://uapi-group.org/specifications/specs/elf_dlopen_metadata/). `readelf -n` finds them. */
#ifndef TALLY_NOTE_H
#define TALLY_NOTE_H
#include <stdint.h>

/* feature, text: for people. sonames: as in "\"libcuda.so.1\"", the first that is there is
   taken. Once a file. */
#define TL_OPENS(feature, text, sonames)                                                           \
    TL_DLOPEN_NOTE("[{\"feature\":\"" feature "\",\"description\":\"" text                         \
                   "\",\"priority\":\"suggested\",\"soname\":[" sonames "]}]")
#define TL_DLOPEN_NOTE(json)                                                                       \
    static const struct {                                                                          \
        uint32_t owner_bytes, bytes, type;                                                         \
        char owner[4], text[(sizeof(json) + 3) / 4 * 4];                                           \
    } dlopen_note __attribute__((used, aligned(4), section(".note.dlopen"))) = {                   \
        4, sizeof(json), 0x407c0c0a, "FDO", json}
#endif

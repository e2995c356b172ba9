/* SPDX-License-Identifier: MIT
 * Looks up compiled programs (code.h). */
#include "code.h"
#include "nvrtc.h"
#include <string.h>

const char tl_archive_magic[8] = "tally-k1";

tl_key tl_archive_key(const char *text, size_t length)
{
    return tl_key_add(tl_key_add(tl_key_start, tl_nvrtc_options, strlen(tl_nvrtc_options)), text,
                      length);
}

const void *tl_archive_find(const void *archive, tl_key key, size_t *bytes)
{
    tl_archive_head head;
    memcpy(&head, archive, sizeof head);
    if (memcmp(head.magic, tl_archive_magic, sizeof head.magic)) return NULL;

    uint64_t low = 0, high = head.count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        tl_archive_entry e;
        memcpy(&e, (const char *)archive + sizeof head + middle * sizeof e, sizeof e);
        if (e.key.high == key.high && e.key.low == key.low) {
            *bytes = e.bytes;
            return (const char *)archive + e.at;
        }

        if (e.key.high < key.high || (e.key.high == key.high && e.key.low < key.low))
            low = middle + 1;
        else
            high = middle;
    }

    return NULL;
}

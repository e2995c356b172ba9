/* SPDX-License-Identifier: MIT
 * libFuzzer target: any bytes as an operator's text. It is read for its facts, never compiled; a refusal has a place in it. */
#include "../src/user_facts.c"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tl_facts facts;
    char *text = malloc(bytes + 1);
    if (!text) return 0;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    tally_status status = tl_facts_read(NULL, "where", text, &facts);
    if (status)
        assert(!strncmp(tally_error(NULL), "where:", 6));
    else
        assert(facts.fields > 0 && facts.state_line > 0 && facts.words <= TL_USER_WORDS);
    free(text);
    return 0;
}

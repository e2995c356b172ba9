/* SPDX-License-Identifier: MIT
 * libFuzzer target: any bytes as a kernel's text (in the dialect, CUDA or OpenCL) and as an
 * assignment. What is refused has a sentence with a place; what compiles runs on the model, on
 * little memory, in time. */
#include "assignment.h"
#include "foreign.h"
#include "model/code.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

extern const char *const ladder_texts[2];
const char *const ladder_texts[2] = {NULL, NULL}; /* the rungs of text.c have no text */

static void run(model_program *p, const model_setting *setting)
{
    enum { CELLS = 40 };
    int64_t cells[ARRAYS_MOST][CELLS];
    char sentence[400] = "";
    model_counts *counts = calloc(1, sizeof *counts);
    for (int k = 0; counts && k < p->kernel_count; k++) {
        const kernel_code *kernel = &p->kernels[k];
        model_argument arguments[ARRAYS_MOST] = {{0}};
        for (int i = 0; i < kernel->parameters; i++) {
            for (int c = 0; c < CELLS; c++) cells[i][c] = c;
            if (kernel->parameter_array[i] >= 0)
                arguments[i] = (model_argument){
                    cells[i], CELLS * kind_bytes(kernel->parameter_kind[i]), 0, 0, NULL};
            else
                arguments[i] = (model_argument){NULL, 0, CELLS - 1, CELLS, NULL};
        }
        model_start start = {kernel->name, 3, arguments, kernel->parameters, 0};
        if (model_launch(p, &start, counts, sentence, sizeof sentence)) assert(sentence[0]);
        start.groups = 2;
        model_launch(p, &start, NULL, sentence, sizeof sentence);
    }
    (void)setting;
    free(counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static assignment a;
    char *const text = malloc(bytes + 1), sentence[400] = "", *translated = NULL;
    ladder_error error = {0};
    if (!text || bytes < 1) {
        free(text);
        return 0;
    }
    const model_setting setting = {(kind)(data[0] % KINDS), data[0] / 8 % 3, data[0] & 64 ? 48 : 32,
                                   data[0] & 128 ? 8 : 32, 32};
    memcpy(text, data + 1, bytes - 1);
    text[bytes - 1] = 0;
    if (read_assignment("where", text, &a, &error)) assert(!strncmp(error.sentence, "where:", 6));
    for (int i = 0; !error.code && i < LIST_MOST; i++)
        assert(a.operations[i] >= 0 && a.operations[i] < 3 && a.warps[i] <= MODEL_WARP_MOST);
    error = (ladder_error){0};
    if (foreign_text("where", text, NULL, &translated, &error))
        assert(!strncmp(error.sentence, "where:", 6) && !translated);
    model_program *p;
    if (!error.code && !model_compile(translated ? translated : text, "where", &setting, &p,
                                      sentence, sizeof sentence)) {
        run(p, &setting);
        model_free(p);
    } else if (!error.code) {
        assert(!strncmp(sentence, "where:", 6));
    }
    free(translated);
    free(text);
    return 0;
}

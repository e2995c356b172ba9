/* SPDX-License-Identifier: MIT
 * The dialect's words in CUDA, OpenCL C and C with OpenMP: a kernel's text stays as it is but
 * for these words, and helpers (words_helpers.c) stand before it only where the text uses them. */
#include "export.h"
#include <ctype.h>
#include <string.h>

static const struct {
    const char *word, *in[APIS]; /* "()" behind a word belongs to it */
} words[] = {
    {"GLOBAL", {"", "__global", ""}},
    {"LOCAL", {"", "__local", ""}},
    {"SHARED", {"__shared__", "__local", "static"}},
    {"BARRIER()", {"__syncthreads()", "barrier(CLK_LOCAL_MEM_FENCE)", "BARRIER()"}},
    {"WARP_BARRIER()", {"__syncwarp()", "barrier(CLK_LOCAL_MEM_FENCE)", "BARRIER()"}},
    {"FENCE()", {"__threadfence()", "FENCE()", "__atomic_thread_fence(__ATOMIC_SEQ_CST)"}},
    {"thread_index()", {"(int)threadIdx.x", "(int)get_local_id(0)", "omp_get_thread_num()"}},
    {"group_index()", {"(i64)blockIdx.x", "(i64)get_group_id(0)", "group_index_"}},
    {"group_count()", {"(i64)gridDim.x", "(i64)get_num_groups(0)", "group_count_"}},
    {"UNROLL", {"#pragma unroll", "#pragma unroll", ""}},
    {"FUNCTION", {"static __device__", "static", "static"}},
    {"SHUFFLES", {"", "__local elem exchange_[THREADS]", "static elem exchange_[THREADS]"}},
};

const char *api_name(api a)
{
    static const char *const names[APIS] = {"cuda", "opencl", "c"};
    return names[a];
}

int api_parse(const char *name, api *a)
{
    for (int i = 0; i < APIS; i++)
        if (!strcmp(name, api_name((api)i))) {
            *a = (api)i;
            return 1;
        }
    return 0;
}

const char *words_type(api a, kind k)
{
    static const char *const c[] = {"signed char", "unsigned char", "short",   "unsigned short",
                                    "int",         "unsigned int",  "int64_t", "uint64_t",
                                    "float",       "double"};
    static const char *const cuda[] = {
        "signed char", "unsigned char",      "short", "unsigned short", "int", "unsigned int",
        "long long",   "unsigned long long", "float", "double"};
    return a == API_CUDA ? cuda[k] : c[k];
}

int has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) &&
            !isalnum((unsigned char)at[n]) && at[n] != '_')
            return 1;
    return 0;
}

const char *after_head(const char *text)
{
    const char *const end = strstr(text, "*/\n");
    return end ? end + 3 : text;
}

/* KERNEL(name, threads): returns behind it. */
static const char *put_kernel_word(FILE *f, api a, const char *at)
{
    char name[64] = "", threads[64] = "";
    int length = 0;
    if (sscanf(at, "KERNEL(%63[^,], %63[^)])%n", name, threads, &length) != 2 || !length) return at;
    if (a == API_CUDA) fprintf(f, "__global__ void __launch_bounds__(%s) %s", threads, name);
    if (a == API_OPENCL)
        fprintf(f, "__kernel __attribute__((reqd_work_group_size(%s, 1, 1))) void %s", threads,
                name);
    if (a == API_C) fprintf(f, "static void %s", name);
    return at + length;
}

void words_kernel(FILE *f, api a, const char *text)
{
    const int bulk = has_word(after_head(text), "bulk_copy");
    for (const char *at = after_head(text); *at;) {
        if (at[0] == '/' && at[1] == '*') { /* comments stay */
            const char *const end = strstr(at, "*/");
            const size_t n = end ? (size_t)(end + 2 - at) : strlen(at);
            fwrite(at, 1, n, f);
            at += n;
            continue;
        }
        if (!isalpha((unsigned char)*at) && *at != '_') {
            fputc(*at++, f);
            continue;
        }
        size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (n == 6 && !strncmp(at, "KERNEL", 6)) {
            const char *const behind = put_kernel_word(f, a, at);
            if (behind != at) {
                at = behind;
                continue;
            }
        }
        const char *put = NULL;
        for (size_t i = 0; i < sizeof words / sizeof *words && !put; i++) {
            const size_t m = strcspn(words[i].word, "(");
            if (m != n || strncmp(at, words[i].word, n) != 0 ||
                strncmp(at, words[i].word, strlen(words[i].word)) != 0)
                continue;
            put = words[i].in[a];
            n = strlen(words[i].word);
            if (a == API_CUDA && n == 6 && *at == 'S' && bulk) put = "__shared__ __align__(16)";
        }
        if (put) {
            fputs(put, f);
            at += n;
            if (!*put && *at == ' ') at++;                        /* "GLOBAL elem" */
            if (!*put && *at == ';') at += at[1] == '\n' ? 2 : 1; /* "SHUFFLES;" */
        } else {
            fwrite(at, 1, n, f);
            at += n;
        }
    }
}

/* LAUNCH(kernel, groups, a, b, c); on a line of its own. LAUNCH_COOPERATIVE: its groups wait for
   each other. */
static void put_launch(FILE *f, api a, const char *line, size_t n)
{
    char inside[200] = "", arguments[12][40];
    int count = 0;
    const char *const open = strstr(line, "LAUNCH"), *const list = strchr(open, '(') + 1;
    const int indent = (int)(open - line), cooperative = open[6] == '_';
    snprintf(inside, sizeof inside, "%.*s", (int)(line + n - list) - 2, list); /* without ");" */
    for (char *at = inside; *at && count < 12; count++) {
        at += strspn(at, " ");
        const size_t m = strcspn(at, ",");
        snprintf(arguments[count], sizeof arguments[count], "%.*s", (int)m, at);
        at += m + (at[m] == ',');
    }
    if (count < 3) return;
    if (a == API_CUDA && cooperative) {
        fprintf(f, "%*svoid *arguments[] = {", indent, "");
        for (int i = 2; i < count; i++)
            fprintf(f, "%s(void *)&%s", i > 2 ? ", " : "", arguments[i]);
        fprintf(f,
                "};\n%*sstart_clock();\n%*scheck(cudaLaunchCooperativeKernel((const void *)%s, "
                "dim3((unsigned int)%s), dim3(THREADS), arguments, 0, 0),\n%*s      \"%s, whose "
                "groups must all run at the same time\");\n%*sstop_clock();\n",
                indent, "", indent, "", arguments[0], arguments[1], indent, "", arguments[0],
                indent, "");
        return;
    }
    fprintf(f, "%*sstart_clock();\n%*s", indent, "", indent, "");
    if (a == API_CUDA) fprintf(f, "%s<<<(unsigned int)%s, THREADS>>>(", arguments[0], arguments[1]);
    if (a == API_C) fprintf(f, "EACH_THREAD_OF(%s) %s(", arguments[1], arguments[0]);
    if (a == API_OPENCL)
        fprintf(f, "launch(\"%s\", %s, %d, (const void *[]){", arguments[0], arguments[1],
                count - 2);
    for (int i = 2; i < count; i++)
        fprintf(f, "%s%s%s", i > 2 ? ", " : "", a == API_OPENCL ? "&" : "", arguments[i]);
    if (a == API_OPENCL) {
        fprintf(f, "}, (size_t[]){");
        for (int i = 2; i < count; i++) fprintf(f, "%ssizeof %s", i > 2 ? ", " : "", arguments[i]);
        fprintf(f, "}");
    }
    fprintf(f, ");\n%*sstop_clock();\n", indent, "");
    if (a == API_CUDA)
        fprintf(f, "%*scheck(cudaGetLastError(), \"%s\");\n", indent, "", arguments[0]);
}

void words_host(FILE *f, api a, const char *text)
{
    for (const char *at = text; *at;) {
        const size_t n = strcspn(at, "\n");
        const char *const word = strstr(at, "LAUNCH");
        if (word && word < at + n)
            put_launch(f, a, at, n);
        else
            fprintf(f, "%.*s\n", (int)n, at);
        at += n + (at[n] != 0);
    }
}

/* SPDX-License-Identifier: MIT
 * Compiles an operator of a user for CPUs. The texts of the kernels and the user's are written to a
 * private folder. The system's compiler makes a library of one element type from them, which is
 * loaded, and kept in the cache on disk. The folder is removed before the call returns. */
#define _GNU_SOURCE
#include "context/context.h"
#include "store/store.h"
#include "user.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 600, FLAGS_MOST = 320 };

/* Set by the build (CMakeLists.txt): the flags that the law needs, and those of each instruction
 * set. */
static const char flags[] =
    "-std=gnu11 -O2 -DNDEBUG -fPIC -shared -fvisibility=hidden -Wno-psabi -Wno-attributes "
    "-Werror=implicit-function-declaration " TALLY_LAW_FLAGS;
static const char *const isa_flags[] = {
#define ISA(isa, bytes, runs) TALLY_ISA_FLAGS_##isa,
#include "operator/isa.def"
#undef ISA
};

/* ---- the private folder ---- */

/* Is it a text of the CPU kernels? */
static int is_needed(const char *name)
{
    return strncmp(name, "gpu/", 4) && strncmp(name, "op/", 3);
}

/* to = folder/name. Async-signal-safe. */
static int path_of(char *to, const char *folder, const char *name)
{
    const size_t n = strlen(folder), m = strlen(name);
    if (n + m + 2 > PATH_BYTES) return 0;
    memcpy(to, folder, n);
    to[n] = '/';
    memcpy(to + n + 1, name, m + 1);
    return 1;
}

static int write_file(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[PATH_BYTES];
    FILE *f = path_of(path, folder, name) ? fopen(path, "wb") : NULL;
    if (!f) return 0;
    int whole = fwrite(data, 1, bytes, f) == bytes;
    return !fclose(f) && whole;
}

/* Returns a file's contents, and a 0 after them; the caller frees it. NULL: out of memory, or it
 * cannot be read. */
static char *read_file(const char *folder, const char *name, size_t *bytes)
{
    char path[PATH_BYTES], *data = NULL;
    struct stat info;
    FILE *f = path_of(path, folder, name) ? fopen(path, "rb") : NULL;
    if (f && !fstat(fileno(f), &info) && (data = malloc((size_t)info.st_size + 1))) {
        *bytes = fread(data, 1, (size_t)info.st_size, f);
        data[*bytes] = 0;
    }
    if (f) fclose(f);
    return data;
}

/* The files, in the order of their creation. */
static const char *const folders[] = {"operator", "law", "dtype", "cpu", "cpu/kernel"};
static const char *const products[] = {"user_text.h", "user.so", "log"};

static tally_status no_folder(tally *ctx, const tl_user *u, const char *folder)
{
    return tl_fail(ctx, TALLY_IO,
                   "operator '%s': %.300s: %s (TMPDIR names another place to compile in)", u->name,
                   folder, strerror(errno));
}

/* Removes the folder. Async-signal-safe (store.h). */
static void remove_folder(const char *folder)
{
    char path[PATH_BYTES];
    for (const tl_source_text *t = tl_sources; t->name; t++)
        if (is_needed(t->name) && path_of(path, folder, t->name)) unlink(path);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (path_of(path, folder, products[i])) unlink(path);
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;)
        if (path_of(path, folder, folders[i])) rmdir(path);
    rmdir(folder);
}

static tally_status make_folder(tally *ctx, const tl_user *u, char *folder, tl_cleanup *cleanup)
{
    const char *base = secure_getenv("TMPDIR");
    sigset_t old;

    if (!base || *base != '/' || strlen(base) > PATH_BYTES / 2) base = "/tmp";
    snprintf(folder, PATH_BYTES, "%s/tally-XXXXXX", base);
    tl_cleanup_hold(&old);
    const int created = mkdtemp(folder) != NULL;
    if (created) tl_cleanup_path(cleanup, remove_folder, folder);
    tl_cleanup_release(&old);
    return created ? TALLY_OK : no_folder(ctx, u, base);
}

/* Writes the user's text. Its names get a suffix per instance, because it is compiled twice
 * (scalars and vectors). Facts that hold only for exact operators are dropped for others. Adds the
 * type of the widest field. */
static int write_text(const char *folder, const tl_scalar *op)
{
    static const char *const lanes[] = {"REAL", "ORD", "IDX", "ELEM", "WIDE"};
    static const char *const exact_only[] = {"IDEMPOTENT", "INVERSE", "COMMUTES",
                                             "EXTREME",    "ADDS",    "PICKS"};
    const tl_user *u = op->user->user;
    const tl_facts *f = &u->facts;
    char path[PATH_BYTES];
    int widest = 0, lane = 0;

    for (int i = 0; i < f->fields; i++) {
        int kind = f->field[i], wraps = op->acc == TALLY_I64 || op->acc == TALLY_U64;
        int bytes = kind == TL_FIELD_IDX || kind == TL_FIELD_WIDE ? 8
                    : kind == TL_FIELD_REAL ? (wraps || op->acc == TALLY_F64 ? 8 : 4)
                    : op->elem_bytes < 4    ? 4
                                            : op->elem_bytes;
        if (bytes > widest) widest = bytes, lane = kind;
    }

    FILE *out = path_of(path, folder, "user_text.h") ? fopen(path, "wb") : NULL;
    if (!out) return 0;

    for (int i = 0; i < f->words; i++)
        fprintf(out, "#define %s TL_N(%s)\n", f->word[i], f->word[i]);
    for (size_t i = 0; i < sizeof exact_only / sizeof *exact_only; i++)
        fprintf(out, "#undef OP_%s\n", exact_only[i]);
    fprintf(out, "#line 1 \"%s\"\n%s\n#line 1 \"user_text.h\"\n", u->name, u->text);
    for (int i = 0; i < f->words; i++) fprintf(out, "#undef %s\n", f->word[i]);
    fprintf(out, "#undef OP_LANE\n#define OP_LANE %s\n", lanes[lane]);

    for (size_t i = 0; i < sizeof exact_only / sizeof *exact_only; i++)
        fprintf(out,
                "#if !OP_EXACT\n#undef OP_%s\n#endif\n#ifndef OP_%s\n#define OP_%s 0\n#endif\n",
                exact_only[i], exact_only[i], exact_only[i]);

    int failed = ferror(out);
    return !fclose(out) && !failed;
}

static const char *accumulator(const tl_scalar *op)
{
    return !op->acc ? "none" : op->acc == TALLY_F32 ? "f32" : op->acc == TALLY_F64 ? "f64" : "u64";
}

/* Makes folder/user.so. */
static tally_status compile(tally *ctx, const tl_compiler *c, const tl_scalar *op, const char *isa,
                            const char *folder)
{
    const tl_user *u = op->user->user;
    char path[PATH_BYTES], source[PATH_BYTES], product[PATH_BYTES], log[PATH_BYTES],
        words[FLAGS_MOST * 2], defines[3][40];
    const char *argument[TL_COMPILER_ARGUMENTS + 1];
    int count = 0, good = 1;

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        good = good && path_of(path, folder, folders[i]) && !mkdir(path, 0700);

    for (const tl_source_text *t = tl_sources; t->name; t++)
        if (is_needed(t->name))
            good = good && write_file(folder, t->name, t->text, strlen(t->text));

    if (!good || !write_text(folder, op)) return no_folder(ctx, u, folder);

    snprintf(words, sizeof words, "%s %s", flags, isa);
    for (char *save, *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argument[count++] = w;
    snprintf(defines[0], sizeof defines[0], "-DTL_USER_DT=%s", tally_dtype_name(op->dtype));
    snprintf(defines[1], sizeof defines[1], "-DTL_USER_ACC=%s", accumulator(op));
    snprintf(defines[2], sizeof defines[2], "-DTL_OUT_%s=1", tl_out_names[u->facts.out]);
    for (int i = 0; i < 3; i++) argument[count++] = defines[i];
    path_of(source, folder, "cpu/instances.c");
    path_of(product, folder, "user.so");
    path_of(log, folder, "log");
    const char *last[] = {u->facts.acc == TL_ACC_WIDE ? "-DTL_RULE_WIDE=1" : "-DTL_RULE_WIDE=0",
                          "-DTL_ISA=user",
                          "-DTL_FILE=user",
                          "-I",
                          folder,
                          source,
                          "-o",
                          product,
                          NULL};
    for (int i = 0; i == 0 || last[i - 1]; i++) argument[count++] = last[i];

    int code = tl_compiler_run(c, argument, log);
    if (code == 0 && !access(product, R_OK)) return TALLY_OK;

    if (code < 0)
        return tl_fail(ctx, TALLY_IO, "operator '%s': the compiler %s could not be run", u->name,
                       c->path);
    size_t bytes;
    TL_FREED char *const messages = read_file(folder, "log", &bytes);
    return messages && *messages
               ? tl_user_error(ctx, u, messages)
               : tl_fail(ctx, TALLY_BAD_DATA,
                         "operator '%s': the compiler %s failed without a message", u->name,
                         c->path);
}

static void unload(void *library) { dlclose(library); }

/* Loads folder/user.so. Its facts must be those that were read from the text. */
static tally_status load(tally *ctx, tl_user_instance *i, const char *folder)
{
    char path[PATH_BYTES];
    tl_scalar *op = &i->op;

    path_of(path, folder, "user.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const tl_scalar *const *scalar = library ? dlsym(library, "tl_user_scalar") : NULL;
    const tl_kernel *const *kernel = library ? dlsym(library, "tl_user_kernel") : NULL;
    if (!scalar || !kernel) {
        const char *why = dlerror();
        tl_fail(ctx, TALLY_IO, "operator '%s': what was compiled cannot be loaded: %.300s",
                op->file, why ? why : "");
    } else {
        const tl_scalar *s = *scalar;
        if (s->dtype == op->dtype && s->acc == op->acc && s->out == op->out &&
            s->lanes == op->lanes && s->state_bytes == op->state_bytes &&
            s->result_bytes == op->result_bytes && s->exact == op->exact &&
            s->idempotent == op->idempotent && s->inverse == op->inverse &&
            s->seedable == op->seedable) {
            op->blank = s->blank;
            op->lift = s->lift;
            op->is_masked = s->is_masked;
            op->combine = s->combine;
            op->lower = s->lower;
            op->empty = s->empty;
            op->seed = s->seed;
            i->kernel = *kernel;
            i->library = library;
            i->unload = unload;
            return TALLY_OK;
        }

        tl_bad_data(ctx, "%.200s:%d: the compiled text has other facts than its lines say: %s",
                    i->user->where, i->user->facts.state_line,
                    "a macro or #if must have changed one");
    }

    if (library) dlclose(library);
    return scalar && kernel ? TALLY_BAD_DATA : TALLY_IO;
}

/* A hash of everything that a compiled library depends on. */
static tl_key key_of(const tl_compiler *c, const tl_scalar *op, const char *isa)
{
    const tl_user *u = op->user->user;
    const char *const parts[] = {
        "cpu",           tally_version(), c->identity, flags, isa, tally_dtype_name(op->dtype),
        accumulator(op), u->name,         u->text};
    tl_key key = tl_key_start;

    for (const tl_source_text *t = tl_sources; t->name; t++)
        if (is_needed(t->name)) key = tl_key_add(key, t->text, strlen(t->text) + 1);
    for (int i = 1; i < TL_COMPILER_WORDS && c->argument[i]; i++)
        key = tl_key_add(key, c->argument[i], strlen(c->argument[i]) + 1);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        key = tl_key_add(key, parts[i], strlen(parts[i]) + 1);
    return key;
}

static tally_status build(tally *ctx, const tl_compiler *c, tl_user_instance *i, const char *isa,
                          const char *folder)
{
    const tl_key key = key_of(c, &i->op, isa);
    size_t bytes = 0;

    void *library = tl_cache_load(&key, sizeof key, &bytes);
    const int written = library && write_file(folder, "user.so", library, bytes);
    free(library);
    if (written && !load(ctx, i, folder)) return TALLY_OK;

    TL_TRY(compile(ctx, c, &i->op, isa, folder));
    TL_TRY(load(ctx, i, folder));

    library = read_file(folder, "user.so", &bytes);
    if (library && bytes) tl_cache_store(&key, sizeof key, library, bytes);
    free(library);
    return TALLY_OK;
}

tally_status tl_user_compile(tally *ctx, const tl_scalar *op, int isa)
{
    tl_compiler c;
    char folder[PATH_BYTES];
    tl_cleanup cleanup = {0};

    if (op->user->kernel) return TALLY_OK;
    if (!tl_compiler_find(&c))
        return tl_unsupported(
            ctx,
            "operator '%s': the processors need a C compiler for its text, and there is no %s in "
            "PATH%s",
            op->file, *c.words ? c.words : "cc, gcc or clang",
            *c.words
                ? " (CC)"
                : " (streams, fragments and reversed scans of segments run there on every device)");

    tally_status status = make_folder(ctx, op->user->user, folder, &cleanup);
    if (!status) {
        status = build(ctx, &c, op->user, isa_flags[isa], folder);
        remove_folder(folder);
        tl_cleanup_drop(&cleanup);
    }
    return status;
}

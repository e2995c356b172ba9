/* SPDX-License-Identifier: MIT
 * Run by the build: compiles CUDA programs by NVRTC and writes them as one archive
 * (src/gpu/cuda/cuda.h).
 *
 *   make_kernels OUT CACHE NVRTC FATBINARY JOBS ARCHS SET
 *
 * OUT        the archive
 * CACHE      folder of programs compiled before, named by a key of text, compiler, options and
 * architectures
 * NVRTC      libnvrtc
 * FATBINARY  the toolkit's program that packs machine code of several architectures and compresses
 * it
 * JOBS       processes; 0: the processors here
 * ARCHS      as 80,90,100: machine code for each; PTX for the last
 * SET        common, all, or OPERATOR/TYPE words as in sum/f32,ema:0.1/f64; with a shape behind
 * the type, as in sum/f32/scan, that program alone; the probe's programs are always added
 *
 * TALLY_CUDA_QUICK=1 in the environment: slow kernels in a quarter of the time, if the compiler
 * can */
#define _GNU_SOURCE
#include "embedded.h"
#include "gpu/cuda/cuda.h"
#include "context/context.h"
#include "context/user.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAMS_MOST = 8192, ARCHS_MOST = 16, SUPPORTED_MOST = 64, PATH_SIZE = 1200 };

static const char quick[] = "--Ofast-compile=max";

typedef struct {
    const tl_scalar *op;
    const char *shape;
    tl_key key;           /* what the library looks for */
    char path[PATH_SIZE]; /* of the fatbinary in the cache */
} program;

/* operators.c looks for operators of users; this program has none. */
tl_user *tl_user_find(const tally *ctx, const char *name, size_t length)
{
    (void)ctx, (void)name, (void)length;
    return NULL;
}
tally_status tl_user_resolve(tally *ctx, tl_user *user, tally_dtype dtype, tally_dtype acc,
                             const tl_scalar **op)
{
    (void)user, (void)dtype, (void)acc, (void)op;
    return tl_fail(ctx, TALLY_UNSUPPORTED, "no operators of users here");
}

static program programs[PROGRAMS_MOST];
static int program_count, archs[ARCHS_MOST], arch_count, version, supported[SUPPORTED_MOST],
    supported_count;
static const char *cache, *fatbinary;

static _Noreturn void stop(const char *what, const char *detail)
{
    fprintf(stderr, "make_kernels: %s: %s\n", what, detail);
    exit(1);
}

/* Asks NVRTC for its version, 1000 * major + minor, and the architectures that it compiles for. */
static void ask(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*version_of)(int *, int *), (*count_of)(int *), (*list)(int *);
    if (!library || !tl_nvrtc_open(path) || !(version_of = dlsym(library, "nvrtcVersion")) ||
        !(count_of = dlsym(library, "nvrtcGetNumSupportedArchs")) ||
        !(list = dlsym(library, "nvrtcGetSupportedArchs")))
        stop(path, "cannot be opened, or is not NVRTC 11.2 or newer");

    int major, minor;
    if (version_of(&major, &minor) || count_of(&supported_count) ||
        supported_count > SUPPORTED_MOST || list(supported))
        stop(path, "does not say what it compiles for");
    version = 1000 * major + minor;
}

static int knows(int arch)
{
    for (int i = 0; i < supported_count; i++)
        if (supported[i] == arch) return 1;
    return 0;
}

/* ---- the set ---- */

static void add_program(const tl_scalar *op, const char *shape)
{
    char *text, tag[200];
    size_t length;
    const tl_text of = {op, shape, CUDA_PRELUDE, NULL};
    if (tl_program_text(NULL, &of, &text, &length)) stop("text", tally_error(NULL));
    tl_key key = tl_archive_key(text, length);
    int used = snprintf(tag, sizeof tag, "nvrtc %d", version);
    for (int a = 0; a < arch_count; a++)
        used += snprintf(tag + used, sizeof tag - (size_t)used, " %d", archs[a]);
    tl_key name = tl_key_add(key, tag, (size_t)used);
    free(text);
    for (int i = 0; i < program_count; i++)
        if (programs[i].key.high == key.high && programs[i].key.low == key.low) return;
    if (program_count == PROGRAMS_MOST) stop("set", "too many programs");
    program *p = &programs[program_count++];
    *p = (program){op, shape, key, ""};
    snprintf(p->path, PATH_SIZE, "%s/%016llx%016llx.fatbin", cache, (unsigned long long)name.high,
             (unsigned long long)name.low);
}

/* op as a user writes it, with the parameter it needs; only: one shape, or NULL. Is there such an
 * instance? */
static int add_shapes(const char *op, tally_dtype dtype, const char *only)
{
    const tl_scalar *scalar;
    tl_par par;
    int found = 0;
    char name[80], parameter[TL_SAMPLE_BYTES], with[80 + TL_SAMPLE_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(op, ":"), op);
    snprintf(with, sizeof with, "%.79s%s", op, tl_sample_parameter(name, parameter));
    if (tl_resolve(NULL, op, dtype, &scalar, &par) && tl_resolve(NULL, with, dtype, &scalar, &par))
        return 0;
    for (int s = 0; s < EMBEDDED_SHAPES; s++)
        if ((!only || !strcmp(only, embedded_shapes[s])) && has_shape(scalar, embedded_shapes[s])) {
            add_program(scalar, embedded_shapes[s]);
            found = 1;
        }
    return found;
}

static void add_probe(void)
{
    const tl_scalar *scalar;
    tl_par par;
#define PROGRAM(op, dtype, shape) \
    if (!tl_resolve(NULL, op, TALLY_##dtype, &scalar, &par)) add_program(scalar, shape);
#include "api/probe.def"
}

static void add_all(void)
{
    char wide[80];
    for (const char *const *op = tally_operators(); *op; op++)
        for (int d = TALLY_I8; d <= TALLY_F64; d++) {
            add_shapes(*op, (tally_dtype)d, NULL);
            snprintf(wide, sizeof wide, "%.70s:f64", *op);
            add_shapes(wide, (tally_dtype)d, NULL);
        }
}

static void add_common(void)
{
    for (int i = 0; i < COMMON_OPERATORS; i++)
        for (int k = 0; k < COMMON_DTYPES; k++)
            add_shapes(common_operators[i], common_dtypes[k], NULL);
}

static void add_set(char *set)
{
    for (char *rest, *word = strtok_r(set, ",; ", &rest); word;
         word = strtok_r(NULL, ",; ", &rest)) {
        char *slash = strchr(word, '/');
        if (!strcmp(word, "all"))
            add_all();
        else if (!strcmp(word, "common"))
            add_common();
        else if (!slash)
            stop("TALLY_CUDA_KERNELS: must be none, auto, common, all, or words as in sum/f32, not",
                 word);
        else {
            char *const shape = strchr(slash + 1, '/');
            *slash = 0;
            if (shape) *shape = 0;
            if (!add_shapes(word, tally_dtype_parse(slash + 1), shape ? shape + 1 : NULL)) {
                *slash = '/';
                if (shape) *shape = '/';
                stop("no such operator, type or shape", word);
            }
        }
    }
    if (!program_count) stop("TALLY_CUDA_KERNELS", "is empty");
    add_probe();
}

/* ---- compiling ---- */

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f)) stop(path, strerror(errno));
}

static void run(char **arguments)
{
    int status;
    pid_t child = fork();
    if (child < 0) stop("fork", strerror(errno));
    if (child == 0) {
        execv(arguments[0], arguments);
        _exit(127);
    }
    if (waitpid(child, &status, 0) < 0 || status) stop(arguments[0], "failed");
}

/* One program: machine code of each architecture, PTX of the last, packed. */
static void compile(const program *p)
{
    char *text, arch[24], part[ARCHS_MOST + 1][PATH_SIZE + 40],
        image[ARCHS_MOST + 1][PATH_SIZE + 100], to[PATH_SIZE + 40], create[PATH_SIZE + 60];
    char *arguments[ARCHS_MOST + 6] = {(char *)fatbinary, "-64", "--compress-all"};
    size_t length, bytes;
    void *code;
    const tl_text of = {p->op, p->shape, CUDA_PRELUDE, NULL};
    if (tl_program_text(NULL, &of, &text, &length)) stop("text", tally_error(NULL));
    for (int a = 0; a <= arch_count; a++) {
        int ptx = a == arch_count, number = archs[ptx ? a - 1 : a];
        snprintf(arch, sizeof arch, "%s_%d", ptx ? "compute" : "sm", number);
        const tl_nvrtc_job job = {
            .text = text, .arch = arch, .wish = getenv("TALLY_CUDA_QUICK") ? quick : NULL};
        if (tl_nvrtc_compile(NULL, &job, &code, &bytes)) stop(p->op->file, tally_error(NULL));
        snprintf(part[a], sizeof part[a], "%s.%ld.%d", p->path, (long)getpid(), a);
        snprintf(image[a], sizeof image[a], "--image3=kind=%s,sm=%d,file=%.*s", ptx ? "ptx" : "elf",
                 number, PATH_SIZE + 39, part[a]);
        write_file(part[a], code, bytes - (ptx && bytes)); /* PTX ends with a zero */
        free(code);
        arguments[3 + a] = image[a];
    }
    snprintf(to, sizeof to, "%s.%ld", p->path, (long)getpid());
    snprintf(create, sizeof create, "--create=%s", to);
    arguments[4 + arch_count] = create;
    run(arguments);
    for (int a = 0; a <= arch_count; a++) unlink(part[a]);
    if (rename(to, p->path)) stop(p->path, strerror(errno));
    free(text);
}

/* Every program that the cache does not have, by `jobs` processes; returns how many. */
static int compile_all(int jobs)
{
    int *missing = malloc(sizeof programs / sizeof *programs * sizeof *missing), count = 0,
        wrong = 0, status;
    int *next = mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!missing || next == MAP_FAILED) stop("memory", strerror(errno));
    for (int i = 0; i < program_count; i++)
        if (access(programs[i].path, R_OK)) missing[count++] = i;
    if (jobs > count) jobs = count;
    for (int j = 0; j < jobs; j++) {
        pid_t child = fork();
        if (child < 0) stop("fork", strerror(errno));
        if (child) continue;
        for (int i; (i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < count;)
            compile(&programs[missing[i]]);
        exit(0);
    }
    for (int j = 0; j < jobs; j++) wrong |= wait(&status) < 0 || status;
    if (wrong) stop("compiling", "a process failed");
    free(missing);
    munmap(next, sizeof *next);
    return count;
}

/* ---- the archive ---- */

static int ascending(const void *a, const void *b)
{
    const tl_key *x = &((const program *)a)->key, *y = &((const program *)b)->key;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static uint64_t write_archive(const char *out)
{
    char temporary[PATH_SIZE + 8], part[65536];
    tl_archive_head head = {{0}, (uint64_t)program_count};
    uint64_t at = sizeof head + (uint64_t)program_count * sizeof(tl_archive_entry),
             first = (at + 63) / 64 * 64;
    memcpy(head.magic, tl_archive_magic, sizeof head.magic);
    snprintf(temporary, sizeof temporary, "%s.new", out);
    FILE *f = fopen(temporary, "wb");
    if (!f || fwrite(&head, sizeof head, 1, f) != 1) stop(temporary, strerror(errno));
    at = first;
    for (int i = 0; i < program_count; i++) {
        struct stat info;
        if (stat(programs[i].path, &info)) stop(programs[i].path, strerror(errno));
        tl_archive_entry e = {programs[i].key, at, (uint64_t)info.st_size};
        if (fwrite(&e, sizeof e, 1, f) != 1) stop(temporary, strerror(errno));
        at += ((uint64_t)info.st_size + 63) / 64 * 64;
    }
    uint64_t here = first;
    for (int i = 0; i < program_count; i++) {
        size_t got;
        FILE *from = fopen(programs[i].path, "rb");
        if (!from || fseek(f, (long)here, SEEK_SET)) stop(programs[i].path, strerror(errno));
        while ((got = fread(part, 1, sizeof part, from)) > 0) {
            if (fwrite(part, 1, got, f) != got) stop(temporary, strerror(errno));
            here += got;
        }
        fclose(from);
        here = (here + 63) / 64 * 64;
    }
    if (fclose(f) || rename(temporary, out)) stop(out, strerror(errno));
    return here;
}

int main(int argc, char **argv)
{
    char names[200] = "";
    if (argc != 8) stop("usage", "OUT CACHE NVRTC FATBINARY JOBS ARCHS SET");
    cache = argv[2];
    fatbinary = argv[4];
    ask(argv[3]);
    mkdir(cache, 0777);
    for (char *rest, *word = strtok_r(argv[6], ",; ", &rest); word;
         word = strtok_r(NULL, ",; ", &rest)) {
        if (arch_count == ARCHS_MOST || atoi(word) < 50)
            stop("TALLY_CUDA_ARCHS: not an architecture", word);
        if (knows(atoi(word)))
            archs[arch_count++] = atoi(word);
        else
            printf("CUDA kernels: NVRTC %d.%d knows no sm_%s: left out\n", version / 1000,
                   version % 1000, word);
    }
    if (!arch_count) stop("TALLY_CUDA_ARCHS", "names no architecture that this NVRTC compiles for");
    for (int a = 0; a < arch_count; a++) sprintf(names + strlen(names), " sm_%d", archs[a]);
    add_set(argv[7]);
    long jobs = atol(argv[5]) > 0 ? atol(argv[5]) : sysconf(_SC_NPROCESSORS_ONLN);
    int compiled = compile_all((int)jobs);
    qsort(programs, (size_t)program_count, sizeof *programs, ascending);
    uint64_t bytes = write_archive(argv[1]);
    printf("CUDA kernels: %d programs for%s and PTX compute_%d by NVRTC %d.%d, %d of them compiled "
           "now, %.1f MB\n",
           program_count, names, archs[arch_count - 1], version / 1000, version % 1000, compiled,
           (double)bytes * 1e-6);
    return 0;
}

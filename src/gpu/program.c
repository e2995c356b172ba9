/* SPDX-License-Identifier: MIT
 * Assembles program texts: a prelude, the facts of an instance, the operator's own text, the
 * kernels of a shape. Each file begins with a #line, so that a compiler's message names the file in
 * the tree. The words KERNEL_OF and PARAMETERS_OF of a file are replaced by what the table of
 * kernels says.
 *
 *   TALLY_KERNELS=dir    reads a file from there if it exists (dir is laid out like src/)
 *   TALLY_DUMP=dir       writes each program there */
#include "context/user.h"
#include "store/sources.h"
#include "kernels.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *text;
    size_t length, capacity;
    int failed;
    char missing[64]; /* name of a file that was not found */
} buffer;

static void add(buffer *b, const char *text, size_t length)
{
    if (b->failed) return;
    if (b->length + length + 1 > b->capacity) {
        size_t capacity = 2 * b->capacity + length + 4096;
        char *more = realloc(b->text, capacity);
        if (!more) {
            b->failed = 1;
            return;
        }

        b->text = more;
        b->capacity = capacity;
    }

    memcpy(b->text + b->length, text, length);
    b->length += length;
    b->text[b->length] = 0;
}

static __attribute__((format(printf, 2, 3))) void say(buffer *b, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    add(b, line, length < (int)sizeof line ? (size_t)length : sizeof line - 1);
}

/* ---- heads of kernels ---- */

enum { COLUMNS = 120 };

static int column(const buffer *b)
{
    size_t n = 0;
    while (n < b->length && b->text[b->length - 1 - n] != '\n') n++;
    return (int)n;
}

/* Writes parameters with commas between them, on several lines if needed. newline: the end of a
 * line. */
static void add_parameters(buffer *b, const tl_parameter *p, const char *newline)
{
    char word[100];
    for (int first = 1; p->name; p++, first = 0) {
        if (p->kind == TL_ARG_LOCAL_BYTES) {
            say(b, " LOCAL_MEMORY_PARAMETER"); /* has its own comma, if there is such a parameter */
            continue;
        }
        int length = snprintf(word, sizeof word, "%s%s%s", p->part ? "" : p->type, p->name,
                              p->part ? "_PARAMETERS" : "");
        if (!first) say(b, column(b) + length > COLUMNS ? ",%s    " : ", ", newline);
        add(b, word, (size_t)length);
    }
}

static void add_head(buffer *b, const tl_gpu_kernel *k)
{
    const char *threads = k->threads ? k->threads_text : "32 * WARPS_IN_GROUP";
    if (strcmp(k->blocks_text, "ANY"))
        say(b, "KERNEL_BLOCKS(%s, %s, %s)(", k->name, threads, k->blocks_text);
    else
        say(b, "KERNEL(%s, %s)(", k->name, threads);
    add_parameters(b, k->parameters, "\n");
    say(b, " BOX_PARAMETER)");
}

/* Writes the replacement of KERNEL_OF(name) or PARAMETERS_OF(name). Returns 0 if the name is not
 * known. */
static int add_meaning(buffer *b, const char *name, size_t length, int is_kernel)
{
    for (int i = 0; is_kernel && i < TL_KERNELS; i++)
        if (!strncmp(tl_gpu_kernels[i].name, name, length) && !tl_gpu_kernels[i].name[length])
            return add_head(b, &tl_gpu_kernels[i]), 1;
    for (const tl_gpu_kernel_part *p = tl_gpu_kernel_parts; !is_kernel && p->name; p++)
        if (!strncmp(p->name, name, length) && !p->name[length])
            return add_parameters(b, p->parameters, " \\\n"), 1;
    return 0;
}

/* Writes a file's text with these words replaced. Line numbers are kept: after a line that became
 * several comes a #line. */
static void add_text(buffer *b, const char *file, const char *text)
{
    static const char kernel_of[] = "KERNEL_OF(", parameters_of[] = "PARAMETERS_OF(";
    int line = 1;

    for (const char *at = text; *at;) {
        const char *kernel = strstr(at, kernel_of), *parameters = strstr(at, parameters_of),
                   *word = kernel;
        if (!kernel || (parameters && parameters < kernel)) word = parameters;
        if (!word) {
            add(b, at, strlen(at));
            return;
        }

        const char *name = strchr(word, '(') + 1;
        const size_t length = strcspn(name, ")");
        for (const char *c = at; c < word; c++) line += *c == '\n';
        add(b, at, (size_t)(word - at));
        const size_t before = b->length;
        at = name + length + (name[length] == ')');

        if (!add_meaning(b, name, length, word == kernel))
            add(b, word, (size_t)(at - word)); /* the compiler will report the position */
        else if (!b->failed && memchr(b->text + before, '\n', b->length - before))
            say(b, "\n#line %d \"src/%s\"", line + 1, file);
    }
}

/* ---- files ---- */

static int add_from_folder(buffer *b, const char *folder, const char *name)
{
    char path[512], part[4096];
    size_t got;
    buffer whole = {0};
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return 0;

    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    while ((got = fread(part, 1, sizeof part, f)) > 0) add(&whole, part, got);
    fclose(f);
    if (whole.failed) b->failed = 1;
    if (whole.text && !whole.failed) add_text(b, name, whole.text);
    free(whole.text);

    return 1;
}

static void add_file(buffer *b, const char *name)
{
    const char *folder = getenv("TALLY_KERNELS");
    say(b, "\n#line 1 \"src/%s\"\n", name);
    if (folder && *folder && add_from_folder(b, folder, name)) return;
    for (const tl_source *t = tl_sources; t->name; t++)
        if (!strcmp(t->name, name)) {
            add_text(b, name, t->text);
            return;
        }
    b->failed = 1;
    snprintf(b->missing, sizeof b->missing, "%s", name);
}

static int is_cuda(const char *prelude) { return strstr(prelude, "cuda") != NULL; }

static const char *float_name(tally_dtype d) { return d == TALLY_F64 ? "f64" : "f32"; }

/* True if single-launch scans of op work on lines (scan_lines.cl): class X, if results are
 * contiguous. Elements of 8 bytes with larger states (argmax f64) are faster by the tree. */
int tl_gpu_single_pass_lines(const tl_scalar *op)
{
    const int bytes = op->elem_bytes;
    return op->exact && op->inputs == 1 && op->lanes == 1 &&
           (op->result_bytes == bytes || op->result_bytes == 8) &&
           !(bytes == 8 && tl_gpu_state_bytes(op) > 8);
}

/* ---- tuning.def ---- */

typedef struct {
    int lines, element_most, state_most; /* lines: of scan_lines.cl */
    tl_scan_tile large, small;
} scan_tiles;

static const scan_tiles scan_tile_table[] = {
#define LINES 1
#define TREE  0
#define SCAN_TILE(form, element_most, state_most, log, blocks, small_log, small_blocks)            \
    {form, element_most, state_most, {log, blocks}, {small_log, small_blocks}},
#include "tuning.def"
#undef LINES
#undef TREE
};

typedef struct {
    int element_most, state_most, rows, blocks;
} column_scan;

static const column_scan column_scan_table[] = {
#define COLUMN_SCAN(element_most, state_most, rows, blocks)                                        \
    {element_most, state_most, rows, blocks},
#include "tuning.def"
    {INT_MAX, INT_MAX, 0, 1}};

tl_scan_tile tl_gpu_scan_tile(const tl_scalar *op, int small)
{
    const int lines = tl_gpu_single_pass_lines(op), state = tl_gpu_state_bytes(op);
    for (size_t i = 0; i < sizeof scan_tile_table / sizeof *scan_tile_table; i++) {
        const scan_tiles *const t = &scan_tile_table[i];
        if (t->lines == lines && op->elem_bytes <= t->element_most && state <= t->state_most)
            return small ? t->small : t->large;
    }
    return (tl_scan_tile){0, 0};
}

static column_scan column_scan_of(const tl_scalar *op)
{
    const column_scan *row = column_scan_table;
    while (op->elem_bytes > row->element_most || tl_gpu_state_bytes(op) > row->state_most) row++;
    return *row;
}

int tl_gpu_down_rows(const tl_scalar *op) { return column_scan_of(op).rows; }

static void add_facts(buffer *b, const tl_scalar *op)
{
    int half = op->dtype == TALLY_F16 || op->dtype == TALLY_BF16,
        is_float = half || op->dtype >= TALLY_F32;
    int is_unsigned = !is_float && op->dtype % 2 == 0, bytes = (int)tally_dtype_size(op->dtype);
    int wraps = op->acc == TALLY_I64 || op->acc == TALLY_U64, out_float = op->out >= TALLY_F32;
    const int kind = is_float      ? 3
                     : is_unsigned ? 2
                                   : 1,
              real = wraps                  ? 0
                     : op->acc == TALLY_F64 ? 8
                                            : 4;

    say(b, "#define TL_SIZE %d\n#define TL_KIND %d\n#define TL_FORMAT %d\n", bytes, kind,
        half ? 16 + (op->dtype == TALLY_BF16) : 0);
    say(b, "#define TL_REAL_FLOAT %d\n#define REAL_T %s\n", real,
        wraps ? "u64" : float_name(op->acc));
    say(b, "#define STATE_BYTES %d\n#define TL_OUT_SIZE %d\n", tl_gpu_state_bytes(op),
        (int)tally_dtype_size(op->out));
    const char *out =
        op->out == TALLY_F16 || op->out == TALLY_BF16 ? "u16" : tally_dtype_name(op->out);
    say(b, "#define TL_OUT_FLOAT %d\n#define OUT_T %s\n",
        out_float ? (op->out == TALLY_F64 ? 8 : 4) : 0, out_float ? float_name(op->out) : out);

    if (half)
        say(b, "#define ELEM_T u16\n#define ORD_T i16\n");
    else if (is_float)
        say(b, "#define ELEM_T %s\n#define ORD_T i%d\n", float_name(op->dtype), 8 * bytes);
    else
        say(b, "#define ELEM_T %s\n#define ORD_T %s\n", tally_dtype_name(op->dtype),
            tally_dtype_name(op->dtype));

    say(b, "#define SCAN_LINES %d\n", tl_gpu_single_pass_lines(op));
    say(b, "#define SCAN_BLOCKS %d\n", 1 + tl_gpu_scan_steps(op));
    say(b, "#define DOWN_ROWS %d\n#define DOWN_BLOCKS %d\n", tl_gpu_down_rows(op),
        column_scan_of(op).blocks);
    if (op->user) say(b, "#define TL_USER 1\n");
    if (op->masked == TL_MASKED_MARK) say(b, "#define TL_MARKED 1\n");
}

/* ---- programs of windows ---- */

/* The program of a shape, for operators whose radix (gpu/tuning.def) is radix_least to radix_most.
 * schedule, blocks: of window_tile (gpu/kernel/window/tile.cl). more: files that programs which
 * read the caller's arrays in place do not have. */
typedef struct {
    const char *shape;
    int radix_least, radix_most;
    enum { SHORT, FLAT, PARTS, LONG } kind;
    const char *schedule, *blocks, *files[7], *more[5];
} window_program;

static const window_program *window_program_of(const tl_scalar *op, const char *shape,
                                               const char *prelude)
{
    enum { RADIX_8 = DIGIT_LOG, RADIX_16 = DIGIT_LOG + 1, ANY = 9 };
    static const window_program programs[] = {
        {"window",
         0,
         ANY,
         SHORT,
         "quads",
         "QUADS_BLOCKS",
         {"place", "quads", "tile"},
         {"columns", "exact", "fold"}},
        {"window_flat", 0, ANY, FLAT, "quads", "QUADS_BLOCKS", {"place", "quads", "tile"}, {0}},
        {"window_cut", 0, ANY, SHORT, "cut", "CUT_BLOCKS", {"place", "cut", "tile"}, {0}},
        {"window_long",
         0,
         0,
         PARTS,
         "quads",
         "QUADS_BLOCKS",
         {"place", "quads", "tile", "rows"},
         {0}},
        {"window_long",
         RADIX_8,
         RADIX_8,
         PARTS,
         "digits",
         "PASS_BLOCKS",
         {"place", "quads", "in_order", "digits", "tile", "rows"},
         {0}},
        {"window_long",
         RADIX_16,
         ANY,
         PARTS,
         "passes",
         "PASS_BLOCKS",
         {"place", "quads", "in_order", "passes", "tile", "rows"},
         {0}},
        {"window_stream",
         RADIX_16,
         ANY,
         LONG,
         "stream",
         "STREAM_BLOCKS",
         {"place", "in_order", "passes", "stream", "tile"},
         {0}},
    };
    const int radix = tl_gpu_window_tuning(op, prelude).radix_log;

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(shape, programs[i].shape) && radix >= programs[i].radix_least &&
            radix <= programs[i].radix_most)
            return &programs[i];

    assert(!"a shape of windows without a program");
    return programs;
}

/* TL_LONG: programs of long windows, whose nodes have more than one element, and which know n. */
static void add_window_facts(buffer *b, const tl_scalar *op, const char *prelude,
                             const window_program *w)
{
    const tl_window_tuning t = tl_gpu_window_tuning(op, prelude);
    const int is_long = w->kind >= PARTS;
    if (is_long) say(b, "#define TL_LONG 1\n");
    say(b, "#define TL_SCHEDULE %s\n#define TILE_BLOCKS %s\n", w->schedule, w->blocks);
    say(b, "#define TL_FLAT %d\n#define TL_PARTS %d\n", w->kind == FLAT, w->kind == PARTS);
    say(b, "#define CUT_LOG %d\n#define QUADS_LOG %d\n", t.cut_log,
        is_long ? t.wide_log : t.quads_log);
    say(b, "#define PASS_LOG %d\n#define PASS_RUN %d\n", is_long ? t.radix_log : 0,
        is_long ? t.run : 0);
}

/* Adds the operator's text. A user's operator is called by its name alone, and the text must have
 * the state that user_facts.c has found in it. */
static void add_operator(buffer *b, const tl_scalar *op)
{
    char name[64];
    if (op->user) {
        const char *text = op->user->user->text;
        say(b, "\n#line 1 \"%s\"\n", op->file);
        add(b, text, strlen(text));
        say(b,
            "\n#line 1 \"src/gpu/program.c\"\ntypedef char state_is_as_read[sizeof(state) == %d ? "
            "1 : -1];\n",
            op->user->device_bytes);
        return;
    }

    snprintf(name, sizeof name, "op/%s.h", op->text);
    if (op->masked) add_file(b, "operator/masked.h");
    add_file(b, name);
    if (op->masked) add_file(b, "operator/masked.h");
}

int tl_gpu_state_bytes(const tl_scalar *op)
{
    int packed = op->state_bytes;
    if (op->user) return op->user->device_bytes;
    /* only f32 fields: no padding */
    const int reals = op->acc == TALLY_F32 && !op->masked && !op->indexed;
    return packed > 8 && !reals ? (packed + 7) / 8 * 8 : packed;
}

tl_window_tuning tl_gpu_window_tuning(const tl_scalar *op, const char *prelude)
{
    enum { OPENCL, CUDA };
    static const struct {
        int device, state, cut, quads, wide, radix, run, masked_run;
        int64_t passes, stream;
    } rows[] = {
#define WINDOW(...) {__VA_ARGS__},
#include "tuning.def"
    };
    const int bytes = tl_gpu_state_bytes(op), device = is_cuda(prelude);
    size_t i = 0;
    while (rows[i].device != device || rows[i].state < bytes) i++;
    assert(i < sizeof rows / sizeof *rows);

    return (tl_window_tuning){.cut_log = rows[i].cut,
                              .quads_log = rows[i].quads,
                              .wide_log = rows[i].wide,
                              .radix_log = rows[i].radix,
                              .run = op->masked ? rows[i].masked_run : rows[i].run,
                              .passes_least = rows[i].passes,
                              .stream_least = rows[i].stream};
}

int tl_gpu_has_shape(const tl_scalar *op, const char *shape, const char *prelude)
{
    if (!strcmp(shape, "window_stream")) return tl_gpu_window_tuning(op, prelude).stream_least > 0;
    if (!strcmp(shape, "scan_small")) return tl_gpu_scan_tile(op, 1).blocks != 0;
    return op->inputs == 1 || strcmp(shape, "grid");
}

/* True if long scans are faster in several launches (level.cl, scan.cl) than in one: states of 12
 * bytes, and of 16 bytes with elements of up to 4 bytes that accumulate in f64 (var f32; not
 * argmax, nor f64). The same states have registers for two blocks of `scan`; others would spill. */
int tl_gpu_scan_steps(const tl_scalar *op)
{
    const int bytes = tl_gpu_state_bytes(op);
    return bytes == 12 ||
           (bytes == 16 && op->elem_bytes <= 4 && op->acc == TALLY_F64 && !op->exact);
}

/* item NULL: only the part that folds rows across lanes. */
static void add_chunk(buffer *b, const char *name, const char *item, int each, int rows,
                      int log_rows)
{
    say(b,
        "\n#undef ITEM\n#undef N\n#undef LANE_ITEMS\n#undef ROWS\n#undef LOG_ROWS\n#define N(name) "
        "name##_%s\n",
        name);
    say(b, "#define LANE_ITEMS %d\n#define ROWS %d\n#define LOG_ROWS %d\n", each, rows, log_rows);
    if (item) say(b, "#define ITEM %s\n", item);
    add_file(b, "gpu/kernel/chunk.cl");
}

/* Chunks of which a lane takes 16 bytes of a row, or 32 bytes for large states, whose exchanges
 * cost more. Such a chunk has 4 KiB, or 2^wide usual chunks. */
static void add_wide(buffer *b, const tl_scalar *op)
{
    const int bytes = op->elem_bytes, large = tl_gpu_state_bytes(op) > 8,
              wide = bytes == 1   ? 2
                     : bytes == 2 ? 1
                                  : 0;
    if (bytes > 4 || (bytes == 4 && !large)) return;
    say(b, "\n#define WIDE 1\n#define WIDE_LOG %d\n#define ROW_PACKS %d\n#define ROWS_W %d\n", wide,
        large ? 2 : 1, large ? 4 : 8);
    add_chunk(b, "w", NULL, 16 / bytes * (large ? 2 : 1), large ? 4 : 8, large ? 2 : 3);
}

/* The chunk functions for elements and for states, and smaller chunks for the single-launch
 * kernels. */
static void add_chunks(buffer *b, const char *shape, int cuda)
{
    say(b, "\n#define ROWS_E 8\n#define LOG_ROWS_E 3\n");
    add_chunk(b, "e", "elem", QUAD, 8, 3);
    add_chunk(b, "s", "state", QUAD, 2, 1);
    if (cuda && !strcmp(shape, "reduce")) add_chunk(b, "r", "elem", QUAD, 1, 0);
}

/* The single-launch reduction of one long sequence. */
static void add_once(buffer *b, const tl_scalar *op)
{
    add_wide(b, op);
    add_file(b, "gpu/kernel/once.cl");
}

/* The single-launch scan, with large or small tiles. */
static void add_scan_once(buffer *b, const tl_scalar *op, int small)
{
    static const char *const chunks[] = {"r", "d", "h", "e"}; /* chunks[k] has 2^k rows */
    const tl_scan_tile tile = tl_gpu_scan_tile(op, small);
    const int lines = tl_gpu_single_pass_lines(op), rows = tile.log - TILE_WARPS_LOG - ROW_LOG;
    const char *const chunk = lines ? "none" : chunks[rows];

    if (!lines && rows < 3) add_chunk(b, chunk, "elem", QUAD, 1 << rows, rows);
    say(b, "\n#define ONCE_LOG %d\n#define ONCE_ITEMS %d\n#define ONCE_PART(name) name##_%s\n",
        tile.log, 1 << (tile.log - TILE_WARPS_LOG), chunk);
    say(b, "#define ONCE_BLOCKS %d\n", tile.blocks);
    add_file(b, "gpu/kernel/scan_lines.cl");
    add_file(b, "gpu/kernel/scan_once.cl");
}

/* The kernels for short sequences: "segments" has nothing else. */
static void add_short(buffer *b, const char *shape)
{
    char name[64];
    add_file(b, "gpu/kernel/short/ahead.cl");
    add_file(b, "gpu/kernel/short/forest.cl");
    add_file(b, "gpu/kernel/short/walk.cl");
    snprintf(name, sizeof name, "gpu/kernel/short/forest_%s.cl", shape);
    add_file(b, name);
}

/* Programs of a single kernel, a variant of one in `shape`: "SHAPE_segments" folds short segments,
 * where that shape's own kernel folds short rows; "scan_small" scans by small tiles. */
static void add_variant(buffer *b, const tl_scalar *op, const char *shape, int segments)
{
    if (!strcmp(shape, "scan")) add_file(b, "gpu/kernel/scan_row.cl");
    if (segments) {
        add_short(b, shape);
        return;
    }
    add_file(b, "gpu/kernel/board.cl");
    add_scan_once(b, op, 1);
}

static void dump(const tl_scalar *op, const char *shape, const char *prelude, const buffer *b)
{
    const char *folder = getenv("TALLY_DUMP");
    char path[512];
    if (!folder || !*folder) return;

    snprintf(path, sizeof path, "%s/%s%s-%s-%s-%s.%s", folder,
             op->masked == TL_MASKED_MARK ? "marked_" : "", op->file, tally_dtype_name(op->dtype),
             op->acc ? tally_dtype_name(op->acc) : "none", shape, is_cuda(prelude) ? "cu" : "cl");
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(b->text, 1, b->length, f);
    fclose(f);
}

/* Returns the text, or the error of the buffer. */
static tally_status end(tally *ctx, buffer *b, const tl_text *t, char **text, size_t *length)
{
    const char *const what = t->kernel ? t->kernel : t->shape;
    if (b->failed) {
        free(b->text);
        if (*b->missing)
            return tl_fail(ctx, TALLY_UNSUPPORTED, "%s %s: no text %s", t->op->file, what,
                           b->missing);
        return tl_fail(ctx, TALLY_NO_MEMORY, "out of memory for the text of %s %s", t->op->file,
                       what);
    }

    dump(t->op, what, t->prelude, b);
    *text = b->text;
    *length = b->length;

    return TALLY_OK;
}

/* What a shape's text consists of. */
typedef struct {
    const char *shape; /* without _two, _bits, _segments and _small */
    int in_place, bits, prepare, law, chunks, cuda;
    int segments, variant;        /* a variant of one kernel: "_segments" or "_small" */
    const window_program *window; /* NULL: no windows */
} contents;

static contents contents_of(const tl_text *t)
{
    static const char *const bases[] = {"reduce", "scan", "window_flat", "window_cut", "window"};
    contents c = {.shape = t->shape, .cuda = is_cuda(t->prelude)};

    c.bits = strstr(t->shape, "_bits") != NULL;
    c.in_place = c.bits || strstr(t->shape, "_two");
    c.segments = strstr(t->shape, "_segments") != NULL;
    c.variant = c.segments || strstr(t->shape, "_small");
    for (size_t i = 0;
         (c.in_place || c.variant) && c.shape == t->shape && i < sizeof bases / sizeof *bases; i++)
        if (!strncmp(t->shape, bases[i], strlen(bases[i]))) c.shape = bases[i];

    /* these have no schedule */
    c.prepare = !strcmp(c.shape, "prepare");
    c.law = c.prepare || !strcmp(c.shape, "law");
    c.window =
        !strncmp(c.shape, "window", 6) ? window_program_of(t->op, c.shape, t->prelude) : NULL;
    c.chunks = !c.law && !c.window && strcmp(c.shape, "grid");

    return c;
}

/* The texts that have no operator's text. Returns 0 for other shapes. */
static int add_without_operator(buffer *b, const tl_text *t)
{
    const int exact = !strcmp(t->shape, "exact");
    if (exact) {
        say(b, "#define EXACT_PAIRS %d\n", t->op->inputs == 2);
        add_file(b, "gpu/kernel/constants.h");
        add_file(b, "gpu/kernel/exact/sum.cl");
        add_file(b, "gpu/kernel/exact/value.cl");
        add_file(b, "gpu/kernel/exact/kernels.cl");
        add_file(b, "gpu/kernel/exact/rows.cl");
    } else if (!strcmp(t->shape, "keys")) {
        add_file(b, "gpu/kernel/constants.h");
        add_file(b, "gpu/kernel/inputs/bits.cl");
        add_file(b, "gpu/kernel/keys.cl");
    } else {
        return 0;
    }

    return 1;
}

/* The operator, and what its kernels share. */
static void add_shared(buffer *b, const tl_text *t, const contents *c)
{
    add_operator(b, t->op);
    add_file(b, "operator/defaults.h");
    add_file(b, "gpu/kernel/constants.h");
    add_file(b, "gpu/kernel/combine.cl");
    if (!c->law) add_file(b, "gpu/kernel/batch.cl");
    if (c->in_place) add_file(b, "gpu/kernel/inputs/in_place.cl");
    if (c->chunks) {
        add_chunks(b, c->shape, c->cuda);
        add_file(b, "gpu/kernel/packs.cl");
        add_file(b, "gpu/kernel/stripes.cl");
    }
    if (c->prepare) add_file(b, "gpu/kernel/inputs/bits.cl");
}

static void add_windows(buffer *b, const contents *c)
{
    char name[64];
    for (int i = 0; c->window->files[i]; i++) {
        snprintf(name, sizeof name, "gpu/kernel/window/%s.cl", c->window->files[i]);
        add_file(b, name);
    }
    for (int i = 0; !c->in_place && c->window->more[i]; i++) {
        snprintf(name, sizeof name, "gpu/kernel/window/%s.cl", c->window->more[i]);
        add_file(b, name);
    }
}

static void add_kernels(buffer *b, const tl_text *t, const contents *c)
{
    const int reduce = !strcmp(c->shape, "reduce"), scan = !strcmp(c->shape, "scan");
    char name[64];

    if (c->chunks) add_file(b, "gpu/kernel/level.cl");
    if (c->chunks && !c->in_place) add_file(b, "gpu/kernel/columns.cl");
    if (scan) add_file(b, "gpu/kernel/scan_row.cl");
    if (scan && !c->in_place) add_file(b, "gpu/kernel/scan_columns.cl");
    snprintf(name, sizeof name, "gpu/kernel/%s%s.cl", c->prepare ? "inputs/" : "", c->shape);
    if (!c->window) add_file(b, name);
    if (c->cuda && c->chunks) add_file(b, "gpu/kernel/board.cl");
    if (c->cuda && c->in_place && reduce) add_file(b, "gpu/kernel/once.cl");

    if (reduce && !c->in_place) {
        if (c->cuda) add_once(b, t->op);
        add_file(b, "gpu/kernel/segments.cl");
    }

    if (c->chunks) add_short(b, c->shape);
    if (c->chunks && !c->in_place) {
        snprintf(name, sizeof name, "gpu/kernel/short/middle_%s.cl", c->shape);
        add_file(b, name);
    }

    if (scan && c->cuda && tl_gpu_scan_tile(t->op, 0).blocks) add_scan_once(b, t->op, 0);
    if (scan && c->cuda && !c->in_place && tl_gpu_down_rows(t->op)) {
        say(b, "namespace down_once {");
        add_file(b, "gpu/kernel/scan_down.cl");
        say(b, "}\n");
    }

    if (c->window) add_windows(b, c);
}

tally_status tl_program_text(tally *ctx, const tl_text *t, char **text, size_t *length)
{
    const contents c = contents_of(t);
    buffer b = {0};

    if (t->kernel) say(&b, "#define TL_ONE_KERNEL 1\n#define TL_PICK_%s 0, 1\n", t->kernel);
    if (c.in_place) say(&b, "#define TL_IN_PLACE 1\n#define TL_BITS %d\n", c.bits);
    say(&b, "#define SEGMENTS %d\n", c.segments);
    add_file(&b, t->prelude);

    /* nan forms skip elements, so each window has its own number of them */
    say(&b, "#define SAME_LENGTH %d\n", c.window && !t->op->masked);
    if (c.window) add_window_facts(&b, t->op, t->prelude, c.window);
    add_facts(&b, t->op);
    add_file(&b, "gpu/kernel/prelude_gpu.h");
    if (!add_without_operator(&b, t)) {
        add_shared(&b, t, &c);
        if (c.variant)
            add_variant(&b, t->op, c.shape, c.segments);
        else
            add_kernels(&b, t, &c);
    }

    return end(ctx, &b, t, text, length);
}

const char *tl_first_error(const char *log)
{
    const char *error = strstr(log, "error");
    while (error && error > log && error[-1] != '\n') error--;
    return error ? error : log;
}

void tl_name_place(const char *line, const char *text, char *to, size_t capacity)
{
    static const char nameless[] = "<kernel>:";
    char file[200] = "", *rest = NULL;
    long wanted = strncmp(line, nameless, sizeof nameless - 1)
                      ? 0
                      : strtol(line + sizeof nameless - 1, &rest, 10),
         at = 1;

    for (long n = 1; n < wanted && *text; n++, at++) {
        long next;
        if (sscanf(text, "#line %ld \"%199[^\"]\"", &next, file) == 2) at = next - 1;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }

    if (*file)
        snprintf(to, capacity, "%s:%ld%s", file, at, rest);
    else
        snprintf(to, capacity, "%s", line);
}

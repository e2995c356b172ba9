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
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *text;
    size_t length, room;
    int failed;
    char missing[64]; /* name of a file that was not found */
} buffer;

static void add(buffer *b, const char *text, size_t length)
{
    if (b->failed) return;
    if (b->length + length + 1 > b->room) {
        size_t room = 2 * b->room + length + 4096;
        char *more = realloc(b->text, room);
        if (!more) {
            b->failed = 1;
            return;
        }
        b->text = more;
        b->room = room;
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
        if (p->kind == TL_ARG_ROOM) {
            say(b, " ROOM_PARAMETER"); /* has its own comma, if there is such a parameter */
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
int tl_gpu_once_lines(const tl_scalar *op)
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
    const int lines = tl_gpu_once_lines(op), state = tl_gpu_state_bytes(op);
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

static void add_facts(buffer *b, const tl_scalar *op, const char *prelude, tl_tiles tiles)
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
    say(b, "#define ROOM_LOG %d\n#define WHOLE_LOG %d\n", tl_gpu_room_log(op),
        tl_gpu_whole_log(op, prelude, tiles));
    say(b, "#define SCAN_LINES %d\n", tl_gpu_once_lines(op));
    say(b, "#define SCAN_BLOCKS %d\n", 1 + tl_gpu_scan_steps(op));
    say(b, "#define DOWN_ROWS %d\n#define DOWN_BLOCKS %d\n", tl_gpu_down_rows(op),
        column_scan_of(op).blocks);
    say(b, "#define RUNS %d\n", tl_gpu_runs(op, prelude, tiles));
    const int passes = tiles == TL_LONG_TILES;
    say(b, "#define PASS_LOG %d\n#define PASS_RUN %d\n", passes ? tl_gpu_pass_log(op, prelude) : 0,
        passes ? tl_gpu_pass_run(op, prelude) : 0);
    if (op->user) say(b, "#define TL_USER 1\n");
    if (op->masked == TL_MASKED_MARK) say(b, "#define TL_MARKED 1\n");
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

int tl_gpu_room_log(const tl_scalar *op)
{
    int bytes = tl_gpu_state_bytes(op);
    return bytes <= 8 ? 11 : bytes <= 24 ? 10 : 9;
}

int tl_gpu_whole_log(const tl_scalar *op, const char *prelude, tl_tiles tiles)
{
    int bytes = tl_gpu_state_bytes(op);
    /* NVIDIA's OpenCL has 48 KiB per block: an array has 8 KiB, or more if it has a quad for each
     * of 256 threads */
    if (!is_cuda(prelude)) return bytes <= 4 ? 11 : 10;
    /* 16 KiB; more with runs */
    return bytes <= 4 ? 12 : bytes <= 8 || tl_gpu_runs(op, prelude, tiles) ? 11 : 10;
}

/* Tiles of window_long, which also takes columns: all states of 12 and 16 bytes, because tiles
 * twice as wide make columns faster. Other tiles: where runs are faster, that is states of 12 bytes
 * of built-in operators, and of 16 bytes with an index and elements of up to 4 bytes (argmax f32).
 * Runs are slower for argmax f64, var, operators of users and states of 8 bytes. */
int tl_gpu_runs(const tl_scalar *op, const char *prelude, tl_tiles tiles)
{
    const int bytes = tl_gpu_state_bytes(op);
    if (!is_cuda(prelude) || (bytes != 12 && bytes != 16)) return 0;
    return tiles == TL_LONG_TILES ||
           (!op->user && (bytes == 12 || (op->indexed && op->elem_bytes <= 4)));
}

/* A tile has 33 KiB, or 17 KiB where a block has 48 KiB; two of them if bits below the radix are
 * set. For larger states (window/digits.cl) two blocks of a multiprocessor share its memory and
 * registers. These are not used on OpenCL, where PoCL compiles such a program for 23 s instead of 3
 * s. */
int tl_gpu_pass_log(const tl_scalar *op, const char *prelude)
{
    const int bytes = tl_gpu_state_bytes(op), cuda = is_cuda(prelude), most = cuda ? 5 : 4;
    return bytes > 8 ? (cuda && bytes <= 24 ? DIGIT_LOG : 0) : bytes > 4 ? most - 1 : most;
}

int tl_gpu_pass_run(const tl_scalar *op, const char *prelude)
{
    const int log = tl_gpu_pass_log(op, prelude), bytes = tl_gpu_state_bytes(op);
    if (log != DIGIT_LOG) return log ? (1 << log) + 1 : 0;
    /* masked operators spill registers */
    return bytes > 16 ? (op->masked ? 5 : 7) : bytes > 12 ? 9 : 11;
}

int tl_gpu_along_log(const tl_scalar *op, const char *prelude)
{
    const int log = is_cuda(prelude) ? tl_gpu_pass_log(op, prelude) : 0;
    return log == DIGIT_LOG ? 0 : log;
}

int tl_gpu_has_shape(const tl_scalar *op, const char *shape, const char *prelude)
{
    if (!strcmp(shape, "scan_small")) return tl_gpu_scan_tile(op, 1).blocks != 0;
    if (!strcmp(shape, "window_along")) return tl_gpu_along_log(op, prelude) != 0;
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
    const int lines = tl_gpu_once_lines(op), rows = tile.log - TILE_WARPS_LOG - ROW_LOG;
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
static tally_status end(tally *ctx, buffer *b, const tl_scalar *op, const char *what,
                        const char *prelude, char **text, size_t *length)
{
    if (b->failed) {
        free(b->text);
        if (*b->missing)
            return tl_fail(ctx, TALLY_UNSUPPORTED, "%s %s: no text %s", op->file, what, b->missing);
        return tl_fail(ctx, TALLY_NO_MEMORY, "out of memory for the text of %s %s", op->file, what);
    }
    dump(op, what, prelude, b);
    *text = b->text;
    *length = b->length;
    return TALLY_OK;
}

tally_status tl_program_text(tally *ctx, const tl_scalar *op, const char *shape,
                             const char *prelude, const char *kernel, char **text, size_t *length)
{
    buffer b = {0};
    char name[64];
    /* with _two or _bits: in place; with _segments or _small: a variant of one kernel */
    static const char *const bases[] = {"reduce", "scan", "window"};
    const char *const whole_shape = shape;
    const int bits = strstr(shape, "_bits") != NULL, in_place = bits || strstr(shape, "_two"),
              segments = strstr(shape, "_segments") != NULL,
              variant = segments || strstr(shape, "_small");
    for (size_t i = 0; (in_place || variant) && i < sizeof bases / sizeof *bases; i++)
        if (!strncmp(shape, bases[i], strlen(bases[i]))) shape = bases[i];
    /* these have no schedule */
    const int prepare = !strcmp(shape, "prepare"), law = prepare || !strcmp(shape, "law");
    const int along = !strcmp(shape, "window_along"),
              is_long = along || !strcmp(shape, "window_long"),
              window = is_long || !strcmp(shape, "window");
    const int chunks = !law && !window && strcmp(shape, "grid");
    if (kernel) say(&b, "#define TL_ONE_KERNEL 1\n#define TL_PICK_%s 0, 1\n", kernel);
    if (in_place) say(&b, "#define TL_IN_PLACE 1\n#define TL_BITS %d\n", bits);
    say(&b, "#define SEGMENTS %d\n", segments);
    add_file(&b, prelude);
    /* nan forms skip elements, so each window has its own number of them */
    say(&b, "#define SAME_LENGTH %d\n", window && !op->masked);
    if (is_long) say(&b, "#define TL_LONG 1\n");
    add_facts(&b, op, prelude, is_long ? TL_LONG_TILES : TL_TILES);
    add_file(&b, "gpu/kernel/prelude_gpu.h");
    if (!strcmp(shape, "exact")) { /* no operator's text is in it */
        say(&b, "#define EXACT_PAIRS %d\n", op->inputs == 2);
        add_file(&b, "gpu/kernel/constants.h");
        add_file(&b, "gpu/kernel/exact/sum.cl");
        add_file(&b, "gpu/kernel/exact/value.cl");
        add_file(&b, "gpu/kernel/exact/kernels.cl");
        add_file(&b, "gpu/kernel/exact/rows.cl");
        return end(ctx, &b, op, kernel ? kernel : shape, prelude, text, length);
    }
    if (!strcmp(shape, "keys")) { /* no operator's text is in it */
        add_file(&b, "gpu/kernel/constants.h");
        add_file(&b, "gpu/kernel/inputs/bits.cl");
        add_file(&b, "gpu/kernel/keys.cl");
        return end(ctx, &b, op, kernel ? kernel : shape, prelude, text, length);
    }
    add_operator(&b, op);
    add_file(&b, "operator/defaults.h");
    add_file(&b, "gpu/kernel/constants.h");
    add_file(&b, "gpu/kernel/combine.cl");
    if (!law) add_file(&b, "gpu/kernel/batch.cl");
    if (in_place) add_file(&b, "gpu/kernel/inputs/in_place.cl");
    if (chunks) {
        add_chunks(&b, shape, is_cuda(prelude));
        add_file(&b, "gpu/kernel/packs.cl");
        add_file(&b, "gpu/kernel/stripes.cl");
    }
    if (variant) {
        add_variant(&b, op, shape, segments);
        return end(ctx, &b, op, kernel ? kernel : whole_shape, prelude, text, length);
    }
    if (chunks) add_file(&b, "gpu/kernel/level.cl");
    if (chunks && !in_place) add_file(&b, "gpu/kernel/columns.cl");
    if (!strcmp(shape, "scan")) add_file(&b, "gpu/kernel/scan_row.cl");
    if (!strcmp(shape, "scan") && !in_place) add_file(&b, "gpu/kernel/scan_columns.cl");
    if (window) add_file(&b, "gpu/kernel/window/place.cl");
    if (prepare) add_file(&b, "gpu/kernel/inputs/bits.cl");
    snprintf(name, sizeof name, "gpu/kernel/%s%s.cl",
             window    ? "window/"
             : prepare ? "inputs/"
                       : "",
             window ? "window" : shape);
    add_file(&b, name);
    if (is_cuda(prelude) && chunks) add_file(&b, "gpu/kernel/board.cl");
    if (is_cuda(prelude) && in_place && !strcmp(shape, "reduce"))
        add_file(&b, "gpu/kernel/once.cl");
    if (!strcmp(shape, "reduce") && !in_place) {
        if (is_cuda(prelude)) add_once(&b, op);
        add_file(&b, "gpu/kernel/segments.cl");
    }
    if (chunks) add_short(&b, shape);
    if (chunks && !in_place) {
        snprintf(name, sizeof name, "gpu/kernel/short/middle_%s.cl", shape);
        add_file(&b, name);
    }
    if (!strcmp(shape, "scan") && is_cuda(prelude) && tl_gpu_scan_tile(op, 0).blocks)
        add_scan_once(&b, op, 0);
    if (!strcmp(shape, "scan") && is_cuda(prelude) && !in_place && tl_gpu_down_rows(op)) {
        say(&b, "namespace down_once {");
        add_file(&b, "gpu/kernel/scan_down.cl");
        say(&b, "}\n");
    }
    if (window) add_file(&b, "gpu/kernel/window/whole.cl");
    if (is_long) add_file(&b, "gpu/kernel/window/digits.cl");
    if (is_long) add_file(&b, "gpu/kernel/window/passes.cl");
    if (window && !in_place && !along) add_file(&b, "gpu/kernel/window/columns.cl");
    if (window && !in_place && !along)
        add_file(&b, is_long ? "gpu/kernel/window/long.cl" : "gpu/kernel/window/exact.cl");
    if (along) add_file(&b, "gpu/kernel/window/along.cl");
    return end(ctx, &b, op, kernel ? kernel : whole_shape, prelude, text, length);
}

const char *tl_first_error(const char *log)
{
    const char *error = strstr(log, "error");
    while (error && error > log && error[-1] != '\n') error--;
    return error ? error : log;
}

void tl_name_place(const char *line, const char *text, char *to, size_t room)
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
        snprintf(to, room, "%s:%ld%s", file, at, rest);
    else
        snprintf(to, room, "%s", line);
}

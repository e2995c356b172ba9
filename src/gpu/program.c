/* SPDX-License-Identifier: MIT
 * What a program consists of: a prelude, the facts of an instance, the operator's own text, the
 * kernels of a shape. text.c writes the files.
 *
 *   TALLY_DUMP=dir       writes each program there */
#include "context/user.h"
#include "kernels.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *float_name(tally_dtype d) { return d == TALLY_F64 ? "f64" : "f32"; }

/* The types of elements (ORD_T: integers in the order of the elements), of arithmetic and of
 * results, and the bytes of a state. */
static void add_types(tl_buffer *b, const tl_scalar *op)
{
    enum { SIGNED = 1, UNSIGNED, FLOAT };
    const int half = op->dtype == TALLY_F16 || op->dtype == TALLY_BF16,
              kind = half || op->dtype >= TALLY_F32 ? FLOAT
                     : op->dtype % 2 == 0           ? UNSIGNED
                                                    : SIGNED,
              bytes = (int)tally_dtype_size(op->dtype);
    const int wraps = op->acc == TALLY_I64 || op->acc == TALLY_U64,
              real_bytes = wraps                  ? 0
                           : op->acc == TALLY_F64 ? 8
                                                  : 4;
    const int out_half = op->out == TALLY_F16 || op->out == TALLY_BF16,
              out_float = op->out >= TALLY_F32, out_bytes = (int)tally_dtype_size(op->out);

    tl_addf(b, "#define TL_SIZE %d\n#define TL_KIND %d\n#define TL_FORMAT %d\n", bytes, kind,
            half ? 16 + (op->dtype == TALLY_BF16) : 0);
    tl_addf(b, "#define TL_REAL_FLOAT %d\n#define REAL_T %s\n", real_bytes,
            wraps ? "u64" : float_name(op->acc));
    tl_addf(b, "#define STATE_BYTES %d\n#define TL_OUT_SIZE %d\n", tl_gpu_state_bytes(op),
            out_bytes);
    tl_addf(b, "#define TL_OUT_FLOAT %d\n#define OUT_T %s\n", out_float ? out_bytes : 0,
            out_float  ? float_name(op->out)
            : out_half ? "u16"
                       : tally_dtype_name(op->out));

    const char *const element = half            ? "u16"
                                : kind == FLOAT ? float_name(op->dtype)
                                                : tally_dtype_name(op->dtype);
    tl_addf(b, "#define ELEM_T %s\n", element);
    if (kind == FLOAT)
        tl_addf(b, "#define ORD_T i%d\n", 8 * bytes);
    else
        tl_addf(b, "#define ORD_T %s\n", element);
}

static void add_facts(tl_buffer *b, const tl_scalar *op)
{
    add_types(b, op);
    tl_addf(b, "#define SCAN_BLOCKS %d\n", tl_gpu_scans_in_steps(op) ? 2 : 1);
    tl_addf(b, "#define DOWN_ROWS %d\n", tl_gpu_down_rows(op, 0));
    if (op->user) tl_addf(b, "#define TL_USER 1\n");
    if (op->masked == TL_MASKED_MARK) tl_addf(b, "#define TL_MARKED 1\n");
}

/* ---- programs of windows ---- */

/* The program of a shape. Shapes of walks end in a number, their highest level, and their kind is
 * WALK + WALK_... schedule, blocks: of window_tile (gpu/kernel/window/tile.cl). more: files that
 * programs which read the caller's arrays in place do not have. */
typedef struct {
    const char *shape;
    enum { SHORT, FLAT, SMALL, FAR, SLIDE, PARTS, LONG, TABLE, WALK } kind;
    const char *schedule, *blocks, *files[5], *more[4];
} window_program;

static const window_program *window_program_of(const char *shape)
{
#define WALK_GROUPS "WALK_BLOCKS(WALK_KIND, WALK_TOP, sizeof(state))"
#define WALK_FILES  "place", "walk_levels", "walk"
    /* clang-format off */
    static const window_program programs[] = {
        {"window", SHORT, "quads", "QUADS_BLOCKS", {"place", "quads", "tile"},
         {"columns", "exact"}},
        {"window_flat", FLAT, "quads", "QUADS_BLOCKS", {"place", "quads", "tile"}, {0}},
        {"window_small", SMALL, "quads", "QUADS_BLOCKS", {"place", "quads", "tile"}, {0}},
        {"window_far", FAR, "quads", "QUADS_BLOCKS", {"exact", "exact_far"}, {0}},
        {"window_slide", SLIDE, "quads", "QUADS_BLOCKS", {"exact", "exact_far"}, {0}},
        {"window_cut", SHORT, "cut", "CUT_BLOCKS", {"place", "cut", "tile"}, {0}},
        {"window_long", PARTS, "quads", "QUADS_BLOCKS", {"place", "quads", "tile", "rows"}, {0}},
        {"window_passes", LONG, "passes", "PASS_BLOCKS", {"place", "passes", "tile"}, {0}},
        {"window_table", TABLE, "quads", "WIDE_BLOCKS", {"place", "quads", "tile", "rows"}, {0}},
        {"window_walk", WALK + WALK_WHOLE, "walk", WALK_GROUPS, {WALK_FILES}, {0}},
        {"window_level", WALK + WALK_LEVEL, "walk", WALK_GROUPS, {WALK_FILES}, {0}},
        {"window_last", WALK + WALK_LAST, "walk", WALK_GROUPS, {WALK_FILES}, {0}},
        {"window_nodes", WALK + WALK_NODES, "walk", WALK_GROUPS, {WALK_FILES}, {0}}};
    /* clang-format on */
    const size_t length = strcspn(shape, "0123456789");

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strlen(programs[i].shape) == length && !strncmp(shape, programs[i].shape, length))
            return &programs[i];

    assert(!"a shape of windows without a program");
    return programs;
}

/* TL_LONG: programs of long windows, whose nodes have more than one element, and which know n. */
static void add_window_facts(tl_buffer *b, const tl_scalar *op, const char *prelude,
                             const char *shape, const window_program *w)
{
    const tl_window_tuning t = tl_gpu_window_tuning(op, prelude);
    const int is_long = w->kind >= PARTS;
    if (is_long) tl_addf(b, "#define TL_LONG 1\n");
    tl_addf(b, "#define TL_SCHEDULE %s\n#define TILE_BLOCKS %s\n", w->schedule, w->blocks);
    tl_addf(b, "#define TL_TABLE %d\n#define TL_FLAT %d\n", w->kind == TABLE,
            w->kind == FLAT || w->kind == SMALL || w->kind == TABLE);
    tl_addf(b, "#define TL_FAR %d\n#define TL_PARTS %d\n",
            w->kind == FAR ? 1 : 2 * (w->kind == SLIDE),
            w->kind == PARTS || w->kind > WALK + WALK_WHOLE);
    if (w->kind >= WALK)
        tl_addf(b, "#define WALK_KIND %d\n#define WALK_TOP %d\n", w->kind - WALK,
                atoi(shape + strlen(w->shape)));
    tl_addf(b, "#define CUT_LOG %d\n#define QUADS_LOG %d\n", t.cut_log,
            is_long            ? t.wide_log
            : w->kind == SMALL ? SMALL_QUADS_LOG
                               : t.quads_log);
    tl_addf(b, "#define PASS_LOG %d\n#define PASS_RUN %d\n", is_long ? t.radix_log : 0,
            is_long ? t.run : 0);
}

/* Adds the operator's text. A user's operator is called by its name alone, and the text must have
 * the state that user_facts.c has found in it. */
static void add_operator(tl_buffer *b, const tl_scalar *op)
{
    char name[64];
    if (op->user) {
        const char *text = op->user->user->text;
        tl_addf(b, "\n#line 1 \"%s\"\n", op->file);
        tl_add(b, text, strlen(text));
        tl_addf(
            b,
            "\n#line 1 \"src/gpu/program.c\"\ntypedef char state_is_as_read[sizeof(state) == %d ? "
            "1 : -1];\n",
            op->user->device_bytes);
        return;
    }

    snprintf(name, sizeof name, "op/%s.h", op->text);
    if (op->masked) tl_add_file(b, "operator/masked.h");
    tl_add_file(b, name);
    if (op->masked) tl_add_file(b, "operator/masked.h");
}

/* Adds a text of gpu/kernel/, whose name has two parts. */
static void add_kernel(tl_buffer *b, const char *begin, const char *end)
{
    char name[64];
    snprintf(name, sizeof name, "gpu/kernel/%s%s.cl", begin, end);
    tl_add_file(b, name);
}

/* The functions of a chunk (gpu/kernel/chunk.cl), named NAME_SUFFIX. item: the type of what a lane
 * loads; NULL: only the part that folds rows across lanes. */
typedef struct {
    const char *suffix, *item;
    int lane_items, rows_log;
} chunk;

static void add_chunk(tl_buffer *b, const chunk *c)
{
    tl_addf(b,
            "\n#undef ITEM\n#undef N\n#undef LANE_ITEMS\n#undef ROWS\n#undef LOG_ROWS\n"
            "#define N(name) name##_%s\n",
            c->suffix);
    tl_addf(b, "#define LANE_ITEMS %d\n#define ROWS %d\n#define LOG_ROWS %d\n", c->lane_items,
            1 << c->rows_log, c->rows_log);
    if (c->item) tl_addf(b, "#define ITEM %s\n", c->item);
    add_kernel(b, "", "chunk");
}

/* Wide chunks: a lane loads a pack of 16 bytes of a row, or two packs for large states, whose
 * exchanges cost more. Such a chunk has 4 KiB, or 2^WIDE_LOG usual chunks. Elements whose usual
 * chunk loads as much have none. */
static void add_wide(tl_buffer *b, const tl_scalar *op)
{
    const int bytes = op->elem_bytes, large = tl_gpu_state_bytes(op) > 8;
    const int packs_log = large, rows_log = 3 - packs_log, wide_log = bytes == 1 ? 2 : bytes == 2;
    if (bytes > 4 || (bytes == 4 && !large)) return;

    tl_addf(b, "\n#define WIDE 1\n#define WIDE_LOG %d\n#define ROW_PACKS %d\n#define ROWS_W %d\n",
            wide_log, 1 << packs_log, 1 << rows_log);
    add_chunk(b, &(chunk){"w", NULL, 16 / bytes << packs_log, rows_log});
}

/* The chunks of elements and of states, and on CUDA the smaller ones of single-launch
 * reductions. */
static void add_chunks(tl_buffer *b, const char *shape, int cuda)
{
    tl_addf(b, "\n#define ROWS_E 8\n#define LOG_ROWS_E 3\n");
    add_chunk(b, &(chunk){"e", "elem", QUAD, 3});
    add_chunk(b, &(chunk){"s", "state", QUAD, 1});
    if (cuda && !strcmp(shape, "reduce")) add_chunk(b, &(chunk){"r", "elem", QUAD, 0});
}

/* The single-launch scan, by large tiles or by a wave. Parts are of lines, or of 1 to 8 rows. */
static void add_scan_single(tl_buffer *b, const tl_text *t, int wave)
{
    enum { LOGS = 4 };
    static const char *const suffixes[LOGS] = {"r", "d", "h", "e"}; /* [k]: of chunks of 2^k rows */
    const tl_scan_tile tile = tl_gpu_scan_tile(t->op, wave);
    const int large = wave && tl_gpu_state_bytes(t->op) > 8,
              lines = t->inputs == TL_ONE_INPUT && !large && tl_gpu_scans_lines(t->op),
              warp_log = tile.log - TILE_WARPS_LOG, rows_log = warp_log - ROW_LOG;
    assert(lines || (rows_log >= 0 && rows_log < LOGS));
    const char *const suffix = lines ? "none" : suffixes[rows_log];

    /* chunks of 8 rows are there already (add_chunks) */
    if (!lines && rows_log < 3) add_chunk(b, &(chunk){suffix, "elem", QUAD, rows_log});
    tl_addf(
        b,
        "\n#define SINGLE_LOG %d\n#define SINGLE_ITEMS %d\n#define SINGLE_PART(name) name##_%s\n",
        tile.log, 1 << warp_log, suffix);
    tl_addf(b, "#define SINGLE_BLOCKS %d\n#define SCAN_LINES %d\n", tile.blocks, lines);
    add_kernel(b, "", "scan_part");
    add_kernel(b, "scan_", wave ? "wave" : "single");
}

/* The kernels for short sequences. */
static void add_short(tl_buffer *b, const char *shape)
{
    add_kernel(b, "short/", "jobs");
    add_kernel(b, "short/", "segmented");
    add_kernel(b, "short/", shape);
}

/* Programs of variants of kernels in `shape`: "SHAPE_segments" folds segments,
 * where that shape's own kernels fold rows; "scan_wave" scans by tiles of one wave. */
static void add_variant(tl_buffer *b, const tl_text *t, const char *shape, int segments)
{
    if (!strcmp(shape, "scan")) add_kernel(b, "", "scan_row");
    add_kernel(b, "", "level");
    if (segments) {
        add_short(b, shape);
        return;
    }
    add_scan_single(b, t, 1);
}

static void dump(const tl_text *t, const tl_buffer *b)
{
    static const char *const inputs[] = {"", "_two", "_bits"};
    const tl_scalar *const op = t->op;
    const char *folder = getenv("TALLY_DUMP");
    char path[512];
    if (!folder || !*folder) return;

    snprintf(path, sizeof path, "%s/%s%s-%s-%s-%s%s.%s", folder,
             op->masked == TL_MASKED_MARK ? "marked_" : "", op->file, tally_dtype_name(op->dtype),
             op->acc ? tally_dtype_name(op->acc) : "none", t->kernel ? t->kernel : t->shape,
             t->kernel ? "" : inputs[t->inputs], tl_is_cuda(t->prelude) ? "cu" : "cl");
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(b->text, 1, b->length, f);
    fclose(f);
}

/* Returns the text, or the error of the buffer. */
static tally_status end(tally *ctx, tl_buffer *b, const tl_text *t, char **text, size_t *length)
{
    const char *const what = t->kernel ? t->kernel : t->shape;
    if (b->failed) {
        free(b->text);
        if (*b->missing)
            return tl_unsupported(ctx, "%s %s: no text %s", t->op->file, what, b->missing);
        return tl_fail(ctx, TALLY_NO_MEMORY, "out of memory for the text of %s %s", t->op->file,
                       what);
    }

    dump(t, b);
    *text = b->text;
    *length = b->length;

    return TALLY_OK;
}

/* What a shape's text consists of. */
typedef struct {
    const char *shape; /* without _segments and _wave */
    int in_place, prepare, law, chunks, cuda;
    int segments, variant;        /* a variant of one kernel: "_segments" or "_wave" */
    const window_program *window; /* NULL: no windows */
} contents;

static contents contents_of(const tl_text *t)
{
    contents c = {
        .shape = t->shape, .in_place = t->inputs != TL_ONE_INPUT, .cuda = tl_is_cuda(t->prelude)};

    c.segments = strstr(t->shape, "_segments") != NULL;
    c.variant = c.segments || strstr(t->shape, "_wave");
    if (c.variant) c.shape = *t->shape == 'r' ? "reduce" : "scan";

    /* these have no schedule */
    c.prepare = !strcmp(c.shape, "prepare");
    c.law = c.prepare || !strcmp(c.shape, "law");
    c.window = !strncmp(c.shape, "window", 6) ? window_program_of(c.shape) : NULL;
    c.chunks = !c.law && !c.window && strcmp(c.shape, "grid");

    return c;
}

/* The texts that have no operator's text. Returns 0 for other shapes. */
static int add_without_operator(tl_buffer *b, const tl_text *t)
{
    const int exact = !strcmp(t->shape, "exact");
    if (!exact && strcmp(t->shape, "keys")) return 0;

    if (exact) tl_addf(b, "#define EXACT_PAIRS %d\n", t->op->inputs == 2);
    tl_add_file(b, "gpu/kernel/constants.h");
    add_kernel(b, "inputs/", "bits");
    if (exact) {
        add_kernel(b, "exact/sum", "");
        add_kernel(b, "exact/", "value");
        add_kernel(b, "exact/", "rows");
    } else {
        add_kernel(b, "", "keys");
    }

    return 1;
}

/* The operator, and what its kernels share. */
static void add_shared(tl_buffer *b, const tl_text *t, const contents *c)
{
    add_operator(b, t->op);
    tl_add_file(b, "operator/defaults.h");
    tl_add_file(b, "gpu/kernel/constants.h");
    add_kernel(b, "", "state");
    if (!c->law) add_kernel(b, "", "batch");
    if (c->in_place) add_kernel(b, "inputs/", "in_place");
    if (c->chunks) {
        add_chunks(b, c->shape, c->cuda);
        add_kernel(b, "", "partials");
    }
    if (c->prepare) add_kernel(b, "inputs/", "bits");
}

static void add_windows(tl_buffer *b, const contents *c)
{
    for (int i = 0; c->window->files[i]; i++) add_kernel(b, "window/", c->window->files[i]);
    for (int i = 0; !c->in_place && c->window->more[i]; i++)
        add_kernel(b, "window/", c->window->more[i]);
}

static void add_kernels(tl_buffer *b, const tl_text *t, const contents *c)
{
    const int reduce = !strcmp(c->shape, "reduce"), scan = !strcmp(c->shape, "scan");

    if (c->chunks) add_kernel(b, "", "level");
    if (c->chunks && !c->in_place) add_kernel(b, "", "columns");
    if (reduce && !c->in_place) add_kernel(b, "", "short_columns");
    if (scan) add_kernel(b, "", "scan_row");
    if (c->cuda && reduce && !c->in_place) add_wide(b, t->op);
    if (!c->window) add_kernel(b, c->prepare ? "inputs/" : "", c->shape);
    if (reduce && !c->in_place) add_kernel(b, "", "segments");
    if (c->chunks) add_short(b, c->shape);

    /* long sequences of class X by lines are not prepared in place (verb_takes in prepare.c) */
    const int no_long = c->in_place && t->op->exact && tl_gpu_scans_lines(t->op);
    if (scan && c->cuda && !no_long && tl_gpu_scan_tile(t->op, 0).blocks) add_scan_single(b, t, 0);
    if (scan && c->cuda && !c->in_place && tl_gpu_down_rows(t->op, 0)) {
        tl_addf(b, "namespace down_single {");
        add_kernel(b, "", "scan_down");
        tl_addf(b, "}\n");
    }

    if (c->window) add_windows(b, c);
}

tally_status tl_program_text(tally *ctx, const tl_text *t, char **text, size_t *length)
{
    const contents c = contents_of(t);
    tl_buffer b = {0};

    if (t->kernel) tl_addf(&b, "#define TL_ONE_KERNEL 1\n#define TL_PICK_%s 0, 1\n", t->kernel);
    if (c.in_place)
        tl_addf(&b, "#define TL_IN_PLACE 1\n#define TL_BITS %d\n", t->inputs == TL_BITMAPS);
    tl_addf(&b, "#define SEGMENTS %d\n", c.segments);
    tl_add_file(&b, t->prelude);

    /* nan forms skip elements, so each window has its own number of them */
    tl_addf(&b, "#define SAME_LENGTH %d\n", c.window && !t->op->masked);
    if (c.window) add_window_facts(&b, t->op, t->prelude, c.shape, c.window);
    add_facts(&b, t->op);
    tl_add_file(&b, "gpu/kernel/prelude_gpu.h");
    if (!add_without_operator(&b, t)) {
        add_shared(&b, t, &c);
        if (c.variant)
            add_variant(&b, t, c.shape, c.segments);
        else
            add_kernels(&b, t, &c);
    }

    return end(ctx, &b, t, text, length);
}

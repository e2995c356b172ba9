/* SPDX-License-Identifier: MIT
 * Reads text in blocks. A block is read, cut at line ends into chunks, parsed by threads, and
 * handed out in order.
 *
 *     block  | carried over | read ................................ |
 *     chunks | 0            | 1            | 2            |           the rest of a line is
 *     stage  | values 0     | values 1     | values 2     |           carried to the next block
 *
 * A chunk at byte b of the text writes its values from number b / 2 on, because a value takes at
 * least 2 bytes of text.
 *
 * Memory: SHARE bytes of text per thread, and 1 to 4 times as much for the values. The text is
 * read with pread and not mapped, because a mapped file that becomes shorter kills the process. */
#define _GNU_SOURCE
#include "context/threads.h"
#include "io.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SHARE = TL_TEXT_SHARE, /* bytes of text per thread in a block */
    SMALL = TL_TEXT_SMALL, /* fewest bytes of text in a chunk */
    CHUNKS = 8             /* per thread: if one thread is delayed, the others take its chunks */
};

struct tl_text {
    tl_layout layout;
    char *buf;
    /* bytes: capacity of the block, its length, and its parsed part; the rest is carried over */
    size_t capacity, n, end;
    unsigned char *stage;

    /* fewest bytes of text per value: 2, in rows of several values 1 (an empty cell) */
    size_t a_value;
    tl_chunk *chunks;
    int threads, most, chunks_n, now; /* most: chunks in a block, several per thread */
    int eof, skip_bad, mid_line, in_comment;

    /* position of the block: lines before it, and bytes of its first line before it */
    int64_t line, col;
    tl_bad bad;         /* the error after the values of this block */
    int begun;          /* earlier blocks had values */
    int header_guessed; /* the caller did not say whether there is a header, and none was found */
    tl_span *spans;     /* NULL, or the lines of the block's rows */
    tl_span *cells;     /* with keys: the key cells of the block's rows */
    int32_t *codes;     /* with keys: their groups */
    tl_tick *times;     /* with a column of times: the times of the block's rows */
    tl_order order;     /* with a column of times: the last time of each group */
    int line_chunk;     /* the next line for tally_file_line: its chunk, and its row there */
    int64_t line_row;
};

/* Makes space for blocks of `capacity` bytes. */
static tally_status reserve(tally_file *f, size_t capacity)
{
    assert(capacity > 0);
    tl_text *const t = f->text;
    const size_t numbers = t->layout.parts ? TL_NUMBERS_BYTES : 0, keys = (size_t)t->layout.keys,
                 rows = capacity / 2 + (size_t)t->most + 8, /* most lines */
        values = capacity / t->a_value + (size_t)t->most + 8;
    TL_TRY(tl_grow(f->ctx, &t->buf, capacity + TL_PAD + numbers, "a block of text"));
    if (numbers) tl_time_numbers(t->buf + capacity + TL_PAD);
    t->capacity = capacity;

    const struct {
        int wanted;
        void *pointer;
        size_t bytes;
        const char *what;
    } blocks[] = {
        {1, &t->stage, values * tally_dtype_size(f->info.dtype), "a block of values"},
        {f->keys != NULL, &t->cells, rows * keys * sizeof *t->cells, "the keys of a block of text"},
        {f->keys != NULL, &t->codes, rows * sizeof *t->codes, "the groups of a block of text"},
        {t->layout.times, &t->times, rows * sizeof *t->times, "the times of a block of text"},
        {f->keeps || t->layout.times, &t->spans, rows * sizeof *t->spans,
         "the lines of a block of text"},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].wanted)
            TL_TRY(tl_grow(f->ctx, blocks[i].pointer, blocks[i].bytes, blocks[i].what));
    return TALLY_OK;
}

static void text_end(tally_file *f)
{
    tl_text *const t = f->text;
    tl_layout_free(&t->layout);
    free(t->spans);
    tl_keys_close(f->keys);
    free(t->cells);
    free(t->codes);
    free(t->times);
    free(t->order.last);
    free(t->buf);
    free(t->stage);
    free(t->chunks);
    free(t);
}

tally_status tl_text_start(tally_file *f, const tally_file_options *o, int csv)
{
    tl_text *const t = f->text = calloc(1, sizeof *t);
    if (!t) return tl_no_memory(f->ctx, sizeof *t, "a text reader");
    f->end = text_end;
    tl_layout *const l = &t->layout;
    TL_TRY(tl_sniff_layout(f, o, csv, l));
    int threads = tl_io_threads(f->ctx);
    if (threads < 1) threads = 1;
    t->threads = threads;
    if (threads > TL_CHUNKS_MOST / CHUNKS) threads = TL_CHUNKS_MOST / CHUNKS;
    t->most = threads * CHUNKS;
    t->skip_bad = o->skip_bad;
    if (l->keys && !(f->keys = tl_keys_open(l->keys)))
        return tl_no_memory(f->ctx, (size_t)l->keys * 64, "the groups");
    if (l->times) TL_TRY(tl_order_reserve(f, &t->order, 1));
    t->a_value = l->columns > 1 ? 1 : 2;
    t->header_guessed = o->header == 0 && !l->header;
    t->chunks = calloc((size_t)t->most, sizeof *t->chunks);
    if (!t->chunks)
        return tl_no_memory(f->ctx, (size_t)t->most * sizeof *t->chunks, "a text reader");
    size_t capacity = threads < TL_LONGEST / SHARE ? (size_t)threads * SHARE : TL_LONGEST;
    if (f->regular && f->size - f->pos < (int64_t)capacity)
        /* one byte more, so that the end shows as a short read */
        capacity = (size_t)(f->size - f->pos) + 1;
    TL_TRY(reserve(f, capacity));
    f->info.ndim = l->table ? 2 : 1;
    f->info.shape[0] = f->info.elements = -1;
    if (l->table) f->info.shape[1] = l->columns;
    f->info.header = l->header;
    f->info.date = *l->date ? l->date : NULL;
    f->info.columns = (const char *const *)l->names;
    f->info.key_columns = l->keys;
    f->info.keys = (const char *const *)l->key_names;
    f->info.delimiter = l->delimiter;
    t->line = tl_count(f->peek, (size_t)l->skip, '\n');

    if (f->regular) {
        f->pos += l->skip;
        posix_fadvise(f->fd, f->pos, 0, POSIX_FADV_SEQUENTIAL);
    } else {
        f->peek_at = (size_t)l->skip;
    }
    return TALLY_OK;
}

/* Reads more text after the block. 0, or -1 with errno, which is 0 if the file became shorter, or
 * is shorter than its size says, as some in /proc and /sys. */
static int read_more(tally_file *f)
{
    tl_text *const t = f->text;
    const size_t before = t->n, want = t->capacity - before;

    if (f->regular) {
        const int64_t got = tl_pread_shared(f, t->buf + t->n, (int64_t)want, t->threads,
                                            want < 2 * SMALL ? 1 : t->most);
        if (got < 0) return -1;
        t->n += (size_t)got;
        f->pos += got;
        t->eof = (size_t)got < want;
        struct stat st;
        if (t->eof && f->pos < f->size && (fstat(f->fd, &st) != 0 || st.st_size < f->size))
            return errno = 0, -1;
        return 0;
    }

    while (t->n < t->capacity) {
        const int64_t r = tl_input_some(f, t->buf + t->n, t->capacity - t->n);
        if (r < 0) return t->n > before ? 0 : -1; /* what was read is parsed first */
        if (r == 0) {
            t->eof = 1;
            break;
        }

        const int line = memchr(t->buf + t->n, '\n', (size_t)r) != NULL ||
                         memchr(t->buf + t->n, '\r', (size_t)r) != NULL;
        t->n += (size_t)r;
        if (line && tl_input_would_wait(f)) break; /* parses this before more arrives */
    }
    return 0;
}

/* Fills the block; a carriage return at its end stays until the byte after it is known. Returns as
 * read_more. */
static int fill(tally_file *f)
{
    tl_text *const t = f->text;
    const size_t from = t->n - (t->n && t->buf[t->n - 1] == '\r');
    const int failed = read_more(f);
    const size_t n = t->n - from;
    if (!failed && n)
        tl_unify_text(t->buf + from, n, t->threads, n < 2 * SMALL ? 1 : t->most, t->eof);
    return failed;
}

/* Cuts the block into chunks. t->end becomes 0 if the block cannot be cut. */
static void cut(tl_text *t)
{
    const tl_layout *const l = &t->layout;
    size_t cuts[TL_CHUNKS_MOST + 1] = {0};

    /* the padding of TL_PAD bytes has space for it */
    if (t->eof && t->n && t->buf[t->n - 1] != '\n') t->buf[t->n++] = '\n';
    memset(t->buf + t->n, 0, TL_PAD - 1);
    int k = (int)(t->n / SMALL) < t->most ? (int)(t->n / SMALL) : t->most;
    if (k < 1) k = 1;
    for (int i = 1; i < k; i++) cuts[i] = t->n / (size_t)k * (size_t)i;
    tl_text_cut(t->buf, t->n, l, cuts, k, t->eof);
    if (cuts[k] == 0 && !l->columns) {
        k = 1;
        cuts[1] = tl_text_cut_line(t->buf, t->n, l, t->mid_line, t->in_comment);
    }

    t->end = cuts[k];
    const int quote = l->quotes && memchr(t->buf, '"', t->end) != NULL;

    for (int i = 0; i < k; i++)
        t->chunks[i] = (tl_chunk){.start = t->buf + cuts[i],
                                  .end = t->buf + cuts[i + 1],
                                  .has_quote = quote,
                                  .numbers = t->buf + t->capacity + TL_PAD,
                                  .utc = l->utc,
                                  .decimal = l->decimal,
                                  .skip_bad = t->skip_bad,
                                  .mid_line = i == 0 && t->mid_line,
                                  .in_comment = i == 0 && t->in_comment};

    t->chunks_n = k;
}

/* Records the place and the text of the first bad cell. */
static void note(tl_text *t, const tl_chunk *c, int first)
{
    assert(c->bad);
    tl_bad *const bad = &t->bad;
    const char *p = c->bad;
    bad->why = c->why;
    bad->first = first;
    bad->lacks = c->lacks;
    bad->line = t->line + tl_count(t->buf, (size_t)(p - t->buf), '\n') + 1;
    while (p > t->buf && p[-1] != '\n') p--;
    bad->col = c->bad - p + 1 + (p == t->buf ? t->col : 0);
    tl_bad_text(bad, c->bad, c->bad_end);
    bad->other_line = t->order.line;
    if (bad->why == TL_CELL_FRAME) tl_time_frame(t->order.frame, bad->other, sizeof bad->other);
}

/* ---- a column of times ---- */

/* Checks that the times of a chunk have the frame of all before; else its first time becomes a bad
 * cell. */
static void same_frame(tl_text *t, tl_chunk *c)
{
    if (!t->order.frame && c->frame) {
        t->order.frame = c->frame;
        t->order.line = t->line + tl_count(t->buf, (size_t)(c->frame_at - t->buf), '\n') + 1;
    }

    if (!c->frame || c->frame == t->order.frame) return;
    c->bad = c->frame_at;
    c->bad_end = c->frame_end;
    c->why = TL_CELL_FRAME;
    c->count = 0;
}

/* The order of the times of chunk i. The first row out of order becomes a bad cell. */
static tally_status in_order(tally_file *f, int i)
{
    assert(i >= 0);
    tl_text *const t = f->text;
    tl_chunk *const c = &t->chunks[i];
    const int64_t rows = c->count / t->layout.columns;
    TL_TRY(tl_order_reserve(f, &t->order, f->keys ? tally_file_groups(f) : 1));
    tl_tick with;
    int why;
    const int64_t row = tl_order_check(&t->order, c, rows, &with, &why);
    if (row == rows) return TALLY_OK;
    const tl_want *w = t->layout.want;
    while (w->role != TL_TIME) w++;
    const char *p = c->start + c->lines[row].at, *const end = p + c->lines[row].length, *s1 = p,
               *e1 = end;
    for (int64_t k = 0; k <= w->column; k++)
        p = tl_field(p + (k && t->layout.delimiter), end, &t->layout, &s1, &e1);
    c->count = row * t->layout.columns;
    c->bad = s1;
    c->bad_end = e1 ? e1 : end;
    c->why = why;
    note(t, c, 0);
    tl_time_show(t->order.frame, with, t->bad.other, sizeof t->bad.other);
    t->chunks_n = i + 1;

    return TALLY_OK;
}

/* Parses chunk i of the block. */
static void parse_chunk(void *data, int64_t i)
{
    const tally_file *f = data;
    tl_text *const t = f->text;
    const tally_dtype dtype = f->info.dtype;
    tl_chunk *const c = &t->chunks[i];
    const size_t from = (size_t)(c->start - t->buf);

    c->values = t->stage + (from / t->a_value + (size_t)i) * tally_dtype_size(dtype);
    c->lines = f->keeps || t->times ? t->spans + from / 2 + i : NULL;
    c->times = t->times ? t->times + from / 2 + i : NULL;

    if (f->keys) {
        c->keys = t->cells + (from / 2 + (size_t)i) * (size_t)t->layout.keys;
        c->codes = t->codes + from / 2 + i;
    }

    tl_cells(c, &t->layout, dtype);
    if (f->keys) tl_keys_find(f->keys, c, c->count / t->layout.columns);
}

/* Moves past the last block. mid_line: more than blanks of the line was parsed. */
static void leave_block(tl_text *t)
{
    const char *nl = t->buf + t->end;

    while (nl > t->buf && nl[-1] != '\n') nl--;
    t->col = nl > t->buf ? t->buf + t->end - nl : t->col + (int64_t)t->end;
    if (nl > t->buf) t->mid_line = 0;
    while (nl < t->buf + t->end && tl_is_blank(*nl)) nl++;
    t->mid_line |= nl < t->buf + t->end;
    t->line += tl_count(t->buf, t->end, '\n');
    for (int i = 0; i < t->chunks_n; i++) t->begun |= t->chunks[i].count > 0;
    memmove(t->buf, t->buf + t->end, t->n - t->end);
    t->n -= t->end;
    t->end = 0;
    t->chunks_n = t->now = t->line_chunk = 0;
    t->line_row = 0;
}

/* Reads and parses the next block. */
static tally_status block(tally_file *f)
{
    tl_text *const t = f->text;
    leave_block(t);
    while (t->end == 0) {
        if (t->n >= t->capacity) {
            if (t->capacity >= TL_LONGEST) {
                t->bad = (tl_bad){.why = TL_CELL_LONG, .line = t->line + 1, .col = t->col + 1};
                return TALLY_OK;
            }

            TL_TRY(reserve(f, t->capacity < TL_LONGEST / 2 ? 2 * t->capacity : TL_LONGEST));
        }

        if (fill(f) != 0) return tl_input_failed(f);
        if (t->eof && t->n == 0) return TALLY_OK;
        cut(t);
    }

    f->info.bytes_read = f->pos;
    const int k = t->chunks_n;
    tl_for(t->threads, k, parse_chunk, f);
    t->in_comment = t->chunks[k - 1].in_comment;
    int first = !t->begun && t->header_guessed;

    for (int i = 0; i < k; i++) {
        f->info.skipped += t->chunks[i].skipped;
        f->info.comments += t->chunks[i].comments;
        same_frame(t, &t->chunks[i]);
        first &= t->chunks[i].count == 0;
        if (!t->chunks[i].bad) continue;
        note(t, &t->chunks[i], first);
        t->chunks_n = i + 1;
        break;
    }

    tally_status s = TALLY_OK;

    for (int i = 0; i < t->chunks_n && !s; i++) {
        if (f->keys)
            s = tl_keys_settle(f, f->keys, &t->chunks[i], t->chunks[i].count / t->layout.columns);
        if (t->times && !s) s = in_order(f, i);
    }

    f->info.times = tl_time_kind(t->order.frame);
    return s;
}

tally_dtype tl_text_times(const tally_file *f)
{
    return f->text && f->text->layout.times ? tl_order_dtype(&f->text->order) : 0;
}

tally_status tl_text_read(tally_file *f, void *buffer, int32_t *codes, tally_line_time *times,
                          int64_t max, int64_t *got)
{
    assert(max >= 0 && f->text);
    tl_text *const t = f->text;
    const size_t size = tally_dtype_size(f->info.dtype);
    const int64_t columns = t->layout.columns;
    int64_t n = 0;

    for (;;) {
        for (; t->now < t->chunks_n && n < max; t->now++) {
            tl_chunk *const c = &t->chunks[t->now];
            const int64_t left = c->count - c->given, take = left < max - n ? left : max - n;
            if (take)
                memcpy((unsigned char *)buffer + (size_t)n * size,
                       c->values + (size_t)c->given * size, (size_t)take * size);
            if (codes)
                memcpy(codes + n / columns, c->codes + c->given / columns,
                       (size_t)(take / columns) * sizeof *codes);
            for (int64_t i = 0; times && i < take / columns; i++)
                times[n / columns + i] =
                    tl_time_give(t->order.frame, c->times[c->given / columns + i]);
            c->given += take;
            n += take;
            if (c->given < c->count) break;
        }

        *got = n;
        if (n == max || (n && (!f->regular || f->keeps || t->times)))
            /* the next block would overwrite the lines, and its times may have another type */
            return TALLY_OK;

        /* the values before the bad cell come first */
        if (t->bad.why) return n ? TALLY_OK : tl_bad_cell(f, &t->bad, &t->layout);
        if (t->eof && t->end == t->n) return TALLY_OK;
        TL_TRY(block(f));
    }
}

tally_status tally_file_line(tally_file *f, const char **line, size_t *length)
{
    if (!f || !line || !length)
        return tl_invalid(f ? f->ctx : NULL, "%s is NULL", !f ? "file" : !line ? "line" : "length");
    if (!f->keeps) return tl_invalid_on(f, "lines were not asked for (options.keep)");
    tl_text *const t = f->text;
    *line = NULL;
    *length = 0;
    for (; t->line_chunk < t->chunks_n; t->line_chunk++, t->line_row = 0) {
        const tl_chunk *const c = &t->chunks[t->line_chunk];
        if (t->line_row == c->given / t->layout.columns) {
            if (c->given < c->count) break;
            continue;
        }

        const tl_span *const span = &c->lines[t->line_row++];
        *line = c->start + span->at;
        *length = span->length;
        if (*length && (*line)[*length - 1] == '\r') --*length;
        break;
    }
    return TALLY_OK;
}

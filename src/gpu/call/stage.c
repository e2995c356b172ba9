/* SPDX-License-Identifier: MIT
 * Moves pieces from the caller's memory through page-locked blocks to the device and back
 * (pieces.h). A piece crosses in `steps` parts of at most STAGE_BYTES. Step k of piece j moves part
 * k of piece j in and part k of piece j - 2 out. Threads fill and empty the blocks. */
#include "context/threads.h"
#include "pieces.h"
#include <assert.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* 8 such blocks fit in a third-level cache of 64 MB */
static const int64_t STAGE_BYTES = 8 << 20;

/* ---- sides ---- */

static void open_side(tl_gpu_device *d, tl_side *s, const tally_view *v, int64_t bytes)
{
    int64_t low, high;

    *s = (tl_side){.view = *v, .bytes = bytes, .across = tl_is_across(v)};
    tl_view_extent(v, bytes, &low, &high);
    if (high <= low) return;
    const char *from = tl_offset(v->data, low);
    s->here = tl_gpu_holds(d, from);
    int dense = v->stride == 1 && (v->offsets || v->rows == 1 || v->row_stride == v->n);
    s->straight = !s->here && dense && d->gpu->calls->locked &&
                  d->gpu->calls->locked(d->gpu, from, (size_t)(high - low));
}

void tl_pipe_open(tl_pipe *p, tl_gpu_device *d, const tally_view *in, int64_t in_bytes,
                  const tally_view *out, int64_t out_bytes)
{
    p->d = d;
    open_side(d, &p->in, in, in_bytes);
    open_side(d, &p->out, out, out_bytes);
}

static int64_t side_count(const tl_side *s, const tl_rect *r)
{
    const int64_t *o = s->view.offsets;
    return o ? o[r->r1] - o[r->r0] : (r->r1 - r->r0) * (r->i1 - r->i0);
}

/* Address of a rectangle's element (r0, i0) in the caller's memory. */
static char *side_corner(const tl_side *s, const tl_rect *r)
{
    const tally_view *v = &s->view;
    int64_t at =
        v->offsets ? v->offsets[r->r0] * v->stride : r->r0 * v->row_stride + r->i0 * v->stride;
    return tl_offset(v->data, at * s->bytes);
}

/* Returns a rectangle as a view of device memory: in place, or its copy in a buffer. */
static tally_view device_view(const tl_side *s, const tl_rect *r, int slot)
{
    tally_view v = s->view;
    int64_t first = v.offsets ? v.offsets[r->r0] : 0, rows = r->r1 - r->r0, n = r->i1 - r->i0;

    if (v.offsets)
        v.offsets += r->r0;
    else
        v.n = n;

    v.rows = rows;
    if (s->here) {
        if (!v.offsets) v.data = side_corner(s, r);
        return v;
    }

    v.data = tl_offset((void *)(uintptr_t)s->buffer[slot].address, -first * s->bytes);
    v.row_stride = s->across ? 1 : n;
    v.stride = s->across ? rows : 1;

    return v;
}

/* ---- copies between the caller's memory and page-locked blocks, by threads; packed, so only
 * elements cross the bus ---- */

enum { COPY_PARALLEL = 128 << 10 }; /* min bytes to use several threads */

/* A copy: elements e0 to e1 - 1 of a rectangle, in the order of its copy on the device, to or from
 * a block. e0 = e1: nothing. */
typedef struct {
    const tl_side *side;
    tl_rect rect;
    int64_t e0, e1;
    char *block;
    enum { TO_BLOCK, FROM_BLOCK } way;
} side_copy;

/* memcpy to memory that is not read soon: streaming stores need not read the lines before they
 * write them. */
static void copy_past(char *to, const char *from, int64_t bytes)
{
#ifdef __SSE2__
    int64_t head = (int64_t)(-(uintptr_t)to & 63);
    if (bytes >= head + 4096) {
        memcpy(to, from, (size_t)head);
        for (to += head, from += head, bytes -= head; bytes >= 64;
             to += 64, from += 64, bytes -= 64)
            for (int i = 0; i < 64; i += 16)
                _mm_stream_si128((__m128i *)(void *)(to + i),
                                 _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
        _mm_sfence();
    }
#endif
    memcpy(to, from, (size_t)bytes);
}

/* Copies elements e0 to e1 - 1 of the rectangle. */
static void copy_share(const side_copy *h, int64_t e0, int64_t e1)
{
    const tl_side *s = h->side;
    const tally_view *v = &s->view;
    int64_t inner = h->rect.i1 - h->rect.i0, inner_stride = v->stride, outer_stride = v->row_stride;
    char *from = side_corner(s, &h->rect);

    if (v->offsets) {
        inner = side_count(s, &h->rect);
    } else if (s->across) {
        inner = h->rect.r1 - h->rect.r0;
        inner_stride = v->row_stride;
        outer_stride = v->stride;
    }

    for (int64_t m; e0 < e1; e0 += m) {
        int64_t o = e0 / inner, k = e0 - o * inner;
        m = inner_stride == 1 && (v->offsets || outer_stride == inner) ? e1 - e0 : inner - k;
        m = tl_min(m, e1 - e0);
        char *theirs = from + (o * outer_stride + k * inner_stride) * s->bytes,
             *ours = h->block + (e0 - h->e0) * s->bytes;

        if (h->way == FROM_BLOCK && inner_stride == 1)
            copy_past(theirs, ours, m * s->bytes);
        else if (h->way == FROM_BLOCK)
            tl_copy_strided(theirs, inner_stride, ours, 1, m, s->bytes);
        else
            tl_copy_strided(ours, 1, theirs, inner_stride, m, s->bytes);
    }
}

typedef struct {
    const side_copy *in, *out;
    int parts; /* for each direction */
} copy_work;

static void copy_part(void *data, int64_t i)
{
    const copy_work *w = data;
    const side_copy *h = i < w->parts ? w->in : w->out;
    const int64_t k = i % w->parts, n = h->e1 - h->e0;
    if (n) copy_share(h, h->e0 + n * k / w->parts, h->e0 + n * (k + 1) / w->parts);
}

static int64_t bytes_of(const side_copy *h)
{
    return h->side ? (h->e1 - h->e0) * h->side->bytes : 0;
}

/* Does both copies with all threads. */
static void copy_both(int threads, const side_copy *in, const side_copy *out)
{
    copy_work all = {in, out, bytes_of(in) + bytes_of(out) < COPY_PARALLEL ? 1 : threads};
    tl_for(all.parts, 2 * all.parts, copy_part, &all);
}

tally_status tl_stage_reserve(tl_gpu_device *d, tl_memory *m, size_t bytes)
{
    if (m->bytes >= bytes) return TALLY_OK;
    if (m->bytes) d->gpu->calls->unlock(d->gpu, m);
    return d->gpu->calls->lock(d->gpu, d->ctx, bytes, m);
}

static int staged(const tl_side *s) { return !s->here && !s->straight; }

/* True if both sides are device memory: then the lanes of copies have no work. */
static int is_in_place(const tl_pipe *p) { return p->in.here && p->out.here; }

/* Parts of a side's pieces. */
static int64_t parts_of(const tl_side *s)
{
    return staged(s) ? (s->most * s->bytes + STAGE_BYTES - 1) / STAGE_BYTES : 1;
}

static tally_status take_side(tl_pipe *p, tl_side *s, tl_memory *stage, int64_t steps)
{
    size_t part = (size_t)((s->most / steps + 1) * s->bytes);
    for (int i = 0; i < TL_STAGES && staged(s); i++)
        TL_TRY(tl_stage_reserve(p->d, &stage[i], part));
    for (int i = 0; i < TL_RING && !s->here; i++)
        TL_TRY(tl_gpu_take(p->d, (size_t)(s->most * s->bytes), &s->buffer[i]));
    return TALLY_OK;
}

/* ---- how large pieces may be ---- */

enum {
    /* A buffer gets 1/16 of the memory: there are 6 buffers, and nodes, levels of windows and
     * tables. */
    BUFFER_SHARE = 16,
    BUDGET_LEAST = 1024 /* in bytes */
};

static const int64_t BUDGET_MOST = 32 << 20;

int64_t tl_pipe_budget(tl_gpu_device *d)
{
    size_t all = 0, largest = 0, pooled = 0;
    for (int i = 0; i < TL_GPU_POOL; i++) pooled += d->slot->pool[i].bytes;
    d->gpu->calls->free_memory(d->gpu, &all, &largest);
    all += pooled;
    if (d->limit && d->limit - (d->held - pooled) < all) all = d->limit - (d->held - pooled);
    int64_t budget = (int64_t)(all / BUFFER_SHARE);
    if (largest && budget > (int64_t)largest) budget = (int64_t)largest;
    return tl_clamp(budget, BUDGET_LEAST, BUDGET_MOST);
}

int tl_pipe_again(tally_status status, const tl_pipe *p, int64_t *budget)
{
    if (status != TALLY_NO_MEMORY || *budget < 2 * BUDGET_LEAST) return 0;
    /* in place, and some elements have been overwritten */
    if (p->wrote && p->in.view.data == p->out.view.data) return 0;
    *budget /= 2;
    return 1;
}

/* ---- the pipeline ---- */

/* PIECES_BEHIND: the results of piece j - 2 are emptied while piece j comes in. PARTS: pieces to
 * remember. */
enum { PIECES_BEHIND = 2, PARTS = 4 };

typedef struct {
    tl_pipe *pipe;
    tl_gpu_device *d;
    /* steps: parts of a piece; blocks: blocks for results, at most `steps`, so that they only hold
     * results of kernels that have been issued */
    int64_t steps, blocks;
    int64_t pieces; /* number of pieces, once it is known */
    int64_t loads;  /* parts that have come in */
    tl_pipe_piece part[PARTS];
    int threads;
} run;

/* Part k of a rectangle. */
static side_copy part_of(const run *r, const tl_side *s, const tl_rect *rect, int64_t k,
                         tl_memory *block)
{
    int64_t count = side_count(s, rect);
    assert(count <= s->most && k >= 0 && k < r->steps);
    return (side_copy){.side = s,
                       .rect = *rect,
                       .e0 = (int64_t)((__int128)count * k / r->steps),
                       .e1 = (int64_t)((__int128)count * (k + 1) / r->steps),
                       .block = (char *)(uintptr_t)block->address,
                       .way = s == &r->pipe->in ? TO_BLOCK : FROM_BLOCK};
}

/* Copies in lane TL_IN or TL_OUT between host memory and byte `offset` of a buffer. */
static tally_status transfer(const run *r, int lane, const tl_memory *buffer, int64_t offset,
                             void *host, int64_t bytes)
{
    const tl_copy copy = {.lane = lane,
                          .way = lane == TL_IN ? TL_TO_DEVICE : TL_TO_HOST,
                          .memory = buffer,
                          .offset = (size_t)offset,
                          .host = host,
                          .bytes = (size_t)bytes};
    return tl_gpu_transfer(r->d, &copy);
}

/* Offset of the kept results among those that the kernels compute, in elements of the copy on the
 * device. */
static int64_t kept_from(const tl_side *s, const tl_pipe_piece *part)
{
    return (part->out.i0 - part->produced.i0) * (s->across ? part->out.r1 - part->out.r0 : 1);
}

/* Issues the copy of part number q of all results to its block. */
static tally_status issue_results(run *r, int64_t q)
{
    const tl_side *s = &r->pipe->out;
    int64_t j = q / r->steps, k = q % r->steps, block = q % r->blocks;
    const tl_pipe_piece *part = &r->part[j % PARTS];
    tl_memory *to = &r->d->stage[TL_STAGES + block];
    side_copy h = part_of(r, s, &part->out, k, to);

    if (!k) TL_TRY(tl_follow(r->d, TL_OUT, TL_DONE + (int)(j % TL_RING)));
    TL_TRY(transfer(r, TL_OUT, &s->buffer[j % TL_RING], (kept_from(s, part) + h.e0) * s->bytes,
                    h.block, (h.e1 - h.e0) * s->bytes));
    TL_TRY(tl_mark(r->d, TL_OUT, TL_STAGED_OUT + (int)block));
    if (k == r->steps - 1) TL_TRY(tl_mark(r->d, TL_OUT, TL_STORED + (int)(j % TL_RING)));

    return TALLY_OK;
}

/* Moves part k of piece j in (if there is such a piece), and part k of piece j - PIECES_BEHIND
 * out. */
static tally_status step(run *r, int64_t j, int64_t k)
{
    tl_pipe *p = r->pipe;
    tl_memory *stage = p->d->stage;
    side_copy in = {0}, out = {0};
    int block = (int)(r->loads % TL_STAGES);

    int comes = j < r->pieces && staged(&p->in), goes = j >= PIECES_BEHIND && staged(&p->out);
    if (comes) {
        in = part_of(r, &p->in, &r->part[j % PARTS].in, k, &stage[block]);
        TL_TRY(tl_reached(r->d, TL_STAGED_IN + block));
    }

    if (goes) {
        int64_t from = ((j - PIECES_BEHIND) * r->steps + k) % r->blocks;
        out = part_of(r, &p->out, &r->part[(j - PIECES_BEHIND) % PARTS].out, k,
                      &stage[TL_STAGES + from]);
        p->wrote = 1;
        TL_TRY(tl_reached(r->d, TL_STAGED_OUT + (int)from));
    }

    copy_both(r->threads, &in, &out);

    if (comes) {
        r->loads++;
        TL_TRY(transfer(r, TL_IN, &p->in.buffer[j % TL_RING], in.e0 * p->in.bytes, in.block,
                        (in.e1 - in.e0) * p->in.bytes));
        TL_TRY(tl_mark(r->d, TL_IN, TL_STAGED_IN + block));
    }

    int64_t q = (j - PIECES_BEHIND) * r->steps + k + r->blocks;
    const int issues = staged(&p->out) && q >= 0 && q / r->steps < r->pieces && q / r->steps < j;
    return issues ? issue_results(r, q) : TALLY_OK;
}

/* Issues the kernels of piece j, after its elements and before its results. */
static tally_status issue(run *r, int64_t j)
{
    tl_pipe *p = r->pipe;
    const tl_pipe_piece *part = &r->part[j % PARTS];
    int slot = (int)(j % TL_RING);

    if (!p->in.here) {
        TL_TRY(tl_mark(r->d, TL_IN, TL_LOADED + slot));
        TL_TRY(tl_follow(r->d, TL_RUN, TL_LOADED + slot));
    }

    if (!p->out.here && j >= TL_RING) TL_TRY(tl_follow(r->d, TL_RUN, TL_STORED + slot));

    tally_view in = device_view(&p->in, &part->in, slot),
               out = device_view(&p->out, &part->produced, slot);
    TL_TRY(p->work(p, part, &in, &out, slot));
    if (!is_in_place(p)) TL_TRY(tl_mark(r->d, TL_RUN, TL_DONE + slot));
    if (!p->out.straight) return TALLY_OK;

    p->wrote = 1;
    TL_TRY(tl_follow(r->d, TL_OUT, TL_DONE + slot));
    TL_TRY(transfer(r, TL_OUT, &p->out.buffer[slot], kept_from(&p->out, part) * p->out.bytes,
                    side_corner(&p->out, &part->out),
                    side_count(&p->out, &part->out) * p->out.bytes));
    return tl_mark(r->d, TL_OUT, TL_STORED + slot);
}

static tally_status run_pieces(run *r)
{
    tl_pipe *p = r->pipe;
    if (!is_in_place(p)) { /* wait for earlier users of the buffers */
        TL_TRY(tl_mark(r->d, TL_RUN, TL_START));
        TL_TRY(tl_follow(r->d, TL_IN, TL_START));
        TL_TRY(tl_follow(r->d, TL_OUT, TL_START));
    }

    for (int64_t j = 0;; j++) {
        if (j < r->pieces && !p->next(p, &r->part[j % PARTS])) r->pieces = j;
        if (j >= r->pieces && (!staged(&p->out) || j >= r->pieces + PIECES_BEHIND)) return TALLY_OK;
        if (j < r->pieces && !p->in.here && j >= TL_RING)
            TL_TRY(tl_follow(r->d, TL_IN, TL_DONE + (int)(j % TL_RING)));
        if (j < r->pieces && p->in.straight) {
            const tl_rect *rect = &r->part[j % PARTS].in;
            TL_TRY(transfer(r, TL_IN, &p->in.buffer[j % TL_RING], 0, side_corner(&p->in, rect),
                            side_count(&p->in, rect) * p->in.bytes));
        }

        for (int64_t k = 0; k < r->steps; k++) TL_TRY(step(r, j, k));
        if (j < r->pieces) TL_TRY(issue(r, j));
    }
}

tally_status tl_pipe_run(tl_pipe *p)
{
    tl_gpu_device *d = p->d;
    run r = {.pipe = p, .d = d, .pieces = INT64_MAX};
    int64_t in = parts_of(&p->in), out = parts_of(&p->out);

    r.steps = tl_max(tl_max(in, out), 1);
    p->wrote = 0;
    r.blocks = tl_min(r.steps, TL_STAGES);
    assert(r.blocks > 0 && d->base.threads > 0);
    r.threads = d->base.threads;
    tally_status status = take_side(p, &p->in, d->stage, r.steps);
    if (!status) status = take_side(p, &p->out, d->stage + TL_STAGES, r.steps);
    if (!status) status = run_pieces(&r);

    /* keep the message of the first failure */
    const tl_gpu_calls *const c = d->gpu->calls;
    tally_status waited = (is_in_place(p) ? c->wait : c->quiet)(d->gpu, status ? NULL : d->ctx);
    if (!status) status = waited;

    for (int i = 0; i < TL_RING; i++) {
        tl_gpu_give(d, &p->in.buffer[i]);
        tl_gpu_give(d, &p->out.buffer[i]);
    }

    d->host = 0;
    return status;
}

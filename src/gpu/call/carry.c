/* SPDX-License-Identifier: MIT
 * Copies between the caller's memory and page-locked blocks, by the processors' threads. Elements
 * that are not dense are packed, so only elements cross the bus. */
#include "context/threads.h"
#include "pieces.h"
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { COPY_PARALLEL = 128 << 10 }; /* min bytes to use several threads */

int64_t tl_side_count(const tl_side *s, const tl_rect *r)
{
    const int64_t *o = s->view.offsets;
    return o ? o[r->r1] - o[r->r0] : (r->r1 - r->r0) * (r->i1 - r->i0);
}

char *tl_side_corner(const tl_side *s, const tl_rect *r)
{
    const tally_view *v = &s->view;
    int64_t at =
        v->offsets ? v->offsets[r->r0] * v->stride : r->r0 * v->row_stride + r->i0 * v->stride;
    return tl_offset(v->data, at * s->bytes);
}

/* memcpy to memory that is not read soon. Streaming stores bypass the caches, so the lines need not
 * be read before they are written. */
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

static void carry(const tl_haul *h, int64_t e0, int64_t e1)
{
    const tl_side *s = h->side;
    const tally_view *v = &s->view;
    int64_t inner = h->rect.i1 - h->rect.i0, inner_stride = v->stride, outer_stride = v->row_stride;
    char *from = tl_side_corner(s, &h->rect);

    if (v->offsets) {
        inner = tl_side_count(s, &h->rect);
    } else if (s->across) {
        inner = h->rect.r1 - h->rect.r0;
        inner_stride = v->row_stride;
        outer_stride = v->stride;
    }

    for (int64_t m; e0 < e1; e0 += m) {
        int64_t o = e0 / inner, k = e0 - o * inner;
        m = inner_stride == 1 && (v->offsets || outer_stride == inner) ? e1 - e0 : inner - k;
        if (m > e1 - e0) m = e1 - e0;
        char *theirs = from + (o * outer_stride + k * inner_stride) * s->bytes,
             *ours = h->block + (e0 - h->e0) * s->bytes;

        if (h->way == TL_FROM_BLOCK && inner_stride == 1)
            copy_past(theirs, ours, m * s->bytes);
        else if (h->way == TL_FROM_BLOCK)
            tl_copy_strided(theirs, inner_stride, ours, 1, m, s->bytes);
        else
            tl_copy_strided(ours, 1, theirs, inner_stride, m, s->bytes);
    }
}

static int64_t share_of(const tl_haul *h, int i, int of)
{
    return h->e0 + (int64_t)((__int128)(h->e1 - h->e0) * i / of);
}

typedef struct {
    const tl_haul *in, *out;
    int parts; /* for each direction */
} carry_work;

static void carry_part(void *data, int64_t i)
{
    const carry_work *w = data;
    const tl_haul *h = i < w->parts ? w->in : w->out;
    const int at = (int)(i % w->parts);
    if (h->e0 < h->e1) carry(h, share_of(h, at, w->parts), share_of(h, at + 1, w->parts));
}

void tl_carry(int threads, const tl_haul *in, const tl_haul *out)
{
    int64_t bytes = (in->e1 - in->e0) * (in->e0 < in->e1 ? in->side->bytes : 0) +
                    (out->e1 - out->e0) * (out->e0 < out->e1 ? out->side->bytes : 0);
    if (threads == 1 || bytes < COPY_PARALLEL) {
        if (in->e0 < in->e1) carry(in, in->e0, in->e1);
        if (out->e0 < out->e1) carry(out, out->e0, out->e1);
        return;
    }
    carry_work all = {in, out, threads};
    tl_for(threads, 2 * threads, carry_part, &all);
}

/* SPDX-License-Identifier: MIT
 * Windows of their whole length w. A thread holds quads of four neighbouring items: Y_1 and Y_2 of a quad need its right
 * neighbour only, and from level 2 on a level is one store and one load of a quad:
 *
 *   Y_0 in local memory -> own quad, next quad -> Y_1, Y_2 in registers
 *   level k >= 2:  store Y_k, barrier, load the quad 2^k items to the right, Y_(k+1) in registers
 *   w's set bits:  Y_k stays in an array of its own (the highest one in registers); the others change between two arrays
 *
 * The result at item i is the fold of Y_k[i + higher bits of w], high to low. Tiles begin where results are aligned for quads, so
 * loads are single elements, side by side. */
enum { WHOLE = 1 << WHOLE_LOG, WHOLE_QUADS = WHOLE / QUAD, MINE = WHOLE_QUADS / WINDOW_THREADS };

#define FOUR_LOW_BIT(bytes) ((bytes) & -(bytes))
#define FOUR_ALIGN (FOUR_LOW_BIT(4 * sizeof(state)) > 16 ? 16 : FOUR_LOW_BIT(4 * sizeof(state)))
typedef struct ALIGNED(FOUR_ALIGN) {
    state s[QUAD];
} four;

fn int within(int quad_) { return quad_ < WHOLE_QUADS ? quad_ : WHOLE_QUADS - 1; } /* what lies beyond is in no result */

/* Y_0: items lo + i of a sequence of n, for 0 <= i < count; those outside of it are in no result either. */
fn void load_whole(LOCAL state *z, batch b, tile t, i64 lo, int count)
{
    GLOBAL const u8 *x = b.x + (start_of(b, t.s) + lo * b.stride) * TL_SIZE;
    const int before = lo < 0 ? (int)-lo : 0, beyond = lo + count > t.n ? (int)(t.n - lo) : count;
    if (b.stride == 1 && ADDRESS(x) % TL_SIZE == 0) {
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++)
        {
            int i = k * WINDOW_THREADS + thread_index();
            if (i >= before && i < beyond) z[i] = lift(((GLOBAL const elem *)x)[i], lo + i, b.p);
        }
    } else {
        for (int i = before + thread_index(); i < beyond; i += WINDOW_THREADS)
            z[i] = lift(load_element(x + i * b.stride * TL_SIZE), lo + i, b.p);
    }
}

fn void store_whole(results out, batch b, tile t, i64 j, i64 start, i64 w, i64 least, i64 edges, const four *v)
{
    GLOBAL u8 *at = place(out, b, t.s, j);
#if OP_LANES == 1
    if (t.inside && out.stride == 1 && j + QUAD <= t.j1 && w >= least && ADDRESS(at) % QUAD_OUT_ALIGN == 0) {
        result_quad r;
        r.x = lower(v->s[0], (real)w, start, b.p), r.y = lower(v->s[1], (real)w, start + 1, b.p);
        r.z = lower(v->s[2], (real)w, start + 2, b.p), r.w = lower(v->s[3], (real)w, start + 3, b.p);
        *(GLOBAL result_quad *)at = r;
        return;
    }
#endif
    UNROLL for (int c = 0; c < QUAD; c++)
    {
        maybe m;
        m.s = v->s[c];
        int whole = start + c >= 0 && start + c + w <= t.n;
        m.have = whole && w >= least;
        if (j + c < t.j1 && (whole || !edges)) store_maybe(at + c * out.stride * (i64)(OP_LANES * sizeof(result)), m, w, start + c, b.p);
    }
}

/* top: the highest bit of w; each: results a tile, a multiple of 4; edges: another launch has the windows that are not
 * whole, else they get the empty value. Room: one array of WHOLE states for each set bit but the highest, and up to two. */
KERNEL(window_whole, 256)
(BATCH_PARAMETERS, RESULTS_PARAMETERS, WINDOW_PARAMETERS, i64 tiles, i64 jobs, i64 each, i64 edges, i64 top_, i64 kept_ ROOM_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    LOCAL four *z = (LOCAL four *)ROOM_OF_PARAMETER;
    const int w = (int)(before + after + 1), top = (int)top_, kept = (int)kept_;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        tile t = tile_of(b, job, before, after, valid, tiles, each);
        const i64 lo = valid ? t.j0 : t.j0 - before;
        LOCAL four *y0 = z + (w & 1 && top ? 0 : kept) * WHOLE_QUADS;
        four y[MINE];
        load_whole((LOCAL state *)y0, b, t, lo, (int)(t.j1 - t.j0) + w - 1);
        BARRIER();
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = m * WINDOW_THREADS + thread_index();
            y[m] = y0[q];
            if (top) {
                four right = y0[within(q + 1)];
                state one = TWIN(right.s[0], right.s[1]), two = TWIN(right.s[1], right.s[2]);
                UNROLL for (int c = 0; c < 3; c++) y[m].s[c] = TWIN(y[m].s[c], y[m].s[c + 1]);
                y[m].s[3] = TWIN(y[m].s[3], right.s[0]);
                if (top > 1) {
                    if (w & 2) z[(w & 1) * WHOLE_QUADS + q] = y[m];
                    y[m].s[0] = TWIN(y[m].s[0], y[m].s[2]), y[m].s[1] = TWIN(y[m].s[1], y[m].s[3]);
                    y[m].s[2] = TWIN(y[m].s[2], one), y[m].s[3] = TWIN(y[m].s[3], two);
                }
            }
        }
        int slot = (w & 1) + (w >> 1 & 1);
        for (int k = 2; k < top; k++) {
            LOCAL four *to = z + (w >> k & 1 ? slot++ : kept + !(k & 1)) * WHOLE_QUADS;
            UNROLL for (int m = 0; m < MINE; m++) to[m * WINDOW_THREADS + thread_index()] = y[m];
            BARRIER();
            UNROLL for (int m = 0; m < MINE; m++)
            {
                four right = to[within(m * WINDOW_THREADS + thread_index() + (1 << (k - 2)))];
                UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] = TWIN(y[m].s[c], right.s[c]);
            }
        }
        BARRIER();
        slot = kept;
        for (int k = top - 1; k >= 0; k--) {
            if ((w >> k & 1) == 0) continue;
            const int far = w >> (k + 1) << (k + 1);
            LOCAL four *from = z + --slot * WHOLE_QUADS;
            UNROLL for (int m = 0; m < MINE; m++)
            {
                const int q = m * WINDOW_THREADS + thread_index() + far / QUAD;
                four right = from[within(q)];
                if (far & 2) { /* level 0: half a quad further */
                    four next = from[within(q + 1)];
                    right.s[0] = right.s[2], right.s[1] = right.s[3], right.s[2] = next.s[0], right.s[3] = next.s[1];
                }
                UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] = combine(y[m].s[c], right.s[c]);
            }
        }
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = (m * WINDOW_THREADS + thread_index()) * QUAD;
            if (t.j0 + q < t.j1) store_whole(out, b, t, t.j0 + q, lo + q, w, least, edges, &y[m]);
        }
        BARRIER();
    }
}

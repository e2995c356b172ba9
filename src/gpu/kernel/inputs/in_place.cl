/* SPDX-License-Identifier: MIT
 * Elements of views with validity, or of two inputs, read in place: the loads of kernels that read
 * x, y and the bitmaps themselves, without prepared elements (prepare.cl). Both inputs have the
 * kernels' type and are contiguous, with the same row stride. If they are aligned to quads, and the
 * bits of a quad are in one byte, a lane loads quads, else single elements. */
typedef QUAD_OF(input, INPUT_BYTES * 4 > 16 ? 16 : INPUT_BYTES * 4) input_quad;

fn int quads_at(GLOBAL const u8 *p, i64 first)
{
    return ADDRESS(p + first * INPUT_BYTES) % sizeof(input_quad) == 0;
}

fn int can_load_e(batch b, i64 first)
{
#if TL_BITS
    if (((b.x_bit + first) | (b.y_bit + first)) & (QUAD - 1)) return 0;
#endif
    return quads_at(b.x, first) && (OP_INPUTS == 1 || quads_at(b.y, first));
}

/* Makes an element: x, or the pair. there: 0 if it is absent. */
fn elem make_element(input x, input y, int there, u64 left_out)
{
#if TL_BITS
    x = there ? quieted(x) : input_of_bits(left_out);
#endif
#if OP_INPUTS == 2
    elem e;
    e.x = x;
    e.y = TL_BITS ? quieted(y) : y;
    return e;
#else
    return x;
#endif
}

fn int bit_at(GLOBAL const u8 *bits, i64 bit) { return bits[bit >> 3] >> (bit & 7) & 1; }
fn elem element_at(batch b, i64 place)
{
    const input x = ((GLOBAL const input *)b.x)[place],
                y = OP_INPUTS == 2 ? ((GLOBAL const input *)b.y)[place] : x;
    int there = 1;
#if TL_BITS
    there = bit_at(b.x_there, b.x_bit + place);
    if (OP_INPUTS == 2) there &= bit_at(b.y_there, b.y_bit + place);
#endif
    return make_element(x, y, there, b.left_out);
}

/* What a lane has loaded of a row: its quad, and the bytes that have its bits. */
typedef struct {
    input_quad x;
#if OP_INPUTS == 2
    input_quad y;
#endif
#if TL_BITS
    u8 bits, y_bits;
#endif
} pending;

/* Loads `rows` rows; the first one begins at place `first`. */
fn void load_quads(pending *a, const int rows, batch b, i64 first)
{
    const i64 place = first + lane_index() * QUAD;
    GLOBAL const input_quad *x = (GLOBAL const input_quad *)(b.x + place * INPUT_BYTES);

    FOR(r, rows) a[r].x = x[r * LANES];
#if OP_INPUTS == 2
    GLOBAL const input_quad *y = (GLOBAL const input_quad *)(b.y + place * INPUT_BYTES);
    FOR(r, rows) a[r].y = y[r * LANES];
#endif
#if TL_BITS
    GLOBAL const u8 *bits = b.x_there + ((b.x_bit + place) >> 3);
    FOR(r, rows) a[r].bits = a[r].y_bits = bits[r * LANES * QUAD / 8];
#if OP_INPUTS == 2
    bits = b.y_there + ((b.y_bit + place) >> 3);
    FOR(r, rows) a[r].y_bits = bits[r * LANES * QUAD / 8];
#endif
#endif
}

fn void take(elem *e, pending a, batch b, i64 first)
{
    u32 there = 15;
#if TL_BITS
    const i64 place = first + lane_index() * QUAD;

    there = (u32)a.bits >> ((b.x_bit + place) & 7);
    if (OP_INPUTS == 2) there &= (u32)a.y_bits >> ((b.y_bit + place) & 7);
#endif
#if OP_INPUTS == 2
    const input_quad y = a.y;
#else
    const input_quad y = a.x;
#endif
    e[0] = make_element(a.x.x, y.x, there & 1, b.left_out),
    e[1] = make_element(a.x.y, y.y, there & 2, b.left_out);
    e[2] = make_element(a.x.z, y.z, there & 4, b.left_out),
    e[3] = make_element(a.x.w, y.w, there & 8, b.left_out);
}

/* Loads `rows` rows of a chunk from element `at` of a sequence on. Elements from `limit` on repeat
 * the last one. */
fn void load_rows(elem (*e)[QUAD], const int rows, batch b, i64 start, i64 at, i64 limit)
{
    if (at + rows * LANES * QUAD <= limit && can_load_e(b, start + at)) {
        pending a[8];
        load_quads(a, rows, b, start + at);
        FOR(r, rows) take(e[r], a[r], b, start + at);
    } else {
        FOR(r, rows) {
            const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
            if (limit <= 0) {
                FOR(k, QUAD) e[r][k] = NO_ELEMENT;
            } else if (!SKIPS || at + r * LANES * QUAD < limit) {
                FOR(k, QUAD) e[r][k] = element_at(b, start + (i + k < limit ? i + k : limit - 1));
            }
        }
    }
}
#define load_e(e, b, start, at, limit) load_rows(e, 8, b, start, at, limit)
#define load_h(e, b, start, at, limit) load_rows(e, 4, b, start, at, limit)
#define load_d(e, b, start, at, limit) load_rows(e, 2, b, start, at, limit)
#define load_r(e, b, start, at, limit) load_rows(e, 1, b, start, at, limit)

/* A chunk that is prefetched before it is folded (reduce.cl). */
typedef pending strip[8];

fn void load_dense(pending *a, batch b, i64 first) { load_quads(a, 8, b, first); }
fn void fold_dense(state *v, const pending *a, batch b, i64 from, i64 at)
{
    FOR(r, 8) {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        elem e[QUAD];
        take(e, a[r], b, from + at);
        v[r] = TWIN(TWIN(lift_e(e[0], i, b.p), lift_e(e[1], i + 1, b.p), 1),
                    TWIN(lift_e(e[2], i + 2, b.p), lift_e(e[3], i + 3, b.p), 1), 2);
    }
}

/* A warp copies `count` <= CHUNK elements from place `first` on to local memory. */
fn void stage_beside(LOCAL elem *to, batch b, i64 first, int count)
{
    enum { AT_A_TIME = 4, ROW = LANES * QUAD };
    int at = 0;
    if (can_load_e(b, first)) {
        for (; at + ROW <= count; at += AT_A_TIME * ROW) {
            pending a[AT_A_TIME];
            FOR(r, AT_A_TIME) {
                if (at + (r + 1) * ROW <= count) load_quads(&a[r], 1, b, first + at + r * ROW);
            }

            FOR(r, AT_A_TIME) {
                elem e[QUAD];
                quad q;
                if (at + (r + 1) * ROW > count) continue;
                take(e, a[r], b, first + at + r * ROW);
                q.x = e[0], q.y = e[1], q.z = e[2], q.w = e[3];
                ((LOCAL quad *)to)[(at + r * ROW) / QUAD + lane_index()] = q;
            }
        }

        at = count & -ROW;
    }

    for (at += lane_index(); at < count; at += LANES) to[at] = element_at(b, first + at);
}

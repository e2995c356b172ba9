/* SPDX-License-Identifier: MIT
 * A warp folds one chunk: ROWS rows of 32 lanes of LANE_ITEMS items, contiguous. gpu/program.c
 * includes this text several times, with N(x) for names: for elements (x_e, ITEM elem, 8 rows of
 * 128; x_h, x_d and x_r with 4, 2 and 1 rows), for states that are nodes of the level below (x_s,
 * ITEM state, 2 rows), and without ITEM, the first part alone, for chunks of packs (x_w,
 * reduce.cl).
 * unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* Folds across lanes. Before: v[r] is the lane's node of row r. After: v[0] is the node of one full
 * row, whose number is the low LOG_ROWS bits of the lane, in reverse order. A transposing
 * butterfly: at step s, the lane whose bit s is 0 keeps row j and sends row j + m; its partner does
 * the reverse. So ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 * ROWS. */
fn void N(fold_across)(state *v, amount unit, LOCAL state *box)
{
    const int lane = lane_index();
    FOR(s, LOG_ROWS) {
        const int m = ROWS >> (s + 1), right = lane >> s & 1;
        FOR(j, m) {
            state got = exchange(choose(right, v[j], v[j + m]), 1 << s, box);
            v[j] = meet(choose(right, v[j + m], v[j]), got, right, unit * (LANE_ITEMS << s));
        }
    }
    UNROLL for (int s = LOG_ROWS; s < 5; s++) v[0] =
        meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1, unit * (LANE_ITEMS << s));
}

/* Returns the node of a full chunk, in every lane, from the rows that fold_across made. Bit s of
 * the lane is bit LOG_ROWS - 1 - s of the number of its row. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--) v = meet(
        v, exchange(v, 1 << s, box), lane_index() >> s & 1, unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r] = the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    FOR(r, ROWS) {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] =
            TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
                 TWIN(N(lift)(e[r][2], i + 2, b.p), N(lift)(e[r][3], i + 3, b.p), unit), 2 * unit);
    }
}

fn void N(fold_rows)(state *v, batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    ITEM e[ROWS][QUAD];
    N(load)(e, b, from, at, at + N(CHUNK));
    N(fold_quads)(v, e, b, at, unit);
    N(fold_across)(v, unit, box);
}

fn state N(chunk_node)(batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    state v[ROWS];
    N(fold_rows)(v, b, from, at, unit, box);
    return N(fold_lanes)(v[0], unit, box);
}

/* Returns the node of a row. v: the lane's node, of n elements. left[k]: what the lane's partner at
 * bit k had at step k, for row_start. */
fn state N(row_node)(state v, amount n, state *left, LOCAL state *box)
{
    const int lane = lane_index();
    FOR(k, 5) {
        left[k] = exchange(v, 1 << k, box);
        v = meet(v, left[k], lane >> k & 1, n * (1 << k));
    }
    return v;
}

/* Returns the prefix S at the lane's first item: the row's prefix (`row`, of `before` elements),
 * then the left partners at the lane's set bits, from high to low. n: elements of a lane. */
fn maybe N(row_start)(maybe row, amount before, amount n, const state *left)
{
    const int lane = lane_index();
    UNROLL for (int k = 4; k >= 0; k--)
    {
        maybe with = then(row, left[k], before + n * (lane & -(2 << k)), n * (1 << k));
        int take = lane >> k & 1;
        row.s = choose(take, with.s, row.s);
        row.exists = take ? 1 : row.exists;
    }
    return row;
}

/* The next row's prefix. r = 0, 1, 2, ...; node: of row r, of n elements. Then rows[r + 1] is the
 * prefix S at row r + 1. rows[0] is given, and has `before` elements. */
fn void N(next_row)(maybe *rows, state *stack, int r, state node, amount before, amount n)
{
    FOR(k, LOG_ROWS) {
        if (((r >> k) & 1) == 0) {
            stack[k] = node;
            rows[r + 1] = then(rows[(r + 1) & r], node, before + n * ((r + 1) & r), n * (1 << k));
            return;
        }
        node = TWIN(stack[k], node, n * (1 << k));
    }
    rows[r + 1] = then(rows[0], node, before, n * (1 << LOG_ROWS));
}

/* Returns the prefix S at item `count` of the chunk that begins at `at` (0 <= count < CHUNK), in
 * every lane. before: the prefix at the chunk, of `done` elements. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count,
                          amount unit, LOCAL state *box)
{
    maybe rows[ROWS + 1], prefix = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD),
              rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;

    N(load)(e, b, from, at, at + count);
    rows[0] = before;

    FOR(r, ROWS) {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), quad_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p),
              q2 = N(lift)(e[r][2], i + 2, b.p);
        state q3 = N(lift)(e[r][3], i + 3, b.p), two = TWIN(q0, q1, unit);
        state node = N(row_node)(TWIN(two, TWIN(q2, q3, unit), 2 * unit), QUAD * unit, left, box);

        if (r == last) {
            maybe start = N(row_start)(rows[r], row, QUAD * unit, left);
            maybe with = then(start, two, quad_done, 2 * unit);
            if (rest & 2) start = with;
            with = then(start, choose(rest & 2, q2, q0), quad_done + unit * (rest & 2), unit);
            if (rest & 1) start = with;
            prefix = start;
        } else {
            N(next_row)(rows, stack, r, node, done, N(ROW) * unit);
        }
    }

    if (SKIPS && rest == 0) {
    } else {
        prefix.s = from_lane(prefix.s, rest / QUAD, box);
        prefix.exists = 1;
    }

    if (rest) return prefix;
    FOR(r, ROWS) {
        if (r == last) before = rows[r];
    }

    return before;
}

#endif

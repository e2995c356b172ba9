/* SPDX-License-Identifier: MIT
 * One warp, one chunk of ROWS rows of 128 items: 4 a lane, next to each other, 32 lanes a row. The text is used twice, for
 * elements (N(x) = e_x) and for states that are nodes of the level below (s_x). In: N, ROWS, LOG_ROWS, and
 *
 *   N(items)(v, b, from, i, limit)    states of items i .. i + 3 of the sequence that starts at `from`
 */
enum { N(CHUNK) = ROWS * LANES * QUAD };

/* The node of a full chunk, in every lane. Rows are folded by a transposing butterfly: at step s the lane whose bit s is 0
 * keeps row j and gives row j + m away, its partner the reverse, so ROWS rows cost ROWS - 1 + 5 exchanges, not 5 ROWS. */
fn state N(chunk_node)(batch b, i64 from, i64 at, LOCAL state *box)
{
    const int lane = lane_index();
    state v[ROWS];
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        state q[QUAD];
        N(items)(q, b, from, at + r * LANES * QUAD + lane * QUAD, at + N(CHUNK));
        v[r] = TWIN(TWIN(q[0], q[1]), TWIN(q[2], q[3]));
    }
    UNROLL for (int s = 0; s < LOG_ROWS; s++)
    {
        const int m = ROWS >> (s + 1), right = lane >> s & 1;
        UNROLL for (int j = 0; j < m; j++)
        {
            state got = exchange(choose(right, v[j], v[j + m]), 1 << s, box);
            v[j] = meet(choose(right, v[j + m], v[j]), got, right);
        }
    }
    UNROLL for (int s = LOG_ROWS; s < 5; s++) v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1);
    /* bit s of the lane is now bit LOG_ROWS - 1 - s of the row */
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--) v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1);
    return v[0];
}

/* A row after another: `v` is the lane's node of 4. before: S at the row's first item; the lane's start comes back, and node
 * becomes the row's. A lane's left neighbours at its set bits, high to low, are what its start adds to the row's. */
fn maybe N(row_start)(state *node, state v, maybe before, LOCAL state *box)
{
    const int lane = lane_index();
    state left[5];
    UNROLL for (int k = 0; k < 5; k++)
    {
        left[k] = exchange(v, 1 << k, box);
        v = meet(v, left[k], lane >> k & 1);
    }
    *node = v;
    UNROLL for (int k = 4; k >= 0; k--)
    {
        maybe with = then(before, left[k]);
        int take = lane >> k & 1;
        before.s = choose(take, with.s, before.s);
        before.have = take ? 1 : before.have;
    }
    return before;
}

/* The rows' prefixes: rows[r] = S at row r, from the nodes of the rows before it. Calls with r = 0, 1, 2, ... */
fn void N(next_row)(maybe *rows, state *stack, int r, state node)
{
    UNROLL for (int k = 0; k < LOG_ROWS; k++)
    {
        if (((r >> k) & 1) == 0) {
            stack[k] = node;
            rows[r + 1] = then(rows[(r + 1) & r], node);
            return;
        }
        node = TWIN(stack[k], node);
    }
    rows[r + 1] = then(rows[0], node);
}

/* S at item `count` of the chunk at `at` (0 <= count < CHUNK), which `before` has come to; in every lane. */
fn maybe N(append)(maybe before, batch b, i64 from, i64 at, i64 count, LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], node;
    const int lane = lane_index(), last = (int)count / (LANES * QUAD), rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;
    rows[0] = before;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        state q[QUAD];
        N(items)(q, b, from, at + r * LANES * QUAD + lane * QUAD, at + count);
        state two = TWIN(q[0], q[1]);
        maybe start = N(row_start)(&node, TWIN(two, TWIN(q[2], q[3])), rows[r], box);
        N(next_row)(rows, stack, r, node);
        if (r == last) {
            maybe with = then(start, two);
            if (rest & 2) start = with;
            with = then(start, choose(rest & 2, q[2], q[0]));
            if (rest & 1) start = with;
            mine = start;
        }
    }
    mine.s = from_lane(mine.s, rest / QUAD, box);
    mine.have = 1;
    if (rest) return mine;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (r == last) before = rows[r];
    }
    return before;
}

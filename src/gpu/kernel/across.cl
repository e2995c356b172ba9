/* SPDX-License-Identifier: MIT
 * The rows of a chunk folded across the lanes of a warp: ROWS rows of 32 lanes of LANE_ITEMS items, next to each other.
 * The text is used for the chunks of chunk.cl and for those of once.cl. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* The nodes of a full chunk's rows, from one a lane and row: in v[0] of the lanes l whose low bits, the first for the
 * highest, spell the row. Rows are folded by a transposing butterfly: at step s the lane whose bit s is 0 keeps row j
 * and gives row j + m away, its partner the reverse: ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 ROWS. */
fn void N(fold_across)(state *v, amount unit, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int s = 0; s < LOG_ROWS; s++)
    {
        const int m = ROWS >> (s + 1), right = lane >> s & 1;
        UNROLL for (int j = 0; j < m; j++)
        {
            state got = exchange(choose(right, v[j], v[j + m]), 1 << s, box);
            v[j] = meet(choose(right, v[j + m], v[j]), got, right, unit * (LANE_ITEMS << s));
        }
    }
    UNROLL for (int s = LOG_ROWS; s < 5; s++) v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1,
        unit * (LANE_ITEMS << s));
}

/* The node of a full chunk, in every lane, from what fold_across left. Bit s of the lane is bit LOG_ROWS - 1 - s of the
 * row it holds. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--) v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
        unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

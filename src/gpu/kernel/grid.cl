/* SPDX-License-Identifier: MIT
 * A grid: many sequences (cells) that grow together. Device memory keeps from push to push:
 *
 *   kept    up to GRID_BLOCK - 1 steps, unchanged. A node of GRID_BLOCK steps is made when the
 *           last of them comes, which is read in place
 *   nodes   the binary counter of each cell above that: [level][field of a state][cell]
 *
 * Each lane takes a cell, and neighbouring lanes neighbouring cells, so that a warp reads and
 * writes whole cache lines. All cells have the same number of steps, so all lanes take the same
 * branches. `pitch`: length of a row of these arrays in cells, a multiple of 16, so that all rows
 * begin at multiples of 16 bytes. */
#define GRID_PARAMETERS  PARAMETERS_OF(GRID)
#define STEPS_PARAMETERS PARAMETERS_OF(STEPS)

fn i64 my_cell() { return group_index() * GRID_THREADS + thread_index(); }
fn i64 cells_at_once() { return group_count() * GRID_THREADS; }

/* ---- nodes ---- */

fn state node_at(GLOBAL const u8 *nodes, i64 pitch, int level, i64 c)
{
    state v;
    nodes += level * pitch * PACKED;
#define GET(type, f)                                                                               \
    v.f = ((GLOBAL const type *)nodes)[c];                                                         \
    nodes += pitch * (i64)sizeof(type);
    OP_FIELDS(GET)
#undef GET
    return v;
}

fn void put_node(GLOBAL u8 *nodes, i64 pitch, int level, i64 c, state v)
{
    nodes += level * pitch * PACKED;
#define PUT(type, f)                                                                               \
    ((GLOBAL type *)nodes)[c] = v.f;                                                               \
    nodes += pitch * (i64)sizeof(type);
    OP_FIELDS(PUT)
#undef PUT
}

fn amount size_of_node(int level) { return (amount)((i64)GRID_BLOCK << level); }

/* Adds v, a node of `level`, to the binary counter of cell c. merges: the trailing ones of its
 * number. */
fn void add_node(GLOBAL u8 *nodes, i64 pitch, int level, int merges, i64 c, state v)
{
    const int top = level + merges;
    ROLLED for (; level < top; level++)
        v = TWIN(node_at(nodes, pitch, level, c), v, size_of_node(level));
    put_node(nodes, pitch, top, c, v);
}

fn int trailing_ones(i64 k)
{
    int ones = 0;
    while (k >> ones & 1) ones++;
    return ones;
}

/* ---- pushes ---- */

/* Steps in memory: strides in bytes. */
typedef struct {
    GLOBAL const u8 *x; /* step 0 of cell 0 */
    i64 cell_stride, stride, steps;
} step_list;

/* Copies steps that do not fill a block to rows from `to` on. Contiguous cells are copied 16 bytes
 * at a time, with several loads in flight. */
fn void keep_steps(step_list s, GLOBAL u8 *to, i64 row, i64 cells)
{
    typedef struct ALIGNED(16) { u32 w[4]; } bundle;
    const int side_by_side = s.cell_stride == TL_SIZE && ADDRESS(s.x) % 16 == 0 &&
                             (s.steps == 1 || s.stride % 16 == 0);
    const i64 bundles = side_by_side ? cells * TL_SIZE / 16 : 0;
    for (i64 r = 0; r < s.steps; r++, s.x += s.stride, to += row) {
        GLOBAL const bundle *from_bundle = (GLOBAL const bundle *)s.x;
        GLOBAL bundle *to_bundle = (GLOBAL bundle *)to;
        for (i64 i = group_index() * GRID_THREADS * GRID_BUNDLES + thread_index(); i < bundles;
             i += cells_at_once() * GRID_BUNDLES) {
            bundle v[GRID_BUNDLES];
            UNROLL for (int k = 0; k < GRID_BUNDLES; k++)
            {
                if (i + k * GRID_THREADS < bundles) v[k] = from_bundle[i + k * GRID_THREADS];
            }
            UNROLL for (int k = 0; k < GRID_BUNDLES; k++)
            {
                if (i + k * GRID_THREADS < bundles) to_bundle[i + k * GRID_THREADS] = v[k];
            }
        }
        for (i64 c = bundles * 16 / TL_SIZE + my_cell(); c < cells; c += cells_at_once())
            ((GLOBAL elem *)to)[c] = load_element(s.x + c * s.cell_stride);
    }
}

/* Returns the node of a block of steps, whose first has number `at`. The first `have` of them are
 * in rows of `own`, the others follow x. */
fn state fold_block(GLOBAL const u8 *own, i64 row, int have, GLOBAL const u8 *x, i64 step, i64 at,
                    par p)
{
    elem e[GRID_BLOCK];
    state v[GRID_BLOCK];
    if (ADDRESS(x) % TL_SIZE == 0) {
        UNROLL for (int k = 0; k < GRID_BLOCK; k++)
            e[k] = *(GLOBAL const elem *)(k < have ? own + k * row : x + k * step);
    } else {
        UNROLL for (int k = 0; k < GRID_BLOCK; k++)
            e[k] = load_bytes(k < have ? own + k * row : x + k * step);
    }
    UNROLL for (int k = 0; k < GRID_BLOCK; k++) v[k] = lift(e[k], at + k, p);
    UNROLL for (int k = 0; k < GRID_LOG; k++)
        UNROLL for (int i = 0; i + (1 << k) < GRID_BLOCK; i += 2 << k)
            v[i] = TWIN(v[i], v[i + (1 << k)], 1 << k);
    return v[0];
}

/* Adds steps, or (level >= 0) packed states that are nodes of `level`. Steps that fill a block are
 * folded; the first block may have begun in `kept`. The remaining steps are kept. */
KERNEL_OF(grid_push)
{
    const i64 step = step_stride * TL_SIZE, row = pitch * TL_SIZE;
    const int begun = (int)(count % GRID_BLOCK), by_states = level >= 0,
              fills = begun + steps >= GRID_BLOCK;
    step_list list;
    par p;
    p.value = parameter, p.origin = 0;
    list.x = steps_data + steps_byte, list.steps = by_states || fills ? 0 : steps;
    list.cell_stride = cell_stride * TL_SIZE, list.stride = step;
    keep_steps(list, kept + begun * row, row, cells);

    for (i64 c = first_cell + my_cell(); by_states && c < cells; c += cells_at_once())
        add_node(nodes, pitch, (int)level, (int)merges, c,
                 unpack(states + (c - first_cell) * PACKED));

    for (i64 c = first_cell + my_cell(); !by_states && fills && c < cells; c += cells_at_once()) {
        GLOBAL u8 *own = kept + c * TL_SIZE;
        /* where the block begins */
        GLOBAL const u8 *x = list.x + c * list.cell_stride - begun * step;
        i64 at = count - begun, left = steps + begun;
        int have = begun;
        ROLLED for (; left >= GRID_BLOCK;
                    left -= GRID_BLOCK, at += GRID_BLOCK, x += GRID_BLOCK * step, have = 0)
            add_node(nodes, pitch, 0, trailing_ones(at / GRID_BLOCK), c,
                     fold_block(own, row, have, x, step, at, p));
        for (i64 k = 0; k < left; k++) *(GLOBAL elem *)(own + k * row) = load_element(x + k * step);
    }
}

/* ---- results ---- */

/* Writes S(total) as results, or (STATES) one node of it, packed. blocks: bit k is set if there is
 * a node of level k. rows: kept steps from first_row on; `first`: number of the first of them among
 * all steps. */
KERNEL_OF(grid_result)
{
    RESULTS_OF_PARAMETERS;
    const i64 row = pitch * TL_SIZE;
    par p;
    p.value = parameter, p.origin = 0;
    for (i64 c = first_cell + my_cell(); c < cells; c += cells_at_once()) {
        GLOBAL const u8 *own = kept + c * TL_SIZE + first_row * row;
        maybe v = nothing(p);
        amount done = 0;
        i64 at = first;
        ROLLED for (int level = (int)top; level >= 0; level--)
        {
            if (!(blocks >> level & 1)) continue;
            v = then(v, node_at(nodes, pitch, level, c), done, size_of_node(level));
            done += size_of_node(level);
        }
        UNROLL for (int k = GRID_LOG - 1; k >= 0; k--)
        {
            if (rows >> k & 1) {
                state w[GRID_BLOCK / 2];
                UNROLL for (int i = 0; i < 1 << k; i++)
                    w[i] = lift(*(GLOBAL const elem *)(own + i * row), at + i, p);
                UNROLL for (int j = 0; j < k; j++)
                    UNROLL for (int i = 0; i + (1 << j) < 1 << k; i += 2 << j)
                        w[i] = TWIN(w[i], w[i + (1 << j)], 1 << j);
                v = then(v, w[0], done, 1 << k);
                done += 1 << k, at += 1 << k, own += row << k;
            }
        }
        if (flags & STATES)
            pack(out.x + (c - first_cell) * PACKED, v.s);
        else
            store_maybe(out.x + c * out.row_stride * (i64)(OP_LANES * sizeof(result)), v, total, 0,
                        p);
    }
}

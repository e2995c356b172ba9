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

fn i64 my_cell() { return group_index() * GRID_THREADS + thread_index(); }
fn i64 cells_at_once() { return group_count() * GRID_THREADS; }

/* The memory of a grid. */
typedef struct {
    GLOBAL u8 *kept, *nodes;
    i64 pitch;
    par p;
} field;
#define FIELD_OF_PARAMETERS \
    field f; \
    f.kept = kept, f.nodes = nodes, f.pitch = pitch, f.p.value = parameter, f.p.origin = 0

fn state node_at(field f, int level, i64 c)
{
    state v;
    GLOBAL const u8 *from = f.nodes + level * f.pitch * PACKED;
#define GET(type, name) \
    v.name = ((GLOBAL const type *)from)[c]; \
    from += f.pitch * (i64)sizeof(type);
    OP_FIELDS(GET)
#undef GET
    return v;
}

fn void put_node(field f, int level, i64 c, state v)
{
    GLOBAL u8 *to = f.nodes + level * f.pitch * PACKED;
#define PUT(type, name) \
    ((GLOBAL type *)to)[c] = v.name; \
    to += f.pitch * (i64)sizeof(type);
    OP_FIELDS(PUT)
#undef PUT
}

fn amount size_of_node(int level) { return (amount)((i64)GRID_BLOCK << level); }

/* Adds v, a node of `level`, to the binary counter of cell c. merges: the trailing ones of its
 * number. */
fn void add_node(field f, int level, int merges, i64 c, state v)
{
    const int top = level + merges;
    ROLLED for (; level < top; level++) v = TWIN(node_at(f, level, c), v, size_of_node(level));
    put_node(f, top, c, v);
}

fn int trailing_ones(i64 k)
{
    int ones = 0;
    while (k >> ones & 1) ones++;
    return ones;
}

/* Steps in memory: strides in bytes. */
typedef struct {
    GLOBAL const u8 *x; /* step 0 of cell 0 */
    i64 cell_stride, stride, steps;
    i64 first; /* number of step 0 in the stream */
} step_list;

/* Keeps steps that do not fill a block. Contiguous cells are copied 16 bytes at a time, with
 * several loads in flight. */
fn void keep_steps(field f, step_list s, i64 cells)
{
    typedef struct ALIGNED(16) {
        u32 w[4];
    } bundle;
    const int side_by_side =
        s.cell_stride == TL_SIZE && ADDRESS(s.x) % 16 == 0 && (s.steps == 1 || s.stride % 16 == 0);
    const i64 bundles = side_by_side ? cells * TL_SIZE / 16 : 0, row = f.pitch * TL_SIZE;
    GLOBAL u8 *to = f.kept + s.first % GRID_BLOCK * row;
    for (i64 r = 0; r < s.steps; r++, s.x += s.stride, to += row) {
        GLOBAL const bundle *from_bundle = (GLOBAL const bundle *)s.x;
        GLOBAL bundle *to_bundle = (GLOBAL bundle *)to;
        for (i64 i = group_index() * GRID_THREADS * GRID_BUNDLES + thread_index(); i < bundles;
             i += cells_at_once() * GRID_BUNDLES) {
            bundle v[GRID_BUNDLES];
            FOR(k, GRID_BUNDLES) {
                if (i + k * GRID_THREADS < bundles) v[k] = from_bundle[i + k * GRID_THREADS];
            }

            FOR(k, GRID_BUNDLES) {
                if (i + k * GRID_THREADS < bundles) to_bundle[i + k * GRID_THREADS] = v[k];
            }
        }

        for (i64 c = bundles * 16 / TL_SIZE + my_cell(); c < cells; c += cells_at_once())
            ((GLOBAL elem *)to)[c] = load_element(s.x + c * s.cell_stride);
    }
}

/* The node of the block of steps from step `at` of the stream, at x; its first `begun` steps are in
 * `column`, a column of kept steps. */
fn state fold_block(field f, step_list s, GLOBAL const u8 *column, int begun, GLOBAL const u8 *x,
                    i64 at)
{
    const i64 row = f.pitch * TL_SIZE;
    elem e[GRID_BLOCK];
    state v[GRID_BLOCK];

    if (ADDRESS(x) % TL_SIZE == 0) {
        FOR(k, GRID_BLOCK)
            e[k] = *(GLOBAL const elem *)(k < begun ? column + k * row : x + k * s.stride);
    } else {
        FOR(k, GRID_BLOCK) e[k] = load_bytes(k < begun ? column + k * row : x + k * s.stride);
    }

    FOR(k, GRID_BLOCK) v[k] = lift(e[k], at + k, f.p);
    FOR(k, GRID_LOG)
        UNROLL for (int i = 0; i + (1 << k) < GRID_BLOCK; i += 2 << k) v[i] =
            TWIN(v[i], v[i + (1 << k)], 1 << k);

    return v[0];
}

/* Folds the steps of cell c that fill blocks; the first block may have begun in `kept`. The
 * remaining steps are kept. */
fn void fold_steps(field f, step_list s, i64 c)
{
    const i64 row = f.pitch * TL_SIZE;
    int begun = (int)(s.first % GRID_BLOCK);
    GLOBAL u8 *column = f.kept + c * TL_SIZE;
    /* where the block begins */
    GLOBAL const u8 *x = s.x + c * s.cell_stride - begun * s.stride;
    i64 at = s.first - begun, left = s.steps + begun;

    ROLLED for (; left >= GRID_BLOCK;
                left -= GRID_BLOCK, at += GRID_BLOCK, x += GRID_BLOCK * s.stride, begun = 0)
        add_node(f, 0, trailing_ones(at / GRID_BLOCK), c, fold_block(f, s, column, begun, x, at));
    for (i64 k = 0; k < left; k++)
        *(GLOBAL elem *)(column + k * row) = load_element(x + k * s.stride);
}

/* Adds steps, or (level >= 0) packed states that are nodes of `level`. */
KERNEL_OF(grid_push)
{
    FIELD_OF_PARAMETERS;
    step_list list;
    list.x = steps_data + steps_byte, list.first = count, list.steps = steps;
    list.cell_stride = cell_stride * TL_SIZE, list.stride = step_stride * TL_SIZE;

    if (level >= 0) {
        for (i64 c = first_cell + my_cell(); c < cells; c += cells_at_once())
            add_node(f, (int)level, (int)merges, c, unpack(states + (c - first_cell) * PACKED));
    } else if (count % GRID_BLOCK + steps < GRID_BLOCK) {
        keep_steps(f, list, cells);
    } else {
        for (i64 c = first_cell + my_cell(); c < cells; c += cells_at_once())
            fold_steps(f, list, c);
    }
}

/* S(total) as results, or (STATES) one node of it, packed. blocks: bit k: there is a node of level
 * k. rows: kept steps from first_row on; `first`: number of the first among all steps. */
KERNEL_OF(grid_result)
{
    RESULTS_OF_PARAMETERS;
    FIELD_OF_PARAMETERS;
    const i64 row = pitch * TL_SIZE;

    for (i64 c = first_cell + my_cell(); c < cells; c += cells_at_once()) {
        GLOBAL const u8 *column = kept + c * TL_SIZE + first_row * row;
        maybe v = nothing(f.p);
        amount done = 0;
        i64 at = first;
        ROLLED for (int level = (int)top; level >= 0; level--)
        {
            if (!(blocks >> level & 1)) continue;
            v = then(v, node_at(f, level, c), done, size_of_node(level));
            done += size_of_node(level);
        }

        UNROLL for (int k = GRID_LOG - 1; k >= 0; k--)
        {
            if (rows >> k & 1) {
                state w[GRID_BLOCK / 2];
                FOR(i, 1 << k) w[i] = lift(*(GLOBAL const elem *)(column + i * row), at + i, f.p);
                FOR(j, k)
                    UNROLL for (int i = 0; i + (1 << j) < 1 << k; i += 2 << j) w[i] =
                        TWIN(w[i], w[i + (1 << j)], 1 << j);
                v = then(v, w[0], done, 1 << k);
                done += 1 << k, at += 1 << k, column += row << k;
            }
        }

        if (flags & STATES)
            pack(out.x + (c - first_cell) * PACKED, v.s);
        else
            store_maybe(out.x + c * out.row_stride * (i64)(OP_LANES * sizeof(result)), v, total, 0,
                        f.p);
    }
}

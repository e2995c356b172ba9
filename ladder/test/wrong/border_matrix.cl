/* like: transpose/transpose_tile
 * class: border
 * caught: bounds */
#define SIDE 32
KERNEL(transpose, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 rows, i64 cols)
{
    SHARED elem tile[SIDE * SIDE];
    int x = thread_index() % SIDE;
    int y = thread_index() / SIDE;
    i64 across = (cols + SIDE - 1) / SIDE;
    i64 row = group_index() / across * SIDE;
    i64 col = group_index() % across * SIDE;

    for (int k = y; k < SIDE; k += THREADS / SIDE)
        tile[k * SIDE + x] = in[(row + k) * cols + col + x];
    BARRIER();
    for (int k = y; k < SIDE; k += THREADS / SIDE)
        if (col + k < cols && row + x < rows) out[(col + k) * rows + row + x] = tile[x * SIDE + k];
}

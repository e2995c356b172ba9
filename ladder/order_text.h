/* SPDX-License-Identifier: MIT
 * order.c for one type: T, WORK (where it adds: whole numbers wrap), NAME(x). Included once a
 * type; takes its words back. */

static T NAME(c)(const order_setting *h, T a, T b)
{
#ifdef COMBINE /* tree.c: what is combined is a node, and not a number */
    return COMBINE(h, a, b);
#endif
    if (h->operation == 0) return (T)((WORK)a + (WORK)b);
    if (h->operation == 1) return a < b ? a : b;
    return b < a ? a : b;
}

static T NAME(left)(const order_setting *h, const T *x, int64_t n)
{
    T sum = x[0];
    for (int64_t i = 1; i < n; i++) sum = NAME(c)(h, sum, x[i]);
    return sum;
}

/* Both trees over d[0 .. m), m a power of two, in place. */
static T NAME(neighbours)(const order_setting *h, T *d, int m)
{
    for (; m > 1; m /= 2)
        for (int i = 0; i < m / 2; i++) d[i] = NAME(c)(h, d[2 * i], d[2 * i + 1]);
    return d[0];
}
static T NAME(distant)(const order_setting *h, T *d, int m)
{
    for (; m > 1; m /= 2)
        for (int i = 0; i < m / 2; i++) d[i] = NAME(c)(h, d[i], d[i + m / 2]);
    return d[0];
}

/* Tiles of `each`, their results in place of the elements, until at most `enough` are left. */
static int64_t NAME(tiles)(const order_setting *h, T *x, int64_t n, T neutral, int64_t enough)
{
    T d[2048];
    while (n > enough) {
        const int64_t groups = (n + h->each - 1) / h->each;
        for (int64_t g = 0; g < groups; g++) {
            for (int i = 0; i < h->each; i++)
                d[i] = g * h->each + i < n ? x[g * h->each + i] : neutral;
            x[g] = h->order == NEIGHBOURS ? NAME(neighbours)(h, d, h->each)
                                          : NAME(distant)(h, d, h->each);
        }
        n = groups;
    }
    return n;
}

/* s elements out of `of` each, strided; the tail behind them goes to *tail. */
static int64_t NAME(shrink)(const order_setting *h, T *x, int64_t n, int of, T *tail)
{
    for (; n >= of; n /= of) {
        const int64_t s = n / of;
        for (int64_t t = of * s; t < n; t++) *tail = NAME(c)(h, *tail, x[t]);
        for (int64_t i = 0; i < s; i++) {
            T sum = x[i];
            for (int k = 1; k < of; k++) sum = NAME(c)(h, sum, x[i + k * s]);
            x[i] = sum;
        }
    }
    return n;
}

static T NAME(group)(const order_setting *h, const T *x, int64_t n, int64_t g, T neutral)
{
    T d[1024];
    const int64_t quads = n / 4, step = h->groups * h->threads;
    for (int t = 0; t < h->threads; t++) {
        T sum = neutral;
        if (h->order == QUADS || h->order == LAST) {
            for (int64_t i = g * h->threads + t; i < quads; i += step)
                sum = NAME(c)(h, sum,
                              NAME(c)(h, NAME(c)(h, x[4 * i], x[4 * i + 1]),
                                      NAME(c)(h, x[4 * i + 2], x[4 * i + 3])));
            if (g == 0 && 4 * quads + t < n) sum = NAME(c)(h, sum, x[4 * quads + t]);
        } else {
            const int64_t tile = 4 * (int64_t)h->threads,
                          whole = h->order == BLOCKS ? n / tile * tile : 0;
            for (int64_t at = g * tile; at < whole; at += h->groups * tile)
                for (int64_t i = at + t; i < at + tile; i += h->threads)
                    sum = NAME(c)(h, sum, x[i]);
            for (int64_t i = whole + g * h->threads + t; i < n; i += step)
                sum = NAME(c)(h, sum, x[i]);
        }
        d[t] = sum;
    }
    if (h->order == ORDER_STRIDES || h->order == BLOCKS || h->order == LAST)
        return NAME(distant)(h, d, h->threads);
    T sum = NAME(distant)(h, d, h->warp);
    for (int w = h->warp; w < h->threads; w += h->warp)
        sum = NAME(c)(h, sum, NAME(distant)(h, d + w, h->warp));
    return sum;
}

/* The law: nodes of equal size are combined as soon as there are two; what is left, from the
   left. */
static T NAME(law)(const order_setting *h, const T *x, int64_t n)
{
    T stack[64] = {0};
    int depth = 0;
    for (int64_t i = 0; i < n; i++) {
        stack[depth++] = x[i];
        for (int64_t size = i + 1; size % 2 == 0; size /= 2, depth--)
            stack[depth - 2] = NAME(c)(h, stack[depth - 2], stack[depth - 1]);
    }
    return NAME(left)(h, stack, depth);
}

static void NAME(order)(const order_setting *h, const void *data, int64_t n,
                        const void *neutral_bytes, void *result)
{
    T neutral, tail, out;
    memcpy(&neutral, neutral_bytes, sizeof neutral);
    out = tail = neutral;
    const int whole = h->order == LEFT || h->order == LAW;
    T *x = whole ? NULL : malloc((size_t)(n > h->groups ? n : h->groups) * sizeof *x);
    if (x) memcpy(x, data, (size_t)n * sizeof *x);
    if (h->order == LEFT) out = NAME(left)(h, data, n);
    if (h->order == LAW) out = NAME(law)(h, data, n);
    if (x && (h->order == ORDER_HALVES || h->order == ORDER_EIGHTHS)) {
        const int64_t left = NAME(shrink)(h, x, n, h->order == ORDER_HALVES ? 2 : 8, &tail);
        out = NAME(c)(h, NAME(left)(h, x, left), tail);
    } else if (x && (h->order == NEIGHBOURS || h->order == DISTANT)) {
        const int64_t left = NAME(tiles)(h, x, n, neutral, h->schedule == LEVELS ? 1 : h->threads);
        out = NAME(left)(h, x, left);
    } else if (x && h->order != LEFT && h->order != LAW) {
        for (int64_t g = 0; g < h->groups; g++) x[g] = NAME(group)(h, data, n, g, neutral);
        if (h->order == LAST) {
            order_setting last = *h;
            last.groups = 1;
            last.order = ORDER_STRIDES;
            out = NAME(group)(&last, x, h->groups, 0, neutral);
        } else {
            out = NAME(left)(h, x, h->groups);
        }
    }
    free(x);
    memcpy(result, &out, sizeof out);
}
#undef T
#undef WORK
#undef NAME

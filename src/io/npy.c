/* SPDX-License-Identifier: MIT
 * The .npy header (numpy/lib/format.py, versions 1.0, 2.0 and 3.0):
 *
 *    \x93NUMPY  major minor  length (2 or 4 bytes, little-endian)
 *    {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 *
 * A strict parser accepts only these three keys; nothing is evaluated. */
#include "dtype/number.h"
#include "io.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

enum { HEADER_MOST = 1 << 20 };

/* The letters of each dtype. */
static const char *const codes[] = {
    "",
#define DTYPE(name, ctype, bytes, kind, npy) npy,
#include "dtype/dtype.def"
#undef DTYPE
};

struct cursor {
    const char *p, *end;
};

static void blanks(struct cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r'))
        c->p++;
}

static int take(struct cursor *c, char want)
{
    blanks(c);
    if (c->p == c->end || *c->p != want) return 0;
    c->p++;
    return 1;
}

static int word(struct cursor *c, const char *want)
{
    const size_t n = strlen(want);
    blanks(c);
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, want, n) != 0) return 0;
    c->p += n;
    return 1;
}

/* Reads a quoted string of printable characters without escapes, of fewer than `capacity`. */
static int string(struct cursor *c, char *out, size_t capacity)
{
    assert(capacity > 0);
    blanks(c);
    if (c->p == c->end || (*c->p != '\'' && *c->p != '"')) return 0;
    const char quote = *c->p++;
    size_t n = 0;

    for (; c->p < c->end && *c->p != quote; c->p++) {
        if (*c->p < ' ' || *c->p > '~' || *c->p == '\\' || n + 1 >= capacity) return 0;
        out[n++] = *c->p;
    }
    out[n] = 0;

    return c->p++ < c->end;
}

/* Reads a shape: (3, 4), (3,) or (). */
static tally_status shape(tally_file *f, struct cursor *c)
{
    const char *const start = c->p;
    f->info.ndim = 0;
    if (!take(c, '(')) goto bad;

    while (!take(c, ')')) {
        blanks(c);
        int64_t v = 0;
        int digits = 0;
        if (c->p < c->end && *c->p == '-')
            return tl_bad_data_on(f, "the npy header's shape has a negative extent");

        for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++, digits++)
            if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *c->p - '0', &v))
                return tl_bad_data_on(f, "an extent in the npy header does not fit 64 bits");
        if (digits == 0) goto bad;
        if (c->p < c->end && *c->p == 'L') c->p++; /* Python 2 wrote an L */
        if (f->info.ndim == 8) return tl_unsupported_on(f, "the array has more than 8 dimensions");
        f->info.shape[f->info.ndim++] = v;
        const int comma = take(c, ',');
        if (!comma && f->info.ndim == 1) goto bad; /* in Python (3) is a number, not a tuple */

        if (!comma) {
            if (!take(c, ')')) goto bad;
            break;
        }
    }

    return TALLY_OK;
bad:
    return tl_bad_data_on(f, "the npy header's shape '%.*s' is not a tuple of sizes",
                          (int)(c->end - start < 40 ? c->end - start : 40), start);
}

static tally_status refuse(tally_file *f, const char *descr, const char *why)
{
    return tl_unsupported_on(f, "elements of npy type '%s' cannot be read: %s", descr, why);
}

static tally_status dtype(tally_file *f, const char *descr, tally_dtype want)
{
    static const struct {
        const char *kinds, *why;
    } refused[] = {
        {"O", "they are pickled Python objects, and reading those would run code from the file"},
        {"V", "they are structures or raw bytes, not numbers"},
        {"USa", "they are text, not numbers"},
        {"c", "they are complex numbers; save the real and imaginary parts as two arrays"},
        {"M", "they are dates; save them as int64 (array.view('i8'))"},
        {"m", "they are time differences; save them as int64 (array.view('i8'))"},
        {"f", "tally has f16, f32 and f64 (save with array.astype('f8'))"},
        {"iu", "tally has whole numbers of 1, 2, 4 and 8 bytes"},
    };
    const char *code = descr;
    int order = '=';
    if (*code == '<' || *code == '>' || *code == '|' || *code == '=') order = *code++;
    f->swap = order == '>';
    f->info.dtype = strcmp(code, "b1") == 0 ? TALLY_U8 : 0; /* booleans are bytes */
    for (int d = 1; d <= TL_DTYPES; d++)
        if (strcmp(code, codes[d]) == 0) f->info.dtype = (tally_dtype)d;
    if (f->info.dtype == TALLY_BF16 && want != TALLY_BF16)
        return refuse(f, descr,
                      "2 raw bytes; if they are bfloat16 numbers, say so with --dtype bf16");

    if (f->info.dtype == 0) {
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            if (*code && strchr(refused[i].kinds, *code)) return refuse(f, descr, refused[i].why);
        return refuse(f, descr, "it is not a type of numbers that tally knows");
    }

    if (tally_dtype_size(f->info.dtype) == 1) f->swap = 0;
    if (order == '|' && tally_dtype_size(f->info.dtype) > 1 && f->info.dtype != TALLY_BF16)
        return tl_bad_data_on(f, "npy type '%s' does not say its byte order", descr);
    if (want && want != f->info.dtype)
        return tl_invalid_on(f, "the elements are %s ('%s'), not %s as asked for",
                             tally_dtype_name(f->info.dtype), descr, tally_dtype_name(want));
    return TALLY_OK;
}

static tally_status dict(tally_file *f, const char *text, size_t length, tally_dtype want)
{
    enum { DESCR, FORTRAN, SHAPE, KEYS };
    static const char *const keys[KEYS] = {"descr", "fortran_order", "shape"};
    struct cursor c = {text, text + length};
    char key[32], descr[64] = "";
    int seen = 0;
    if (!take(&c, '{')) goto bad;

    while (!take(&c, '}')) {
        if (!string(&c, key, sizeof key) || !take(&c, ':')) goto bad;
        int k = 0;
        while (k < KEYS && strcmp(key, keys[k]) != 0) k++;
        if (k == KEYS) return tl_bad_data_on(f, "the npy header has an unknown key '%s'", key);
        if (seen & 1 << k) return tl_bad_data_on(f, "the npy header has the key '%s' twice", key);
        seen |= 1 << k;
        if (k == DESCR) {
            blanks(&c);
            if (c.p < c.end && *c.p == '[')
                return tl_unsupported_on(
                    f, "the elements are structures of several fields; save the field you want as "
                       "an array of its own (numpy.save(path, array['field']))");
            if (!string(&c, descr, sizeof descr)) goto bad;
        } else if (k == FORTRAN) {
            f->info.fortran = word(&c, "True");
            if (!f->info.fortran && !word(&c, "False")) goto bad;
        } else {
            TL_TRY(shape(f, &c));
        }

        if (!take(&c, ',')) {
            if (!take(&c, '}')) goto bad;
            break;
        }
    }

    blanks(&c);
    if (c.p != c.end) goto bad;

    for (int k = 0; k < KEYS; k++)
        if (!(seen & 1 << k)) return tl_bad_data_on(f, "the npy header has no '%s'", keys[k]);
    return dtype(f, descr, want);
bad:
    return tl_bad_data_on(f, "the npy header is not the dict it should be, at byte %ld of it",
                          c.p - text);
}

tally_status tl_npy_header(tally_file *f, tally_dtype want)
{
    unsigned char b[12];
    int64_t r = tl_input_read(f, b, 10);
    if (r < 0) return tl_input_failed(f);
    if (r < 6 || memcmp(b, "\x93NUMPY", 6) != 0)
        return tl_bad_data_on(f, "not an npy file: it does not begin with \\x93NUMPY");
    if (r == 10 && (b[6] < 1 || b[6] > 3 || b[7] != 0))
        return tl_unsupported_on(f, "npy version %d.%d; tally reads 1.0, 2.0 and 3.0", b[6], b[7]);
    size_t length = (size_t)b[8] | (size_t)b[9] << 8;

    if (r == 10 && b[6] > 1) {
        const int64_t r2 = tl_input_read(f, b + 10, 2);
        if (r2 < 0) return tl_input_failed(f);
        r = r2 < 2 ? 0 : r;
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    }

    if (r < 10) return tl_bad_data_on(f, "the file ends inside the npy header");
    if (length > HEADER_MOST)
        return tl_bad_data_on(f, "the npy header claims %zu bytes; the most is %d", length,
                              HEADER_MOST);

    TL_FREED char *const text = malloc(length + 1);
    if (!text) return tl_no_memory(f->ctx, length + 1, "the npy header");
    r = tl_input_read(f, text, length);
    if (r < 0) return tl_input_failed(f);
    if ((size_t)r < length)
        return tl_bad_data_on(
            f, "the file ends inside the npy header: %ld of its %zu bytes are there", r, length);
    TL_TRY(dict(f, text, length, want));
    int64_t n = 1, bytes;

    /* an extent of 0 makes the product 0 even if the others overflow */
    for (int i = 0; i < f->info.ndim; i++)
        if (f->info.shape[i] == 0) n = 0;
    for (int i = 0; i < f->info.ndim && n; i++)
        if (__builtin_mul_overflow(n, f->info.shape[i], &n)) n = -1, i = 8;
    if (n < 0 || __builtin_mul_overflow(n, (int64_t)tally_dtype_size(f->info.dtype), &bytes))
        return tl_bad_data_on(
            f, "the npy header's shape has more elements than 64-bit sizes can count");

    f->info.elements = n;
    return TALLY_OK;
}

size_t tl_npy_write_header(char *out, tally_dtype dtype, int ndim, const int64_t *shape)
{
    assert(ndim >= 0 && ndim <= 8);
    const char order = tally_dtype_size(dtype) == 1 || dtype == TALLY_BF16 ? '|' : '<';
    char dict[400];
    size_t n =
        (size_t)snprintf(dict, sizeof dict, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                         order, codes[dtype]);
    n += tl_list(ndim, shape, dict + n);
    n += (size_t)sprintf(dict + n, "%s), }", ndim == 1 ? "," : "");

    /* The length must not depend on the first extent, which may be known only at the end, so it
     * counts as 20 characters. numpy aligns the data to 64 bytes. */
    const size_t first = ndim ? (size_t)snprintf(NULL, 0, "%ld", shape[0]) : 20;
    const size_t widest = (10 + n - first + 20 + 1 + 63) / 64 * 64;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((widest - 10) & 255);
    out[9] = (char)((widest - 10) >> 8);
    memset(out + 10, ' ', widest - 10);
    memcpy(out + 10, dict, n);
    out[widest - 1] = '\n';
    return widest;
}

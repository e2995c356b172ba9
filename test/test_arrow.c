/* SPDX-License-Identifier: MIT
 * The Arrow C data interface: arrays made by hand as views, bit for bit in place; what is
 * refused, and how. */
#include "check.h"
#include "tally_arrow.h"

static void released_schema(struct ArrowSchema *s) { s->release = NULL; }
static void released_array(struct ArrowArray *a) { a->release = NULL; }

static void refused(tally *ctx, const struct ArrowSchema *s, const struct ArrowArray *a,
                    tally_status want, const char *sentence)
{
    tally_view view, before;
    memset(&view, 7, sizeof view);
    memset(&before, 7, sizeof before);
    const tally_status status = tally_arrow_view(ctx, s, a, &view);
    check(status == want && strcmp(tally_error(ctx), sentence) == 0, "%s: %s",
          tally_status_name(status), tally_error(ctx));
    check(memcmp(&view, &before, sizeof view) == 0, "%s: the view was touched", sentence);
}

static const struct {
    const char *format;
    tally_dtype dtype;
} good[] = {{"c", TALLY_I8},  {"C", TALLY_U8},  {"s", TALLY_I16}, {"S", TALLY_U16},
            {"i", TALLY_I32}, {"I", TALLY_U32}, {"l", TALLY_I64}, {"L", TALLY_U64},
            {"e", TALLY_F16}, {"f", TALLY_F32}, {"g", TALLY_F64}};
static const struct {
    const char *format, *name;
} bad[] = {{"n", " (null)"},
           {"b", " (boolean)"},
           {"u", " (utf8)"},
           {"vu", " (utf8 view)"},
           {"tdD", " (date32)"},
           {"tsn:UTC", " (timestamp)"},
           {"tDs", " (duration)"},
           {"d:19,10", " (decimal)"},
           {"+s", " (struct)"},
           {"+vL", " (large list view)"},
           {"w:42", " (fixed-size binary)"},
           {"+us:1,2", " (union)"},
           {"", ""},
           {"gg", ""},
           {"?", ""}};

/* An array of 11 elements with an offset, its bitmap, and its schema. */
static _Alignas(16) unsigned char values[256], bits[8] = {0xa5, 0x3c};
static const void *buffers[2] = {bits, values};
static struct ArrowSchema s = {
    .format = "g", .name = "x", .flags = ARROW_FLAG_NULLABLE, .release = released_schema};
static struct ArrowArray a = {.length = 11,
                              .null_count = 5,
                              .offset = 3,
                              .n_buffers = 2,
                              .buffers = buffers,
                              .release = released_array};

static void in_place(tally *ctx)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        tally_view view;
        const int64_t size = (int64_t)tally_dtype_size(good[i].dtype);
        s.format = good[i].format;
        for (int nulls = -1; nulls <= 5; nulls += 3) { /* -1: not counted; 2, 5 */
            a.null_count = nulls;
            check_ok(ctx, tally_arrow_view(ctx, &s, &a, &view), good[i].format);
            check(view.data == values + 3 * size && view.dtype == good[i].dtype && view.rows == 1 &&
                      view.n == 11 && view.stride == 1 && !view.offsets && !view.next,
                  "%s: the elements are in place", s.format);
            check(view.valid == bits && view.valid_offset == 3, "%s: the bitmap is in place",
                  s.format);
        }
        a.null_count = 0; /* a bitmap without nulls is none */
        check_ok(ctx, tally_arrow_view(ctx, &s, &a, &view), good[i].format);
        check(!view.valid && !view.valid_offset, "%s: no nulls", s.format);
        uint64_t one[2] = {0}, other[2] = {0};
        const tally_view flat = tally_flat(values + 3 * size, good[i].dtype, 11);
        check_ok(ctx, tally_reduce(ctx, "sum", &view, one), "sum");
        check_ok(ctx, tally_reduce(ctx, "sum", &flat, other), "sum");
        check_same(one, other, 2, 8, "sum of %s", s.format);
        a.null_count = -1;
        buffers[0] = NULL;
        check_ok(ctx, tally_arrow_view(NULL, &s, &a, &view), good[i].format);
        check(!view.valid, "%s: no bitmap", s.format);
        buffers[0] = bits;
    }
}

static void refused_formats(tally *ctx)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char sentence[160];
        s.format = bad[i].format;
        snprintf(sentence, sizeof sentence,
                 "schema->format is '%s'%s: must be a number: one of c C s S i I l L e f g",
                 bad[i].format, bad[i].name);
        refused(ctx, &s, &a, TALLY_UNSUPPORTED, sentence);
    }
}

static void refused_arrays(tally *ctx)
{
    s.format = "f";
#define REFUSED(set, unset, status, sentence) \
    set; \
    refused(ctx, &s, &a, status, sentence); \
    unset
    struct ArrowSchema words = {.format = "u", .release = released_schema};
    REFUSED(s.dictionary = &words, s.dictionary = NULL, TALLY_UNSUPPORTED,
            "schema->dictionary is there: the values are indices of a dictionary");
    REFUSED(a.length = -1, a.length = 11, TALLY_INVALID,
            "array->length is -1 and offset 3: must be at least 0, and together below 2^63 bytes");
    REFUSED(a.offset = INT64_MAX / 4 + 1, a.offset = 3, TALLY_INVALID,
            "array->length is 11 and offset 2305843009213693952: must be at least 0, and together "
            "below 2^63 bytes");
    REFUSED(a.n_buffers = 3, a.n_buffers = 2, TALLY_INVALID,
            "array->n_buffers is 3: an array of f32 has 2, validity and values");
    REFUSED(a.null_count = 12, a.null_count = -1, TALLY_INVALID,
            "array->null_count is 12: must be -1..11, its length");
    REFUSED(buffers[1] = NULL, buffers[1] = values, TALLY_INVALID,
            "array->buffers[1] is NULL, and the array has 11 elements");
    REFUSED((buffers[0] = NULL, a.null_count = 2), (buffers[0] = bits, a.null_count = -1),
            TALLY_INVALID, "array->buffers[0] is NULL, and the array has 2 nulls");
    REFUSED(a.release = NULL, a.release = released_array, TALLY_INVALID, "array was released");
    REFUSED(s.format = NULL, s.format = "f", TALLY_INVALID, "schema->format is NULL");
    refused(ctx, NULL, &a, TALLY_INVALID, "schema is NULL");
    refused(ctx, &s, NULL, TALLY_INVALID, "array is NULL");
    check(tally_arrow_view(ctx, &s, &a, NULL) == TALLY_INVALID, "view is NULL");
}

static void no_elements(tally *ctx)
{
    tally_view empty;
    a.length = a.offset = 0;
    buffers[0] = buffers[1] = NULL;
    check_ok(ctx, tally_arrow_view(ctx, &s, &a, &empty), "empty");
    check(empty.n == 0 && !empty.data && !empty.valid, "an array of no elements");
}

int main(void)
{
    check_start();
    tally *ctx = check_open(1, NULL);
    for (size_t i = 0; i < sizeof values; i++) values[i] = (unsigned char)check_random();
    in_place(ctx);
    refused_formats(ctx);
    refused_arrays(ctx);
    no_elements(ctx);
    a.release(&a);
    s.release(&s);
    tally_close(ctx);
    return check_finish();
}

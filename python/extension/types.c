/* SPDX-License-Identifier: MIT
 * Error sentences for element types that tally does not take, with what to do about them: for
 * formats of buffers (letters of struct and of NumPy), type strings of array interfaces, formats of
 * Arrow, and numbers of DLPack. */
#include "pt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 96 };

static int refuse(const pt_operand *a, const char *words, const char *step)
{
    PyErr_Format(PyExc_TypeError,
                 "%s has elements of type %s: must be bool, integers of 1 to 8 bytes or floats of "
                 "2, 4 or 8 bytes%s%s",
                 a->name, words, step ? "; " : "", step ? step : "");
    return -1;
}

static const char use_parts[] = "give its real and its imaginary part",
                  use_f64[] = "convert it to float64",
                  use_field[] = "give one of its fields, as in x['a']",
                  use_codes[] = "pandas.factorize makes integers of them",
                  use_times[] = "times have min, max, first, last and count in reduce, scan and "
                                "window; for numbers give x.astype('int64')";

/* ---- buffers and array interfaces ---- */

/* By the kind of a type string, and the bytes of an element. */
static int refuse_kind(const pt_operand *a, char kind, long bytes, const char *unit)
{
    char words[WORDS];
    switch (kind) {
    case 'c':
        snprintf(words, sizeof words,
                 bytes > 16 ? "complex long double" : "complex float%ld (complex%ld)", 4 * bytes,
                 8 * bytes);
        return refuse(a, words, use_parts);
    case 'f':
        if (bytes > 8) return refuse(a, "long double", use_f64);
        snprintf(words, sizeof words, "float%ld", 8 * bytes);
        return refuse(a, words, use_f64);
    case 'M':
    case 'm':
        snprintf(words, sizeof words, "%s%.20s", kind == 'M' ? "datetime64" : "timedelta64", unit);
        return refuse(a, words, use_times);
    case 'U':
    case 'S':
        return refuse(a, kind == 'U' ? "string" : "bytes (strings of bytes)", use_codes);
    case 'O':
        return refuse(
            a, "object (any Python objects)",
            "x.astype('float64') makes floats of numbers, pandas.factorize integers of text");
    default:
        snprintf(words, sizeof words, "void (%ld bytes without a meaning)", bytes);
        return refuse(a, words, NULL);
    }
}

int pt_refuse_format(const pt_operand *a, const char *format, int64_t bytes)
{
    char words[WORDS];
    const char *at = format;
    long times = 1;
    if (*at && strchr("@=<>!^|", *at)) at++;
    if (*at >= '0' && *at <= '9') {
        char *end;
        times = strtol(at, &end, 10);
        at = end;
    }
    if (*at && strchr("@=<>!^|", *at)) at++;
    if (*at == 'T' || (*at && at[1] && *at != 'Z' && *at != 'x'))
        return refuse(a, "struct (records of several fields)", use_field);
    switch (*at) {
    case 'Z':
        return refuse_kind(a, 'c', (long)bytes, "");
    case 'g':
        return refuse_kind(a, 'f', (long)bytes > 8 ? (long)bytes : 16, "");
    case 'w':
    case 'u':
        return refuse_kind(a, 'U', (long)bytes, "");
    case 's':
    case 'p':
    case 'c':
        return refuse_kind(a, 'S', (long)bytes, "");
    case 'O':
        return refuse_kind(a, 'O', (long)bytes, "");
    case 'x':
        return refuse_kind(a, 'V', (long)bytes, "");
    case 'P':
        return refuse(a, "pointer", NULL);
    default:
        snprintf(words, sizeof words, "'%.40s' (%ld of a buffer's format)", format, times);
        return refuse(a, words, NULL);
    }
}

/* NumPy's name of a type without a letter of its own, such as those of ml_dtypes. */
static int refuse_named(const pt_operand *a, PyObject *object)
{
    PyObject *dtype = pt_attribute(object, "dtype"),
             *name = dtype ? pt_attribute(dtype, "name") : NULL,
             *fields = dtype ? pt_attribute(dtype, "names") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    int refused = 0;
    PyErr_Clear();
    if (fields && fields != Py_None)
        refused = refuse(a, "struct (records of several fields)", use_field);
    else if (text && strncmp(text, "void", 4))
        refused = refuse(a, text, "convert it to float32");
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    Py_XDECREF(fields);
    return refused;
}

int pt_refuse_typestr(const pt_operand *a, PyObject *object, const char *typestr)
{
    char words[WORDS];
    const char kind = typestr[1], *unit = strchr(typestr, '[');
    if (!strchr("<>|=", typestr[0]) || !strchr("cfMmUSOV", kind)) {
        snprintf(words, sizeof words, "'%.40s' (an array interface's typestr)", typestr);
        return refuse(a, words, NULL);
    }
    if (kind == 'V' && refuse_named(a, object)) return -1;
    return refuse_kind(a, kind, strtol(typestr + 2, NULL, 10), unit ? unit : "");
}

/* ---- Arrow ---- */

static const char list_step[] =
    "of pyarrow, tally.segments(x.values, x.offsets, 'sum') has the sum of each list";
static const struct {
    const char *format, *words, *step; /* format: all of it or, before a *, its beginning */
} arrow[] = {
    {"n", "null", "all of them are missing; cast it to float64"},
    {"u", "string", "dictionary_encode().indices are integers for it"},
    {"U", "large_string", "dictionary_encode().indices are integers for it"},
    {"vu", "string_view", "dictionary_encode().indices are integers for it"},
    {"z", "binary", NULL},
    {"Z", "large_binary", NULL},
    {"vz", "binary_view", NULL},
    {"w:*", "fixed_size_binary(%s)", NULL},
    {"d:*", "decimal%s", "cast it to float64"},
    {"tdD", "date32", "for numbers cast it to int32"},
    {"tdm", "date64", "for numbers cast it to int64"},
    {"tts", "time32[s]", "cast it to int32"},
    {"ttm", "time32[ms]", "cast it to int32"},
    {"ttu", "time64[us]", "cast it to int64"},
    {"ttn", "time64[ns]", "cast it to int64"},
    {"tss:*", "timestamp[s]", "for numbers cast it to int64"},
    {"tsm:*", "timestamp[ms]", "for numbers cast it to int64"},
    {"tsu:*", "timestamp[us]", "for numbers cast it to int64"},
    {"tsn:*", "timestamp[ns]", "for numbers cast it to int64"},
    {"tD*", "duration", "cast it to int64"},
    {"ti*", "interval", NULL},
    {"+s", "struct (records of several fields, or a table)", "give one of its columns"},
    {"+m", "map", NULL},
    {"+l", "list", list_step},
    {"+L", "large_list", list_step},
    {"+v*", "list_view", "flatten() has its elements"},
    {"+w:*", "fixed_size_list(%s)", "flatten() has its elements"},
    {"+u*", "union", NULL},
    {"+r", "run_end_encoded", "decode it: pyarrow.compute.run_end_decode"},
};

/* Converts "10,2" and "10,2,256" of decimals to "128(10, 2)" and "256(10, 2)". */
static void decimal(const char *format, char to[WORDS])
{
    int digits = 0, scale = 0, bits = 128;
    sscanf(format, "%d,%d,%d", &digits, &scale, &bits);
    snprintf(to, WORDS, "%d(%d, %d)", bits, digits, scale);
}

int pt_refuse_arrow(const pt_operand *a, const char *format, int dictionary)
{
    char words[WORDS], more[WORDS];
    const char *pattern = NULL, *step = NULL;
    snprintf(more, sizeof more, "%.40s", format);
    snprintf(words, sizeof words, "format '%.40s'", format);
    for (size_t i = 0; i < sizeof arrow / sizeof *arrow && !pattern; i++) {
        const char *star = strchr(arrow[i].format, '*');
        const size_t length = star ? (size_t)(star - arrow[i].format) : 0;
        if (star ? strncmp(format, arrow[i].format, length) : strcmp(format, arrow[i].format))
            continue;
        if (star) snprintf(more, sizeof more, "%.40s", format + length);
        if (format[0] == 'd') decimal(format + length, more);
        pattern = arrow[i].words;
        step = arrow[i].step;
    }
    if (pattern && strchr(pattern, '%')) {
        const int before = (int)(strchr(pattern, '%') - pattern);
        snprintf(words, sizeof words, "%.*s%.40s%s", before, pattern, more, pattern + before + 2);
    } else if (pattern) {
        snprintf(words, sizeof words, "%s", pattern);
    }
    if (dictionary) {
        snprintf(words, sizeof words, "dictionary (codes of values)");
        step = "its codes are its indices; dictionary_decode() has its values";
    }
    PyErr_Format(PyExc_TypeError,
                 "%s has elements of Arrow's type %s: must be integers or floats%s%s", a->name,
                 words, step ? "; " : "", step ? step : "");
    return -1;
}

/* ---- DLPack ---- */

int pt_refuse_dlpack(const pt_operand *a, int code, int bits, int lanes)
{
    enum { INTEGER, UNSIGNED, FLOATING, HANDLE, BFLOAT, COMPLEX, TRUTH }; /* as in DLDataTypeCode */
    static const char *const names[] = {
        "int%d",    "uint%d",    "float%d",        "handle of %d bits",
        "bfloat%d", "complex%d", "bool of %d bits"};
    char words[WORDS], one[WORDS];
    if (code == COMPLEX && lanes == 1) return refuse_kind(a, 'c', bits / 8, "");
    snprintf(one, sizeof one,
             code >= INTEGER && code <= TRUTH ? names[code] : "float%d (of few bits)", bits);
    if (lanes == 1) return refuse(a, one, code >= FLOATING ? "convert it to float32" : NULL);
    snprintf(words, sizeof words, "vector of %d lanes of %.40s", lanes, one);
    return refuse(a, words, "give its lanes an axis of their own");
}

int pt_refuse_device(const pt_operand *a, int type)
{
    static const char *const names[] = {
        /* as in DLDeviceType */
        [4] = "OpenCL", [7] = "Vulkan",  [8] = "Metal",   [9] = "VPI",
        [10] = "ROCm",  [14] = "oneAPI", [15] = "WebGPU", [16] = "Hexagon"};
    const int named = type >= 0 && type < (int)(sizeof names / sizeof *names) && names[type];
    PyErr_Format(PyExc_ValueError,
                 "%s is on a device of %s (%d in DLPack): must be host memory or CUDA; bring it to "
                 "the host first",
                 a->name, named ? names[type] : "another kind", type);
    return -1;
}

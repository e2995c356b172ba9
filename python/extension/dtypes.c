/* SPDX-License-Identifier: MIT
 * Element types: their names in Python, in array interfaces and in buffers; and single values as
 * numbers. */
#include "pt.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* One row per dtype of tally.h, in its order. bool is u8 with another name. The format of 64-bit
 * integers is that of long, because NumPy's int64 is a long: of "q" it makes another type. */
_Static_assert(sizeof(long) == sizeof(int64_t), "format l has 64 bits");
static const struct {
    tally_dtype dtype;
    char kind; /* the letter in array interfaces */
    int bytes;
    const char *name, *typestr, *format;
} table[] = {
    {TALLY_I8, 'i', 1, "int8", "|i1", "b"},     {TALLY_U8, 'u', 1, "uint8", "|u1", "B"},
    {TALLY_I16, 'i', 2, "int16", "<i2", "h"},   {TALLY_U16, 'u', 2, "uint16", "<u2", "H"},
    {TALLY_I32, 'i', 4, "int32", "<i4", "i"},   {TALLY_U32, 'u', 4, "uint32", "<u4", "I"},
    {TALLY_I64, 'i', 8, "int64", "<i8", "l"},   {TALLY_U64, 'u', 8, "uint64", "<u8", "L"},
    {TALLY_F16, 'f', 2, "float16", "<f2", "e"}, {TALLY_BF16, 'V', 2, "bfloat16", "<V2", NULL},
    {TALLY_F32, 'f', 4, "float32", "<f4", "f"}, {TALLY_F64, 'f', 8, "float64", "<f8", "d"},
};
enum { ROWS = sizeof table / sizeof *table };

tally_dtype pt_dtype_find(char kind, int64_t bytes, int *is_bool)
{
    *is_bool = kind == 'b';
    if (kind == 'b') return bytes == 1 ? TALLY_U8 : 0;
    for (int i = 0; i < ROWS; i++)
        if (table[i].kind == kind && table[i].bytes == bytes) return table[i].dtype;
    return 0;
}

const char *pt_dtype_name(tally_dtype dtype, int is_bool)
{
    return is_bool ? "bool" : table[dtype - TALLY_I8].name;
}
const char *pt_dtype_typestr(tally_dtype dtype, int is_bool)
{
    return is_bool ? "|b1" : table[dtype - TALLY_I8].typestr;
}
const char *pt_dtype_format(tally_dtype dtype, int is_bool)
{
    return is_bool ? "?" : table[dtype - TALLY_I8].format;
}

static int by_name(const char *name, tally_dtype *dtype, int *is_bool)
{
    const char *dot = strrchr(name, '.'); /* as in torch.float32 */
    if (dot) name = dot + 1;
    *is_bool = !strcmp(name, "bool") || !strcmp(name, "bool_");
    *dtype = *is_bool                 ? TALLY_U8
             : !strcmp(name, "float") ? TALLY_F64
             : !strcmp(name, "int")   ? TALLY_I64
                                      : 0;
    const int is_typestr = name[0] == '<' || name[0] == '|';
    for (int i = 0; i < ROWS && !*dtype; i++)
        if (!strcmp(name, is_typestr ? table[i].typestr : table[i].name)) *dtype = table[i].dtype;
    if (!*dtype) *dtype = tally_dtype_parse(name);
    return *dtype != 0;
}

int pt_dtype_of(PyObject *object, tally_dtype *dtype, int *is_bool)
{
    /* a string, a dtype with a name, a class, or an object whose str is a name */
    PyObject *text = NULL;
    const char *const from[] = {"name", "__name__"};
    if (PyUnicode_Check(object)) text = Py_NewRef(object);
    for (int i = 0; i < 2 && !text; i++) {
        text = pt_attribute(object, from[i]);
        if (!text && PyErr_Occurred()) return -1;
        if (text && !PyUnicode_Check(text)) Py_CLEAR(text);
    }
    if (!text && !(text = PyObject_Str(object))) return -1;
    const char *name = PyUnicode_AsUTF8AndSize(text, NULL);
    /* these two are other types in NumPy */
    const int unclear = name && (!strcmp(name, "i8") || !strcmp(name, "u8"));
    int found = name && !unclear && by_name(name, dtype, is_bool);
    if (unclear)
        PyErr_Format(PyExc_TypeError,
                     "dtype is %R: NumPy's has 64 bits and tally's 8: write %sint64 or %sint8",
                     object, *name == 'u' ? "u" : "", *name == 'u' ? "u" : "");
    else if (name && !found)
        PyErr_Format(PyExc_TypeError,
                     "dtype is %R: must be one of bool, int8, uint8, int16, uint16, int32, uint32, "
                     "int64, uint64, "
                     "float16, bfloat16, float32, float64",
                     object);
    Py_DECREF(text);
    return found ? 0 : -1;
}

/* ---- values ---- */

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

/* A float's bits as a double. A caller may have asked its processor to read subnormal floats as 0
 * (torch.set_flush_denormal). */
static double single(uint32_t bits)
{
    const double subnormal = (double)(bits & 0x7fffff) * 0x1p-149;
    float value;
    if (!(bits & 0x7f800000)) return bits >> 31 ? -subnormal : subnormal;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

PyObject *pt_value(tally_dtype dtype, int is_bool, const void *value)
{
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        double f64;
    } v;
    memcpy(&v, value, tally_dtype_size(dtype));
    switch (dtype) {
    case TALLY_I8:
        return PyLong_FromLong(v.i8);
    case TALLY_U8:
        return is_bool ? PyBool_FromLong(v.u8) : PyLong_FromLong(v.u8);
    case TALLY_I16:
        return PyLong_FromLong(v.i16);
    case TALLY_U16:
        return PyLong_FromLong(v.u16);
    case TALLY_I32:
        return PyLong_FromLong(v.i32);
    case TALLY_U32:
        return PyLong_FromUnsignedLong(v.u32);
    case TALLY_I64:
        return PyLong_FromLongLong(v.i64);
    case TALLY_U64:
        return PyLong_FromUnsignedLongLong(v.u64);
    case TALLY_F16:
        return PyFloat_FromDouble(half(v.u16));
    case TALLY_BF16:
        return PyFloat_FromDouble(single((uint32_t)v.u16 << 16));
    case TALLY_F32:
        return PyFloat_FromDouble(single(v.u32));
    case TALLY_F64:
        return PyFloat_FromDouble(v.f64);
    }
    PyErr_SetString(PyExc_SystemError, "tally: a dtype without a value");
    return NULL;
}

/* Converts a number through its text, which the library rounds once. Python's text of a float
 * reads back to the same bits, but is 0.0 of a subnormal where the thread flushes these. */
int pt_value_from(PyObject *number, const char *name, tally_dtype dtype, void *value)
{
    if (!PyNumber_Check(number) || PyComplex_Check(number)) {
        PyErr_Format(PyExc_TypeError, "%s is %R: must be a number", name, number);
        return -1;
    }
    PyObject *plain = PyBool_Check(number) || !(dtype >= TALLY_F16) ? PyNumber_Index(number)
                                                                    : PyNumber_Float(number);
    if (plain && PyBool_Check(plain)) {
        PyObject *whole = PyNumber_Long(plain);
        Py_DECREF(plain);
        plain = whole;
    }
    const double real = plain && dtype == TALLY_F64 ? PyFloat_AsDouble(plain) : NAN;
    if (!isnan(real)) {
        memcpy(value, &real, sizeof real);
        Py_DECREF(plain);
        return 0;
    }
    PyObject *text = plain ? PyObject_Repr(plain) : NULL;
    Py_XDECREF(plain);
    if (!plain && !PyIndex_Check(number) && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s is %R: must be an integer, a value of %s", name, number,
                     pt_dtype_name(dtype, 0));
    if (!plain && PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_ValueError, "%s is %R: must be a value of %s", name, number,
                     pt_dtype_name(dtype, 0));
    Py_ssize_t length;
    const char *digits = text ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    int bad = !digits || tally_parse_value(dtype, digits, (size_t)length, value) != TALLY_OK;
    if (digits && bad)
        PyErr_Format(PyExc_ValueError, "%s is %s: must be a value of %s", name, digits,
                     pt_dtype_name(dtype, 0));
    Py_XDECREF(text);
    return bad ? -1 : 0;
}

double pt_real(tally_dtype dtype, const char *values, int64_t at)
{
    switch (dtype) {
    case TALLY_I8:
        return ((const int8_t *)values)[at];
    case TALLY_U8:
        return ((const uint8_t *)values)[at];
    case TALLY_I16:
        return ((const int16_t *)values)[at];
    case TALLY_U16:
        return ((const uint16_t *)values)[at];
    case TALLY_I32:
        return ((const int32_t *)values)[at];
    case TALLY_U32:
        return ((const uint32_t *)values)[at];
    case TALLY_I64:
        return (double)((const int64_t *)values)[at];
    case TALLY_U64:
        return (double)((const uint64_t *)values)[at];
    case TALLY_F16:
        return half(((const uint16_t *)values)[at]);
    case TALLY_BF16:
        return single((uint32_t)((const uint16_t *)values)[at] << 16);
    case TALLY_F32:
        return single(((const uint32_t *)values)[at]);
    default:
        return ((const double *)values)[at];
    }
}

int pt_is_nan(tally_dtype dtype, const char *at)
{
    uint16_t half;
    float single;
    double real;
    switch (dtype) {
    case TALLY_F16:
    case TALLY_BF16:
        memcpy(&half, at, sizeof half);
        return (half & 0x7fff) > (dtype == TALLY_F16 ? 0x7c00 : 0x7f80);
    case TALLY_F32:
        memcpy(&single, at, sizeof single);
        return isnan(single);
    case TALLY_F64:
        memcpy(&real, at, sizeof real);
        return isnan(real);
    default:
        return 0;
    }
}

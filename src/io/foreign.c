/* SPDX-License-Identifier: MIT
 * Recognizes files that tally does not read by their first bytes, and suggests what to do. */
#include "io.h"
#include <string.h>

static const char decompress[] = "decompress it first",
                  in_python[] = "read it by `python -m tally`",
                  convert[] = "write its columns as CSV, or an array as .npy, first",
                  to_utf8[] = "tally reads UTF-8: iconv -f UTF-16 -t UTF-8 FILE",
                  to_utf8_32[] = "tally reads UTF-8: iconv -f UTF-32 -t UTF-8 FILE";

static const struct {
    const char *magic;
    size_t length;
    const char *what, *todo;
} table[] = {
    {"\x1f\x8b\x08", 3, "compressed by gzip twice", decompress},
    {"\x28\xb5\x2f\xfd", 4, "compressed by zstd twice", decompress},
    {"\xfd\x37zXZ\0", 6, "compressed by xz", "decompress it first: xz -dc FILE | tally ..."},
    {"BZh91AY&SY", 10, "compressed by bzip2", "decompress it first: bzip2 -dc FILE | tally ..."},
    {"\x04\x22\x4d\x18", 4, "compressed by lz4", decompress},
    {"\x1f\x9d\x90", 3, "compressed by compress", decompress},
    {"7z\xbc\xaf\x27\x1c", 6, "a 7z archive", decompress},
    {"PK\3\4", 4, "a zip archive, as .npz and .xlsx files are",
     "take one file out of it: unzip -p FILE NAME.npy | tally ..."},
    {"PK\5\6", 4, "an empty zip archive", "there is nothing in it"},
    {"PAR1\x15", 5, "a Parquet file", in_python},
    {"ARROW1\0\0", 8, "an Arrow (Feather) file", in_python},
    {"FEA1\0\0\0\0", 8, "a Feather file", convert},
    {"Obj\1", 4, "an Avro file", convert},
    {"SQLite format 3\0", 16, "an SQLite database", convert},
    {"MATLAB 5.0 MAT-file", 19, "a MATLAB file", convert},
    {"\x80\4\x95", 3, "a Python pickle", convert},
    {"%PDF-", 5, "a PDF document", convert},
    {"\xff\xfe\0\0", 4, "UTF-32 text", to_utf8_32},
    {"\0\0\xfe\xff", 4, "UTF-32 text", to_utf8_32},
    {"\xff\xfe", 2, "UTF-16 text", to_utf8},
    {"\xfe\xff", 2, "UTF-16 text", to_utf8},
};

/* Whether c is a printable ASCII character or white space. */
static int is_text(char c) { return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r'); }

/* Whether the bytes are UTF-16 of ASCII characters without a byte order mark. */
static int is_bare_utf16(const char *p, size_t n)
{
    if (n < 4) return 0;
    return (!p[0] && !p[2] && is_text(p[1]) && is_text(p[3])) ||
           (!p[1] && !p[3] && is_text(p[0]) && is_text(p[2]));
}

static tally_status refuse(tally_file *f, const char *what, const char *todo)
{
    return tl_unsupported_on(f, "this is %s: %s", what, todo);
}

tally_status tl_refuse_foreign(tally_file *f, int text)
{
    int is = 0;
    tally_status s = tl_input_peek(f, 32); /* more than every row has */
    for (size_t i = 0; i < sizeof table / sizeof *table && !s; i++) {
        s = tl_input_begins(f, table[i].magic, table[i].length, &is);
        if (is) return refuse(f, table[i].what, table[i].todo);
    }

    if (s) return s;
    return text && is_bare_utf16(f->peek, f->peek_n) ? refuse(f, "UTF-16 text", to_utf8) : TALLY_OK;
}

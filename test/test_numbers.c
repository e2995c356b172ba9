/* SPDX-License-Identifier: MIT
 * Numbers to and from text: parsing against strtod and strtof, the halves by their definition,
 * and printing: the shortest decimal that reads back to the same bits. */
#include "check.h"
#include "dtype/number.h"
#include <math.h>

static uint64_t bits64(double x)
{
    uint64_t b;
    memcpy(&b, &x, 8);
    return b;
}
static uint32_t bits32(float x)
{
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}

static double half_value(uint64_t b, int mant, int exps) /* f16, bf16 as a double */
{
    const int field = (int)(b >> mant) & ((1 << exps) - 1), bias = (1 << (exps - 1)) - 1;
    const double frac = (double)(b & ((1u << mant) - 1)) / (1 << mant);
    if (field == (1 << exps) - 1) return frac != 0 ? NAN : INFINITY;
    return field ? ldexp(1 + frac, field - bias) : ldexp(frac, 1 - bias);
}

static void number(const char *s)
{
    double d = 0;
    float f = 0;
    check(tally_parse_value(TALLY_F64, s, strlen(s), &d) == TALLY_OK &&
              bits64(d) == bits64(strtod(s, NULL)),
          "f64 %s", s);
    check(tally_parse_value(TALLY_F32, s, strlen(s), &f) == TALLY_OK &&
              bits32(f) == bits32(strtof(s, NULL)),
          "f32 %s", s);
}

static const char *const edges[] = {
    "0",
    "-0",
    "0.0",
    "-0e5",
    "1",
    "+1",
    "1.",
    ".5",
    "-.5e1",
    "9007199254740993",
    "9007199254740992.5",
    "9007199254740993.000000000001",
    "9007199254740992.99999999999999999999999999",
    "1e-400",
    "1e400",
    "-1e400",
    "1e22",
    "1e23",
    "8.5e22",
    "4.9e-324",
    "2.4703282292062327e-324",
    "2.4703282292062327208e-324",
    "2.4703282292062328e-324",
    "2.2250738585072011e-308",
    "2.2250738585072012e-308",
    "2.2250738585072014e-308",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "16777217",
    "16777217.0000001",
    "16777216.99999999999999999999",
    "16777219",
    "1.00000005960464477539062",
    "1.00000005960464477539063",
    "1.000000059604644775390625",
    "1.000000059604644775390625000000000000000000000000000000001",
    "1.0000000596046447753906249999999999999999999",
    "1.17549435e-38",
    "1.17549428e-38",
    "1.4e-45",
    "7e-46",
    "7.0064923216240853546186479164495807e-46",
    "7.006492321624085354618647916449580656401309709382578858785341419448955413429303e-46",
    "3.4028235677973366e38",
    "3.4028235e38",
    "3.40282357e38",
    "3.4028236e38",
    "340282356779733661637539395458142568447",
    "340282356779733661637539395458142568448",
    "0.1",
    "0.2",
    "0.3",
    "123456789012345678",
    "1234567890123456789",
    "12345678901234567890",
    "123456789012345678901234567890",
    "0.000000000000000000000000000000000000000000001",
    "1e+5",
    "1E5",
    "1e-5",
    "1e0000000000000000000005",
    "1e-999999999999999999999",
    "0e999999999999999999999",
    "6929495644600919.5",
    "3.50583e-290",
    "8.988465674311580536566680721305029496276241413130815897397e307",
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
    "9775872070"
    "963302864166928879109465555478519404026306574886715058206819089020007083836762738548458177"
    "1153176447"
    "573027006985557136695962284291481986083493647529271907416844436551070434271155969950809304"
    "2880",
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
    "9775872070"
    "963302864166928879109465555478519404026306574886715058206819089020007083836762738548458177"
    "1153176447"
    "573027006985557136695962284291481986083493647529271907416844436551070434271155969950809304"
    "2879.999",
    "2."
    "225073858507201136057409796709131975934819546351645648023426109724822222021076945516529523"
    "90813508"
    "791414915891303962110687008643869459464552765720740782062174337998814106326732925355228688"
    "1372149012"
    "981122451451889849057222307285255133155755015914397476397983411801999323962548289017107081"
    "8506906306"
    "666559949382757725720157630626906633326475653000092458883164330377797918696120494973903778"
    "2970490505"
    "108060994073026293712895895000358379996720725430436028407889577179615094551674824347103070"
    "2609144621"
    "572289880258182545180325707018860872113128079512233426288368622321503775666622503982534335"
    "9745688844"
    "239002654981983854879482922068947216898310996983658468140228542433306603398508864458040010"
    "3493397042"
    "756718644338377048603786162277173854562306587467901408672332763671875123456789012345678901"
    "2345678901"
    "e-308"};
static const char *const no_numbers[] = {
    "",
    "-",
    "+",
    ".",
    "e5",
    "1e",
    "1e+",
    "1.2.3",
    "0x",
    "0x12",
    "1_000",
    "1,5",
    "--1",
    "+-1",
    "nan(1)",
    "infi",
    "in",
    " 1",
    "1 ",
    "1f",
    "0x3ff000000000000g",
    "0x3ff00000000000000",
};

static void numbers(void)
{
    char s[2048];
    double d;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        number(edges[i]);
        snprintf(s, sizeof s, "-%s", edges[i]);
        if (*edges[i] != '-' && *edges[i] != '+') number(s);
    }
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++)
        check(tally_parse_value(TALLY_F64, no_numbers[i], strlen(no_numbers[i]), &d) ==
                  TALLY_BAD_DATA,
              "refused %s", no_numbers[i]);
    for (int i = 0; i < 4; i++) {
        static const char *const words[] = {"inf", "INF", "Infinity", "+iNf"};
        check(!tally_parse_value(TALLY_F64, words[i], strlen(words[i]), &d) && d == INFINITY,
              "inf %s", words[i]);
    }
    check(!tally_parse_value(TALLY_F64, "-inf", 4, &d) && d == -INFINITY, "-inf");
    check(!tally_parse_value(TALLY_F64, "NaN", 3, &d) && isnan(d), "NaN");
    check(!tally_parse_value(TALLY_F64, "0x7ff8000000000123", 18, &d) &&
              bits64(d) == 0x7ff8000000000123,
          "hex");
}

static void long_numbers(void)
{
    char s[2048];
    memset(s, '0', 1500);
    memcpy(s, "0.", 2);
    strcpy(s + 1000, "12345e1000"); /* many leading zeros */
    number(s);
    memset(s, '9', 1500);
    strcpy(s + 1500, "e-1490");
    number(s);
    for (int q = -345; q <= 310; q++) { /* every row of the table */
        for (int i = 0; i < 40; i++) {
            snprintf(s, sizeof s, "%llue%d",
                     (unsigned long long)(check_random() >> (check_random() % 64)), q);
            number(s);
        }
    }
}

/* Doubles and midpoints, with enough and too many digits. */
static void midpoints(void)
{
    char s[2048];
    double d;
    for (int i = 0; i < (check_quick ? 30000 : 300000); i++) {
        uint64_t b = check_random();
        if (i % 4 == 0) b = (b & 0x800fffffffffffff) | (1023 + check_random() % 64 - 32) << 52;
        if (i % 16 == 1) b &= 0x800fffffffffffff;
        memcpy(&d, &b, 8);
        if (!isfinite(d)) continue;
        snprintf(s, sizeof s, "%.*e", (int)(check_random() % 25), d);
        number(s);
        if (i % 20) continue;
        const int e = (int)(b >> 52 & 0x7ff);
        const long double mid = (long double)d + ldexpl(d < 0 ? -1 : 1, (e ? e : 1) - 1076);
        snprintf(s, sizeof s, "%.800Le", mid); /* exact: half way between two doubles */
        number(s);
        char *const x = strchr(s, 'e');
        x[-1] = '1'; /* a hair above */
        number(s);
        float f = (float)d;
        if (isfinite(f)) {
            snprintf(s, sizeof s, "%.200e", (double)f + (double)(nextafterf(f, 1e38f) - f) / 2);
            number(s);
            char *const y = strchr(s, 'e');
            y[-1] = '1';
            number(s);
        }
    }
}

static void halves(int bf)
{
    const tally_dtype dtype = bf ? TALLY_BF16 : TALLY_F16;
    const int mant = bf ? 7 : 10, exps = bf ? 8 : 5;
    const uint16_t inf = bf ? 0x7f80 : 0x7c00;
    char s[512];
    for (uint32_t b = 0; b < inf; b++) {
        const double lo = half_value(b, mant, exps),
                     hi = b + 1 < inf ? half_value(b + 1, mant, exps)
                                      : 2 * lo - half_value(b - 1, mant, exps);
        const double mid = lo + (hi - lo) / 2;
        uint16_t v = 0;
        int n = snprintf(s, sizeof s, "%.17g", lo);
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b, "half exact %s", s);
        n = snprintf(s, sizeof s, "%.200e", mid);
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b + (b & 1), "half tie %s", s);
        strchr(s, 'e')[-1] = '1';
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b + 1, "half above %s", s);
        n = snprintf(s, sizeof s, "%.17g", nextafter(mid, 0));
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b, "half below %s", s);
        const uint16_t in = (uint16_t)b;
        n = tally_format_value(dtype, &in, 0, s, sizeof s);
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b, "half round trip %s", s);
    }
}

static int digits(const char *s)
{
    int n = 0, zeros = 0, any = 0;
    for (; *s && *s != 'e'; s++)
        if (*s >= '0' && *s <= '9') {
            any |= *s != '0';
            zeros = *s == '0' ? zeros + 1 : 0;
            n += any;
        }
    return n - zeros;
}

static const struct {
    double x;
    const char *s;
} printed[] = {
    {0, "0"},
    {-0.0, "-0"},
    {1, "1"},
    {0.1, "0.1"},
    {-2.5, "-2.5"},
    {1e15, "1000000000000000"},
    {1e16, "1e+16"},
    {1e22, "1e+22"},
    {1e23, "1e+23"},
    {5e-324, "5e-324"},
    {1.7976931348623157e308, "1.7976931348623157e+308"},
    {2.2250738585072014e-308, "2.2250738585072014e-308"},
    {0.0001, "0.0001"},
    {0.00001, "1e-05"},
    {123456.789, "123456.789"},
    {9007199254740992, "9007199254740992"},
    {9007199254740994, "9007199254740994"},
    {INFINITY, "inf"},
    {-INFINITY, "-inf"},
    {NAN, "nan"},
    {0.3, "0.3"},
    {1.0 / 3, "0.3333333333333333"},
};

static void printing(void)
{
    char s[64];
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        tally_format_value(TALLY_F64, &printed[i].x, 0, s, sizeof s);
        check(strcmp(s, printed[i].s) == 0, "%s instead of %s", s, printed[i].s);
    }
    const int64_t low = INT64_MIN;
    const uint64_t high = UINT64_MAX;
    const int8_t small = -5;
    const float one = 1;
    check(tally_format_value(TALLY_I64, &low, 0, s, sizeof s) == 20 &&
              !strcmp(s, "-9223372036854775808"),
          "i64 %s", s);
    check(tally_format_value(TALLY_U64, &high, 0, s, sizeof s) == 20 &&
              !strcmp(s, "18446744073709551615"),
          "u64 %s", s);
    check(tally_format_value(TALLY_I8, &small, 0, s, sizeof s) == 2 && !strcmp(s, "-5"), "i8 %s",
          s);
    check(tally_format_value(TALLY_I8, &small, 1, s, sizeof s) == 4 && !strcmp(s, "0xfb"),
          "i8 hex %s", s);
    check(tally_format_value(TALLY_F32, &one, 1, s, sizeof s) == 10 && !strcmp(s, "0x3f800000"),
          "f32 hex %s", s);
    check(tally_format_value(TALLY_U64, &high, 0, s, 5) == 20 && !strcmp(s, "1844"),
          "small buffer %s", s);
}

static void round_trips(void)
{
    char s[64], t[64];
    for (int i = 0; i < (check_quick ? 40000 : 400000); i++) {
        uint64_t b = check_random();
        double d, back = 0;
        if (i % 3 == 0)
            b = (b >> 20 << 20 & 0x800fffffffffffff) | (1023 + check_random() % 40) << 52;
        if (i % 50 == 0) b &= 0xfff0000000000000; /* powers of two: the lower neighbour is closer */
        memcpy(&d, &b, 8);
        if (!isfinite(d)) continue;
        const int n = tally_format_value(TALLY_F64, &d, 0, s, sizeof s);
        check(!tally_parse_value(TALLY_F64, s, (size_t)n, &back) && bits64(back) == b &&
                  bits64(strtod(s, NULL)) == b,
              "f64 round trip %s", s);
        int p = 1;
        if (i % 10 == 0) {
            do snprintf(t, sizeof t, "%.*e", p++ - 1, d);
            while (strtod(t, NULL) != d);
            check(digits(s) <= digits(t), "shortest f64 %s", s);
        }
        const uint32_t b4 = (uint32_t)(check_random() >> 7);
        float f, g = 0;
        memcpy(&f, &b4, 4);
        if (!isfinite(f)) continue;
        const int m = tally_format_value(TALLY_F32, &f, 0, s, sizeof s);
        check(!tally_parse_value(TALLY_F32, s, (size_t)m, &g) && bits32(g) == b4 &&
                  bits32(strtof(s, NULL)) == b4,
              "f32 round trip %s", s);
        if (i % 10 == 0) {
            p = 1;
            do snprintf(t, sizeof t, "%.*e", p++ - 1, (double)f);
            while (strtof(t, NULL) != f);
            check(digits(s) <= digits(t), "shortest f32 %s", s);
        }
    }
}

/* The powers of five: a hash of the table that Python's integers gave. */
static void powers_of_five(void)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int q = TL_POW5_MIN; q <= TL_POW5_MAX; q++)
        for (int k = 0; k < 2; k++) {
            h = (h ^ tl_pow5[q - TL_POW5_MIN][k]) * 0x100000001b3u;
            h ^= h >> 32;
        }
    check(h == 0x7bc55e3e77d2cb59u, "the powers of five have the hash %016llx",
          (unsigned long long)h);
}

int main(void)
{
    check_start();
    powers_of_five();
    numbers();
    long_numbers();
    midpoints();
    halves(0);
    halves(1);
    printing();
    round_trips();
    return check_finish();
}

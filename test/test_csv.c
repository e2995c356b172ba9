/* SPDX-License-Identifier: MIT
 * What a CSV file means: ends of lines, headers, comments, groups of three digits, names that two
 * columns have, files that are something else; and the hash of keys. What is not certain is
 * refused, and the sentence names the option that decides. */
#define _GNU_SOURCE
#include "files.h"
#include <dlfcn.h>
#include <sys/random.h>
#include <unistd.h>
#include "io/hash.h"

/* In this program the secret of every table of keys is 0, so that two texts can have one hash. */
ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    (void)flags;
    memset(to, 0, bytes);
    return (ssize_t)bytes;
}

/* The sum of the values of a text, on one to three threads, from a file and in pieces of `step`. */
static void gives(const char *content, size_t n, tally_file_options o, double sum)
{
    if (!o.format) o.format = "csv";
    save("t", content, n);
    for (threads = 1; threads <= 3; threads++) {
        const int64_t got = load(path("t"), &o, threads == 2 ? 2 : 1000);
        double s = 0;
        for (int64_t i = 0; i < got; i++) s += values[i];
        check(got >= 0 && s == sum, "%.60s: %g instead of %g (%s)", content, s, sum,
              got < 0 ? tally_error(NULL) : "");
    }
    threads = 1;
}
static void sums(const char *content, tally_file_options o, double sum)
{
    gives(content, strlen(content), o, sum);
}

static void refuses(const char *content, tally_file_options o, const char *sentence)
{
    if (!o.format) o.format = "csv";
    save("t", content, strlen(content));
    check(load(path("t"), &o, 1000) == -1 && strstr(tally_error(NULL), sentence),
          "%.60s: '%s' is not in '%s'", content, sentence, tally_error(NULL));
}

#define COLUMN(c)  ((tally_file_options){.column = c})
#define TABLE(...) ((tally_file_options){.table = 1, __VA_ARGS__})
static const tally_file_options plain;

static void headers(void)
{
    static const char years[] = "region,2023,2024,2025\nEMEA,10,20,30\nAPAC,5,6,7\n";
    static const char say[] = "may be a header or data: say --header yes or --header no";
    refuses(years, TABLE(), say);
    refuses(years, COLUMN("2"), say);
    refuses(years, ((tally_file_options){.by = "1", .column = "2"}), say);
    sums(years, TABLE(.header = 1), 78);
    sums(years, TABLE(.header = -1), 78 + 2023 + 2024 + 2025);
    sums(years, ((tally_file_options){.by = "region", .column = "2"}), 15);
    sums(years, ((tally_file_options){.header = 1, .column = "2024"}), 26);
    refuses(",0,1\n0,1.5,2\n1,3,4\n", TABLE(), say); /* as pandas writes a table */
    refuses(",2023\nOslo,1\n", COLUMN("2"), say);
    refuses("Oslo,3\n", COLUMN("2"), say);
    refuses("Oslo,x\nOslo,3\nRome,4\n", COLUMN("2"), say); /* the signs contradict each other */
    refuses("Oslo 3\nRome 4\n", ((tally_file_options){.format = "text", .column = "2"}), say);
    /* certain: a word over a number, over a time; words alone; a word that comes again; a time
       over a time; numbers alone */
    sums("region,n,2024\nEMEA,1,20\n", COLUMN("3"), 20);
    sums("when,2024\n2024-05-01,20\n", COLUMN("2"), 20);
    sums("a,b\nx,20\n", COLUMN("2"), 20);
    /* the first line of data has no cell below the last name; 64 cells fill their memory, which
       shows where a sanitizer watches */
    char wide[1000] = "";
    for (int line = 0; line < 3; line++)
        for (int i = 0, n = line == 1 ? 64 : 65; i < n; i++)
            sprintf(wide + strlen(wide), line ? "%d%s" : "c%d%s", i, i + 1 < n ? "," : "\n");
    sums(wide, COLUMN("c5"), 10);
    sums("Oslo,3\nRome,4\nOslo,5\n", COLUMN("2"), 12);
    sums("2024-05-01,3\n2024-05-02,4\n", COLUMN("2"), 7);
    sums("1,2\n3,4\n", COLUMN("2"), 6);
    /* a table whose word comes again far below */
    char far[2000] = "first,1\n";
    for (int i = 0; i < 100; i++) sprintf(far + strlen(far), "w%d,1\n", i);
    sums(strcat(far, "first,1\n"), COLUMN("2"), 102);
}

static void comments(void)
{
    static const char data[] = "tag,v\n#1,10\n#2,20\nx,30\n";
    sums(data, COLUMN("v"), 60);
    sums(data, ((tally_file_options){.column = "v", .comment = '#'}), 30);
    sums("a,v\n%1,10\nx,30\n", ((tally_file_options){.column = "v", .comment = '%'}), 30);
    refuses("# made today\na,v\n1,2\n", COLUMN("v"), "may be a comment: say --comment '#' if");
    sums("# made today\na,v\n1,2\n", ((tally_file_options){.column = "v", .comment = '#'}), 2);
    refuses("a,v\n1,2\n# end\n", COLUMN("v"), "no column 2; --comment '#' skips lines");
    sums("#t,v\n1,2\n", COLUMN("v"), 2); /* a header */
    const tally_file_options text = {.format = "text"};
    sums("1\n# 5\n2\n", text, 3);
    refuses("1\n# 5\n2\n", ((tally_file_options){.format = "text", .comment = -1}),
            "'#' is not a number");
    refuses("a\n1\n", ((tally_file_options){.comment = '"'}), "comment is '\"' (34)");
    tally_file *f;
    tally_file_info info;
    save("t", data, strlen(data));
    const tally_file_options o = {.format = "csv", .column = "v", .keep = 1, .comment = '#'};
    int64_t got = 1;
    check_ok(NULL, tally_file_open(NULL, path("t"), &o, &f), "open");
    while (got && !tally_file_read(f, values, 10, &got)) {
    }
    tally_file_get_info(f, &info);
    check(info.comments == 2, "%lld comments", (long long)info.comments);
    tally_file_close(f);
}

static void digits(void)
{
    static const char data[] = "state,pop,tax\nAL,\"4,903,185\",4\nAK,\"731,545\",0\n";
    refuses(data, plain,
            "column 2 has '4,903,185', which is no number here: read it with "
            "--thousands ','");
    refuses(data, TABLE(), "read it with --thousands ','");
    refuses(data, COLUMN("pop"), "'4,903,185' is not a number; --thousands ',' reads such numbers");
    sums(data, COLUMN("tax"), 4);
    sums(data, ((tally_file_options){.column = "pop", .thousands = ','}), 5634730);
    sums(data, TABLE(.thousands = ','), 5634734);
    sums(data, ((tally_file_options){.column = "pop", .thousands = ',', .dtype = TALLY_F64}),
         5634730);
    sums("v\n1'234.5\n-2'000\n", ((tally_file_options){.thousands = '\''}), -765.5);
    sums("1_000 7\n", ((tally_file_options){.format = "text", .thousands = '_'}), 1007);
    sums("v;w\n\"1 000\";7\n", ((tally_file_options){.column = "v", .thousands = ' '}), 1000);
    static const char *const wrong[] = {"4,90", "4,9031", "1234,567", ",123", "4,,903", "4,903,"};
    for (int i = 0; i < 6; i++) {
        char text[40];
        snprintf(text, sizeof text, "a,v\n1,\"%s\"\n", wrong[i]);
        refuses(text, ((tally_file_options){.column = "v", .thousands = ','}), "is not a number");
    }
    refuses("a;b\n3,14;2\n", plain, "'3,14', which is no number here: read it with --decimal ','");
    static const char *const other[][2] = {{"1.234,50", "--decimal ',' --thousands '.'"},
                                           {"-1 234,5", "--decimal ',' --thousands ' '"},
                                           {"1'234.5", "--thousands \"'\""}};
    for (int i = 0; i < 3; i++) {
        char text[40], sentence[100];
        snprintf(text, sizeof text, "a;b\n%s;2\n", other[i][0]);
        snprintf(sentence, sizeof sentence, "no number here: read it with %s, or", other[i][1]);
        refuses(text, plain, sentence);
        snprintf(sentence, sizeof sentence, "is not a number; %s reads such numbers", other[i][1]);
        refuses(text, COLUMN("a"), sentence);
    }
    refuses("a;b\n1.234,50;2\n", ((tally_file_options){.column = "a", .decimal = ','}),
            "--decimal ',' --thousands '.' reads such numbers");
    sums("a;b\n192.168.100.200;2\n", plain, 2); /* no number in any spelling */
    refuses("1\n", ((tally_file_options){.thousands = '.'}), "thousands is '.': must be one of");
}

static void names(void)
{
    refuses("", COLUMN("v"), "no column 'v': the input is empty");
    refuses("\n \n", COLUMN("2"), "no column '2': the input is empty");
    refuses("", ((tally_file_options){.by = "k"}), "no column 'k': the input is empty");
    refuses("a,b\n", plain, "there is no line below the header; choose the column");
    refuses("t,v\n2024-05-01,1\n", ((tally_file_options){.column = "v", .by = "t.week"}),
            "no column 't.week'; the columns are 1 't', 2 'v'; parts of dates are .year, .season");
    refuses("t,v\n2024-05-01,1\n", ((tally_file_options){.column = "v", .by = "u.month"}),
            "no column 'u'; the columns are");
    sums("", plain, 0);
    sums("a,v\n", COLUMN("v"), 0); /* it is there */
    refuses("v,w,v\n1,2,3\n", COLUMN("v"), "columns 1 and 3 are both called 'v': choose by number");
    sums("v,w,v\n1,2,3\n", COLUMN("3"), 3);
    sums("v,w,v\n1,2,3\n", COLUMN("w"), 2);
}

/* CR, LF and CR LF end lines alike, wherever blocks are cut. */
static void ends_of_lines(void)
{
    sums("a,v\r1,2\r3,4\r", COLUMN("v"), 6);
    sums("a,v\r1,2\r\n3,4\n5,6", COLUMN("v"), 12);
    sums("a,v\r\r1,2\r\r\n\r3,4\r", COLUMN("v"), 6);
    sums("# one\r1\r2\r# three\r3\r", ((tally_file_options){.format = "text"}), 6);
    sums("k,v\r\"a\rb\",2\r\"\r\",4\r", COLUMN("v"), 6);
    refuses("v\r1\r2\rx\r", COLUMN("v"), "/t:4:1: 'x' is not a number");
    /* blocks of TL_TEXT_SHARE a thread, read in parts: with CR alone each line has 8 bytes and the
       last byte of a block is a CR */
    const size_t capacity = 9 * (TL_TEXT_SHARE / 4);
    char *const big = malloc(capacity);
    static const char *const ends[] = {"\r", "\n", "\r\n"};
    for (int kind = 0; kind < 4; kind++) {
        size_t n = (size_t)sprintf(big, "k,v%s", ends[kind % 3]);
        int64_t lines = 0, got = 1, count = 0, sum = 0;
        for (; n + 40 < capacity; lines++)
            n += (size_t)sprintf(big + n, "%d,1%s", 10000 + (int)check_below(90000),
                                 ends[kind < 3 ? kind : (int)check_below(3)]);
        save("t", big, n);
        for (threads = 1; threads <= 3; threads++) {
            tally_file *f;
            const tally_file_options o = {.format = "csv", .column = "v"};
            tally_status s = tally_file_open(NULL, path("t"), &o, &f);
            for (got = 1, count = sum = 0; !s && got;) {
                s = tally_file_read(f, values, 50000, &got);
                for (int64_t i = 0; i < got; i++) sum += (int64_t)values[i];
                count += got;
            }
            check(!s && count == lines && sum == lines, "ends %d: %lld of %lld lines", kind,
                  (long long)count, (long long)lines);
            tally_file_close(f);
        }
    }
    threads = 1;
    free(big);
}

static void quotes(void)
{
    /* not closed in the header, which would hide all data */
    refuses("a,\"b\n1,2\n", COLUMN("a"), "/t:1:3: a quoted cell is not closed");
    refuses("\"a\nb\",\"c\n1,2\n", COLUMN("2"), "/t:2:4: a quoted cell is not closed");
    /* not closed, in a cell after the last one that is read */
    refuses("a,b,c\n1,2,\"x\n3,4,y\n", COLUMN("a"), "/t:2:5: a quoted cell is not closed");
    refuses("a,b,c\n1,\"x,3\n3,4,y\n", COLUMN("a"), "/t:2:3: a quoted cell is not closed");
    refuses("a,b\n1,\"x\n", ((tally_file_options){.by = "a", .column = "1"}),
            "a quoted cell is not closed");
}

static void foreign(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *sentence, *library; /* library: what decompresses */
    } files[] = {
        {"\x1f\x8b\x08\0\0", 5, "is damaged near byte 5 of its gzip data: it ends too early",
         "libz.so.1"},
        {"\x28\xb5\x2f\xfd\0", 5, "is damaged near byte 5 of its zstd data: it ends too early",
         "libzstd.so.1"},
        {"\xfd"
         "7zXZ\0\0",
         7, "this is compressed by xz"},
        {"BZh91AY&SY\0", 11, "this is compressed by bzip2"},
        {"PK\3\4\0\0", 6, "this is a zip archive, as .npz"},
        {"PAR1\x15\0", 6, "this is a Parquet file"},
        {"ARROW1\0\0", 8, "this is an Arrow (Feather) file"},
        {"\xff\xfe"
         "1\0\n\0",
         6, "this is UTF-16 text: tally reads UTF-8"},
        {"\xfe\xff"
         "\0"
         "1\0\n",
         6, "this is UTF-16 text"},
        {"1\0\n\0"
         "2\0",
         6, "this is UTF-16 text"},
        {"\0"
         "1\0\n",
         4, "this is UTF-16 text"},
    };
    static const char *const formats[] = {NULL, "text", "csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int k = 0; k < 3; k++) {
            save("t", files[i].bytes, files[i].n);
            const tally_file_options o = {.format = formats[k]};
            const int here = !files[i].library || dlopen(files[i].library, RTLD_NOW);
            const char *const sentence = here ? files[i].sentence : "is not here: ";
            check(load(path("t"), &o, 100) == -1 && strstr(tally_error(NULL), sentence) &&
                      !strstr(tally_error(NULL), "--format raw"),
                  "'%s' is not in '%s'", sentence, tally_error(NULL));
        }
    save("t", "BZh9,1\n", 7);
    check(load(path("t"), &(tally_file_options){.format = "csv", .header = -1, .column = "2"}, 9) ==
              1,
          "text is no archive: %s", tally_error(NULL));
    save("t", "\x1f\x8b\x08\0", 4); /* asked for as they are */
    check(load(path("t"), &(tally_file_options){.format = "raw", .dtype = TALLY_I32}, 9) == 1,
          "raw: %s", tally_error(NULL));
}

/* A bad cell comes before the damage that follows it (a wrong checksum of gzip), however far a
 * thread decompresses ahead of the reader. */
static void damage_after_a_bad_cell(void)
{
    enum { HEAD = 10, BLOCK = 5, TEXT = 60000 };
    static char gzip[HEAD + BLOCK + TEXT + 8] = "\x1f\x8b\x08\0\0\0\0\0\0\3\1\x60\xea\x9f\x15";
    for (int i = 0; i < TEXT; i++) gzip[HEAD + BLOCK + i] = i % 2 ? '\n' : i == 40000 ? 'x' : '1';
    save("t", gzip, sizeof gzip); /* one block that is stored as it is */

    if (!dlopen("libz.so.1", RTLD_NOW)) return;
    for (int wait = 0; wait < 2; wait++) {
        tally_file *f;
        int64_t got = 0;
        tally_status s = tally_file_open(NULL, path("t"), &plain, &f);
        check(s == TALLY_OK, "it opens: %s", tally_error(NULL));
        if (wait) usleep(50000);
        for (; !s && got >= 0; got = s ? -1 : got) s = tally_file_read(f, values, 20000, &got);
        check(s && strstr(tally_error(NULL), "/t:20001:1: 'x' is not a number"), "%s",
              tally_error(NULL));
        tally_file_close(f);
    }
}

/* Python's hash of bytes is SipHash-1-3, with PYTHONHASHSEED=0 of the key 0. */
static void hashes(void)
{
    static const struct {
        const char *text;
        uint64_t hash;
    } expected[] = {{"a", 4644417185603328019u},
                    {"abc", 13851880170939887858u},
                    {"12345678", 3785724242978802311u},
                    {"The quick brown fox", 10907226846199710515u}};
    const uint64_t zero[2] = {0, 0}, other[2] = {1, 0};
    for (int i = 0; i < 4; i++) {
        char text[40] = {0};
        memset(text, 0x5a, sizeof text);
        memcpy(text, expected[i].text, strlen(expected[i].text));
        tl_hash h = tl_hash_begin(zero), g = tl_hash_begin(other);
        tl_hash_text(&h, text, strlen(expected[i].text));
        tl_hash_text(&g, text, strlen(expected[i].text));
        const uint64_t a = tl_hash_end(&h), b = tl_hash_end(&g);
        check(a == expected[i].hash && a != b, "hash of %s is %llu", expected[i].text,
              (unsigned long long)a);
    }
}

/* Two texts whose hashes are equal under the key 0 (found by a search of 2^32 texts) stay two
 * groups. */
static void equal_hashes(void)
{
    static const char *const key[] = {"pedagookafijeepm", "ahgkfkimhggnnmen", "other"};
    static const int32_t want[] = {0, 1, 0, 1, 2};
    const uint64_t zero[2] = {0, 0};
    uint64_t hash[2];
    char text[200] = "k,v\n";
    for (int i = 0; i < 2; i++) {
        char padded[40] = {0};
        strcpy(padded, key[i]);
        tl_hash h = tl_hash_begin(zero);
        tl_hash_text(&h, padded, strlen(key[i]));
        hash[i] = tl_hash_end(&h);
    }
    check(hash[0] == hash[1], "the texts have two hashes: the test needs others");
    for (int i = 0; i < 5; i++) sprintf(text + strlen(text), "%s,%d\n", key[want[i]], i);
    save("t", text, strlen(text));

    tally_file *f;
    const tally_file_options o = {.format = "csv", .by = "k", .column = "v"};
    int32_t codes[5] = {-1, -1, -1, -1, -1};
    int64_t got = 0;
    check_ok(NULL, tally_file_open(NULL, path("t"), &o, &f), "open");
    check_ok(NULL, tally_file_read_by(f, values, codes, 5, &got), "read");
    check(got == 5 && !memcmp(codes, want, sizeof want), "equal hashes: codes %d %d %d %d %d",
          codes[0], codes[1], codes[2], codes[3], codes[4]);
    check(tally_file_groups(f) == 3, "%lld groups", (long long)tally_file_groups(f));
    for (int i = 0; i < 3; i++) {
        const char *const is = tally_file_key(f, i, 0);
        check(is && !strcmp(is, key[i]), "group %d is %s", i, is ? is : "none");
    }
    tally_file_close(f);
}

int main(void)
{
    files_start();
    headers();
    comments();
    digits();
    names();
    ends_of_lines();
    quotes();
    foreign();
    damage_after_a_bad_cell();
    hashes();
    equal_hashes();
    return files_finish();
}

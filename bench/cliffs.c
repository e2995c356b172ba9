/* SPDX-License-Identifier: MIT
 *
 * cliffs.c - the cliff finder: every operator x type x shape x view x size beside the ceiling of
 * the same bytes.
 *
 * Each cell's bits are compared before it is timed; a difference ends the run with exit 1.
 * Results are appended to the file one by one, and cells that it already has are not measured
 * again: a run can be stopped and continued.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "cliffs.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] = "usage: cliffs --file FILE [--quick | --full | --sweep] [--device "
                            "cpu|cuda:N|opencl:N] [--threads 1,2] [--ops WORDS]\n"
                            "              [--types WORDS] [--shapes WORDS] [--views WORDS] "
                            "[--sizes WORDS] [--seconds S] [--rounds R]\n"
                            "              [--bytes B] [--operators FOLDER] [--list]\n"
                            "Words are separated by commas. Without --quick, --full and --sweep: "
                            "everything that the words name.\n";
static const char head[] =
    "device,threads,op,dtype,shape,view,size,n,in_bytes,out_bytes,ns,spread,ceiling_ns,"
    "ceiling_spread,ceiling,ratio,gbps,checked\n";

typedef struct run_state {
    place *p;
    tally *cpu; /* the truth for a GPU */
    FILE *file;
    int rounds, listing, team_given;
    double end;
    int64_t wanted, done, skipped, failed, stopped, above;
    char **done_keys; /* keys that the file has, sorted */
    int64_t done_count;
    const char *operators;
} run_state;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The keys of the rows of a file: what stands before the eighth value. A last line without its
   end is cut off. */
static int read_done_keys(run_state *s, const char *path)
{
    FILE *f = fopen(path, "r+");
    char line[1024];
    int64_t capacity = 0;
    long whole = 0;
    int old = 0;
    while (f && fgets(line, sizeof line, f) && strchr(line, '\n')) {
        whole = ftell(f);
        old = 1;
        char *at = line;
        for (int i = 0; i < 7 && at; i++) at = strchr(at + (i > 0), ',');
        if (line[0] == '#' || !at || !strncmp(line, "device,", 7)) continue;
        *at = 0;
        if (s->done_count == capacity) {
            char **more =
                realloc(s->done_keys, (size_t)(capacity = 2 * capacity + 64) * sizeof *more);
            if (!more) break;
            s->done_keys = more;
        }
        s->done_keys[s->done_count++] = strdup(line);
    }
    if (f && !ftruncate(fileno(f), whole)) old = old && whole;
    if (f) fclose(f);
    if (s->done_keys) qsort(s->done_keys, (size_t)s->done_count, sizeof *s->done_keys, by_text);
    return old;
}

static void about(FILE *f, const char *set, const run_state *s)
{
    char date[32], load[64] = "";
    const time_t t = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%MZ", gmtime(&t));
    FILE *l = fopen("/proc/loadavg", "r");
    if (l && fscanf(l, "%63[^\n]", load) != 1) load[0] = 0;
    if (l) fclose(l);
    fprintf(f, "# run %s, tally %s, %s, %s, load %s, %s\n", date, tally_version(), s->p->device,
            s->p->text, load, set);
}

static int count_one(const cell *c, void *with)
{
    run_state *s = with;
    char key[CLIFF_KEY], *at = key;
    cell_key(c, s->p->device, key, sizeof key);
    s->wanted += !s->done_count ||
                 !bsearch(&at, s->done_keys, (size_t)s->done_count, sizeof *s->done_keys, by_text);
    if (s->listing) printf("%s\n", key);
    return 1;
}

/* Another number of threads is another place; arrays stay as they are. */
static int team(run_state *s, int threads)
{
    place *p = s->p;
    char device[sizeof p->device];
    if (!p->threads || p->threads == threads) return 1;
    memcpy(device, p->device, sizeof device);
    cell_free(p);
    p->close(p);
    const size_t slow = p->slow; /* --bytes */
    const int good = place_open(p, device, threads) && cells_define(p->ctx);
    p->slow = slow;
    return good;
}

static int measure_one(const cell *c, void *with)
{
    run_state *s = with;
    char key[CLIFF_KEY], *at = key;
    figures f;
    cell_key(c, s->p->device, key, sizeof key);
    if (s->done_count &&
        bsearch(&at, s->done_keys, (size_t)s->done_count, sizeof *s->done_keys, by_text))
        return 1;
    if (s->end > 0 && now() > s->end) return s->stopped = 1, 0;
    if (!team(s, c->threads)) return s->failed++, 0;
    s->done++;
    const outcome o = cell_measure(s->p, s->cpu, c, s->rounds, &f);
    if (o == CELL_FAILED) return s->failed++, 0;
    if (o != CELL_DONE) return s->skipped++, 1;
    const double ratio = f.ceiling / f.seconds;
    const int above = ratio > CLIFF_ABOVE;
    fprintf(s->file, "%s,%lld,%zu,%zu,%.1f,%.3f,%.1f,%.3f,%s,%.4f,%.2f,%s\n", key, (long long)f.n,
            f.in_bytes, f.out_bytes, f.seconds * 1e9, f.spread, f.ceiling * 1e9, f.ceiling_spread,
            f.loop, ratio, (double)(f.in_bytes + f.out_bytes) / f.seconds * 1e-9, f.law);
    fflush(s->file);
    printf("[%lld/%lld] %-64s %12.1f us  %5.2f of %s%s\n", (long long)s->done, (long long)s->wanted,
           key, f.seconds * 1e6, ratio, f.loop, above ? "  MORE THAN ITS CEILING" : "");
    fflush(stdout);
    s->above += above && f.in_bytes + f.out_bytes >= CLIFF_CHECKED;
    return 1;
}

static const char *option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name)) return argv[i + 1];
    return NULL;
}
static int flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name)) return 1;
    return 0;
}

/* The words that a sweep has where none are given. */
static selection swept(selection chosen)
{
    cells_sweep();
    if (!chosen.ops) chosen.ops = "sum";
    if (!chosen.types) chosen.types = "f32";
    if (!chosen.shapes) chosen.shapes = "reduce,scan,window=20";
    if (!chosen.sizes) chosen.sizes = "dram";
    return chosen;
}

/* Every argument is an option, with its value where it has one. */
static int are_options(int argc, char **argv)
{
    static const char *const valued[] = {"--file",    "--device", "--threads", "--ops",
                                         "--types",   "--shapes", "--views",   "--sizes",
                                         "--seconds", "--rounds", "--bytes",   "--operators"};
    static const char *const flags[] = {"--quick", "--full", "--sweep", "--list"};
    for (int i = 1; i < argc; i++) {
        int good = 0;
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            good |= !strcmp(argv[i], flags[k]);
        for (size_t k = 0; k < sizeof valued / sizeof *valued && !good; k++)
            if (!strcmp(argv[i], valued[k]) && i + 1 < argc) good = 2;
        if (!good)
            return fprintf(stderr, "cliffs: '%s' is no option, or its value is missing\n%s",
                           argv[i], usage),
                   0;
        i += good == 2;
    }
    return 1;
}

int main(int argc, char **argv)
{
    place p;
    run_state s = {.p = &p, .rounds = 5};
    int teams[CLIFF_TEAMS] = {team_most()}, team_count = 1;
    if (!are_options(argc, argv)) return 2;
    const char *path = option(argc, argv, "--file"), *device = option(argc, argv, "--device"),
               *value;
    const char *set = flag(argc, argv, "--quick")  ? "quick"
                      : flag(argc, argv, "--full") ? "full"
                                                   : "all";
    selection chosen = {option(argc, argv, "--ops"), option(argc, argv, "--types"),
                        option(argc, argv, "--shapes"), option(argc, argv, "--views"),
                        option(argc, argv, "--sizes")};
    if (flag(argc, argv, "--sweep")) chosen = swept(chosen);
    s.listing = flag(argc, argv, "--list");
    if (!path && !s.listing) return fprintf(stderr, "%s", usage), 2;
    if ((value = option(argc, argv, "--rounds"))) s.rounds = atoi(value) > 2 ? atoi(value) : 3;
    if ((value = option(argc, argv, "--threads")))
        for (team_count = 0; *value && team_count < CLIFF_TEAMS; value += *value == ',')
            teams[team_count++] = (int)strtol(value, (char **)(uintptr_t)&value, 10);
    for (int i = 0; i < team_count; i++)
        if (teams[i] < 1 || teams[i] > 1024)
            return fprintf(stderr, "cliffs: --threads: must be 1..1024\n"), 2;
    if (!place_open(&p, device ? device : "cpu", teams[0])) return 3;
    if (!p.threads) teams[0] = team_count = 1;
    if ((value = option(argc, argv, "--bytes"))) p.slow = (size_t)strtoull(value, NULL, 0);
    if (!cells_operators(p.ctx, option(argc, argv, "--operators")))
        return fprintf(stderr, "cliffs: %s\n", tally_error(p.ctx)), 1;
    if (!p.threads && (tally_open(&s.cpu, "cpu") || !cells_define(s.cpu)))
        return fprintf(stderr, "cliffs: %s\n", tally_error(s.cpu)), 1;
    const int old = path && read_done_keys(&s, path);
    if (!cells_each(&p, set, &chosen, teams, team_count, count_one, &s)) return 2;
    if (s.listing) return printf("%lld cells\n", (long long)s.wanted), 0;
    if (!(s.file = fopen(path, "a"))) return perror(path), 1;
    about(s.file, set, &s);
    if (!old) fputs(head, s.file);
    fflush(s.file);
    if ((value = option(argc, argv, "--seconds"))) s.end = now() + atof(value);
    const double start = now();
    cells_each(&p, set, &chosen, teams, team_count, measure_one, &s);
    printf("%lld of %lld cells in %.0f s; %lld have nothing to do or are not supported; %lld "
           "failed%s\n",
           (long long)s.done, (long long)s.wanted, now() - start, (long long)s.skipped,
           (long long)s.failed, s.stopped ? "; out of time: the same command continues" : "");
    fclose(s.file);
    cell_free(&p);
    p.close(&p);
    tally_close(s.cpu);
    if (s.above)
        fprintf(
            stderr,
            "cliffs: %lld cells in memory are above %.2f of their ceiling, which is wrong there\n",
            (long long)s.above, CLIFF_ABOVE);
    return s.failed ? 1 : s.above ? 4 : 0;
}

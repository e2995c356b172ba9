/* SPDX-License-Identifier: MIT
 *
 * bench.c - tally beside its ceiling and its peers, interleaved in one process.
 *
 *     bench [--rounds R] [--threads 1,2] [--json FILE] [--ceilings] [--calls] [PROBLEM...]
 *
 * Without problems it runs all of rows.def. Every round runs the ceiling, tally, peer A, peer B,
 * ... once each (short ones many times over); the figure is the median of the rounds. A result
 * that is off tally's by more than 10^-3 is marked: float sums that stall are.
 */
#include "bench.h"
#include "ceiling.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTENDERS = 32, ROUNDS = 64, PEERS = 256, TOP = 2 };

static const struct bar {
    const char *word;
    int threads;
    const char *against;
    double least;
} bars[] = {
#define BAR(word, threads, against, least) {word, threads, against, least},
#include "rows.def"
};
enum { BARS = sizeof bars / sizeof *bars };

typedef struct contender {
    const char *name;
    const peer *peer;         /* a peer, */
    const ceiling_loop *loop; /* or a ceiling, or (both NULL) tally */
    double seconds[ROUNDS], gbps, off;
    int repeat, rounds;
} contender;

static const peer *peers[PEERS];
static int peer_count, rounds = 9, failed;
static FILE *json;

static void add_peers(const peer *list, int count)
{
    for (int i = 0; i < count && peer_count < PEERS; i++) peers[peer_count++] = &list[i];
}

/* The shared objects beside this program. Before anything is pinned, so that TBB sees all
   processors. */
static void open_peers(void)
{
    static const char *const names[] = {"peers-o3.so", "peers-ofast.so"};
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    add_peers(peers_ofast, peers_ofast_count);
    add_peers(peers_shapes, peers_shapes_count);
    add_peers(peers_hand, peers_hand_count);
    for (int i = 0; i < 2 && length > 0; i++) {
        path[length] = 0;
        strcpy(strrchr(path, '/') + 1, names[i]);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "no C++ peers: %s is not here\n", names[i]);
            continue;
        }
        const peer_list list = (peer_list)(uintptr_t)dlsym(library, "bench_peers");
        int count = 0;
        const peer *found = list ? list(&count) : NULL;
        add_peers(found, count);
    }
}

/* The bytes that a ceiling writes: those of the job; none for a reduction, whose results are
   few. */
static size_t writes(const job *j)
{
    return j->shape == SCAN || j->shape == WINDOW ? j->out_bytes : 0;
}

static double run_once(contender *c, const job *j)
{
    if (c->loop)
        return ceiling_time(c->loop, j->threads, j->out, writes(j), j->in, j->in_bytes, c->repeat);
    const double start = now();
    for (int r = 0; r < c->repeat; r++) {
        if (c->peer)
            c->peer->run(j);
        else if (!subject_run(j)) {
            failed = 1;
            return NAN;
        }
    }
    return now() - start;
}

/* OpenMP's threads are pinned, tally's are free, TBB's pin themselves. OpenMP's spin for a while
   after their work: others must not share a processor with that. */
static void prepare(const contender *c, int threads)
{
    if (c->peer && c->peer->tbb)
        usleep(30000);
    else if (!c->peer && !c->loop)
        team_free();
    else
        team_pin(threads);
}

static double bytes_of(const contender *c, const job *j)
{
    return (double)(j->in_bytes + (c->loop ? writes(j) : j->out_bytes));
}

/* Ceilings are picked once for a proportion, a team and a size class, on the arrays of the row
   that asks first. */
static int pick(const job *j, const ceiling_loop **best)
{
    static struct {
        int proportion, threads, small, count;
        const ceiling_loop *best[TOP];
    } picked[64];
    const int small = j->in_bytes <= (1u << 20), proportion = (int)(8 * writes(j) / j->in_bytes);
    int k = 0;
    while (picked[k].count && (picked[k].proportion != proportion ||
                               picked[k].threads != j->threads || picked[k].small != small))
        k++;
    if (!picked[k].count) {
        picked[k].proportion = proportion;
        picked[k].threads = j->threads;
        picked[k].small = small;
        picked[k].count = ceiling_pick(j->threads, j->out, writes(j), j->in, j->in_bytes, 5,
                                       picked[k].best, NULL, TOP);
    }
    memcpy(best, picked[k].best, sizeof picked[k].best);
    return picked[k].count;
}

static int gather(const job *j, contender *list)
{
    const ceiling_loop *best[TOP];
    int count = 0;
    const int loops = pick(j, best);
    for (int i = 0; i < loops; i++)
        list[count++] = (contender){.name = best[i]->name, .loop = best[i]};
    if (subject_here()) list[count++] = (contender){.name = "tally"};
    for (int i = 0; i < peer_count && count < CONTENDERS; i++) {
        const peer *p = peers[i];
        if (strcmp(p->op, j->op) || p->type != j->type || p->shape != j->shape) continue;
        if ((p->threads > 1) != (j->threads > 1)) continue;
        list[count++] = (contender){.name = p->name, .peer = p};
    }
    return count;
}

/* How far the results are from tally's, relatively, at four places; the first contender's are
   kept for comparison. */
static double compare(const job *j, double *kept, int keep)
{
    double off = 0;
    for (int64_t k = 0; k < 4; k++) {
        const double v = problem_result(j, (j->results - 1) * (k + 1) / 4);
        if (keep)
            kept[k] = v;
        else if (!(v == kept[k]) && !(isnan(v) && isnan(kept[k])))
            off = fmax(off, fabs(v - kept[k]) / fmax(fabs(kept[k]), 1e-30));
    }
    return off;
}

static void measure(const job *j, contender *list, int count)
{
    double kept[4];
    int keep = 1;
    for (int i = 0; i < count; i++) {
        contender *c = &list[i];
        c->repeat = 1;
        prepare(c, j->threads);
        double once = run_once(c, j);
        if (!c->loop) {
            c->off = compare(j, kept, keep);
            keep = 0;
        }
        /* short: as many as take 1 ms, more rounds: a time slice is longer than that */
        if (once < 2e-3) {
            c->repeat = 16;
            once = run_once(c, j) / 16;
            c->repeat = (int)(1e-3 / (once + 1e-9)) + 1;
        }
        c->rounds = once > 1.5 ? 3 : once > 2e-3 ? rounds : 2 * rounds;
    }
    for (int r = 0; r < 2 * rounds; r++)
        for (int i = 0; i < count; i++) {
            if (r >= list[i].rounds) continue;
            prepare(&list[i], j->threads);
            list[i].seconds[r] = run_once(&list[i], j) / list[i].repeat;
        }
    for (int i = 0; i < count; i++)
        list[i].gbps = 1e-9 * bytes_of(&list[i], j) / median(list[i].seconds, list[i].rounds);
}

static void judge(const job *j, const contender *list, int count, double ceiling)
{
    const char *kind = j->shape == SCAN || j->shape == WINDOW ? "copy" : "read";
    double tally = 0;
    for (int i = 0; i < count; i++)
        if (!list[i].loop && !list[i].peer) tally = list[i].gbps;
    for (int b = 0; b < BARS && tally > 0; b++) {
        if (strcmp(bars[b].word, j->word) || (bars[b].threads && bars[b].threads != j->threads))
            continue;
        double other = strcmp(bars[b].against, kind) ? 0 : ceiling;
        for (int i = 0; i < count; i++)
            if (list[i].peer && !strcmp(list[i].name, bars[b].against)) other = list[i].gbps;
        if (other <= 0) continue;
        const double ratio = tally / other;
        printf("    %-28s %8.2f   of %s; bar %.2f: %s\n", "", ratio, bars[b].against, bars[b].least,
               ratio >= bars[b].least ? "met" : "MISSED");
    }
}

static void row(const char *word, int threads)
{
    job j;
    contender list[CONTENDERS];
    if (!problem_parse(word, &j)) {
        fprintf(stderr, "bench: %s is not OP:DTYPE:SHAPE:SIZE\n", word);
        exit(2);
    }
    if (!problem_fill(&j)) {
        fprintf(stderr, "bench: no memory for %s\n", word);
        exit(1);
    }
    j.threads = threads;
    const int count = gather(&j, list);
    measure(&j, list, count);
    double ceiling = 0, best = 0;
    const char *best_name = "";
    for (int i = 0; i < count; i++) {
        if (list[i].loop && list[i].gbps > ceiling) ceiling = list[i].gbps;
        if (list[i].peer && list[i].gbps > best) {
            best = list[i].gbps;
            best_name = list[i].name;
        }
    }
    printf("%s, %d thread%s\n", word, threads, threads > 1 ? "s" : "");
    for (int i = 0; i < count; i++) {
        const contender *c = &list[i];
        printf("    %-28s %8.2f GB/s  %5.2f of the ceiling", c->name, c->gbps, c->gbps / ceiling);
        if (c->off > 1e-3) printf("  (result off by %.1e)", c->off);
        if (!c->loop && !c->peer && best > 0) printf("  %.2f of %s", c->gbps / best, best_name);
        printf("\n");
        if (json)
            fprintf(json,
                    "{\"problem\": \"%s\", \"threads\": %d, \"name\": \"%s\", \"kind\": \"%s\", "
                    "\"gbps\": %.3f, \"ratio\": %.4f, \"off\": %.1e}\n",
                    word, threads, c->name,
                    c->loop   ? "ceiling"
                    : c->peer ? "peer"
                              : "tally",
                    c->gbps, c->gbps / ceiling, c->off);
    }
    judge(&j, list, count, ceiling);
    fflush(stdout);
    if (json) fflush(json);
    problem_free(&j);
}

/* All loops, for people who wonder what the ceiling is made of. */
static void ceilings(const int *teams, int team_count)
{
    static const struct {
        const char *name;
        size_t in, out;
    } sizes[] = {{"read, 512 MB", 512u << 20, 0},
                 {"copy (read + written), 512 MB", 512u << 20, 512u << 20},
                 {"read 64 MB, write 512 MB", 64u << 20, 512u << 20},
                 {"read, 256 KB", 256u << 10, 0},
                 {"copy, 128 KB", 128u << 10, 128u << 10}};
    char *src = memory_huge(512u << 20), *dst = memory_huge(512u << 20);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int t = 0; t < team_count && src && dst; t++) {
            const ceiling_loop *best[64];
            double gbps[64];
            const int count =
                ceiling_pick(teams[t], dst, sizes[s].out, src, sizes[s].in, rounds, best, gbps, 64);
            printf("%s, %d thread%s\n", sizes[s].name, teams[t], teams[t] > 1 ? "s" : "");
            for (int i = 0; i < count; i++)
                printf("    %-28s %8.2f GB/s\n", best[i]->name, gbps[i]);
            fflush(stdout);
        }
    memory_free(src, 512u << 20);
    memory_free(dst, 512u << 20);
}

int main(int argc, char **argv)
{
    int teams[8] = {1, 2}, team_count = team_most() > 1 ? 2 : 1, only = 0, words = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--ceilings"))
            only |= 1;
        else if (!strcmp(argv[i], "--calls"))
            only |= 2;
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--json") && i + 1 < argc)
            json = fopen(argv[++i], "a");
        else if (!strcmp(argv[i], "--threads") && i + 1 < argc) {
            team_count = 0;
            for (char *t = strtok(argv[++i], ","); t && team_count < 8; t = strtok(NULL, ","))
                teams[team_count++] = atoi(t);
        } else if (argv[i][0] == '-') {
            fprintf(stderr, "usage: bench [--rounds R] [--threads 1,2] [--json FILE] [--ceilings] "
                            "[--calls] [PROBLEM...]\n");
            return 2;
        } else
            argv[words++] = argv[i];
    }
    if (rounds < 3 || rounds > 32) rounds = 9;
    open_peers();
    printf("%s\n", subject_text(teams[team_count - 1]));
    if (only & 1) ceilings(teams, team_count);
    if (only & 2) calls_run(rounds, json);
    for (int i = 0; i < words; i++)
        for (int t = 0; t < team_count; t++) row(argv[i], teams[t]);
    for (int b = 0; b < BARS && !only && !words; b++) {
        if (b && !strcmp(bars[b].word, bars[b - 1].word)) continue; /* a problem with two bars */
        for (int t = 0; t < team_count; t++)
            if (bars[b].threads != 1 || teams[t] == 1) row(bars[b].word, teams[t]);
    }
    if (!only && !words) calls_run(rounds, json);
    if (json) fclose(json);
    return failed;
}

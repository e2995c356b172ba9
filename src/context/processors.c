/* SPDX-License-Identifier: MIT
 * The default number of threads (threads.h): affinity, and the CPU quotas of cgroups. */
#define _GNU_SOURCE
#include "threads.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 4096, MOST = 1 << 20 };

/* Where Linux keeps CPU quotas. A line of /proc/self/cgroup is NUMBER:CONTROLLERS:PATH; in
 * version 2 CONTROLLERS is empty. */
static const struct {
    /* period NULL: the quota file has "QUOTA PERIOD" */
    const char *controller, *folder, *quota, *period;
} places[] = {
    {"", "/sys/fs/cgroup", "cpu.max", NULL},
    {"", "/sys/fs/cgroup/unified", "cpu.max", NULL},
    {"cpu", "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us"},
    {"cpu", "/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "cpu.cfs_period_us"},
};

/* Reads the first numbers of a file, at most 2, and returns how many there are. "max" is not a
 * number. */
static int numbers(const char *root, const char *folder, const char *path, const char *name,
                   long long v[2])
{
    char file[3 * LINE];
    if (snprintf(file, sizeof file, "%s%s%s/%s", root, folder, path, name) >= (int)sizeof file)
        return 0;
    FILE *f = fopen(file, "re");
    const int found = f ? fscanf(f, "%lld %lld", &v[0], &v[1]) : 0;
    if (f) fclose(f);
    return found > 0 ? found : 0;
}

/* The limit of one group, in processors; 0: none. */
static int limit(const char *root, const char *path, int k)
{
    long long v[2], period[2];
    const int found = numbers(root, places[k].folder, path, places[k].quota, v);
    if (places[k].period && found)
        v[1] = numbers(root, places[k].folder, path, places[k].period, period) ? period[0] : 0;
    if (found + (places[k].period != NULL) < 2 || v[0] <= 0 || v[1] <= 0) return 0;
    const long long whole = v[0] / v[1] + (v[0] % v[1] != 0);
    return whole < MOST ? (int)whole : 0;
}

static int list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    if (!length || !*list) return !length && !*list;
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !memcmp(at, word, length)) return 1;
    return 0;
}

/* The smallest limit of a group and of its parents, the last of which is the folder itself: a
 * container may see no more, because the path in /proc is that of the whole machine. */
static int smallest_limit(const char *root, char *path, int k, int least)
{
    for (char *end = path + strlen(path);; *end = 0) {
        while (end > path && end[-1] == '/') *--end = 0;
        const int here = limit(root, path, k);
        if (here && (!least || here < least)) least = here;
        if (end == path) return least;
        while (end > path && end[-1] != '/') end--;
    }
}

int tl_quota(const char *root)
{
    char name[LINE], line[LINE];
    int least = 0;
    if (snprintf(name, sizeof name, "%s/proc/self/cgroup", root) >= (int)sizeof name) return 0;

    FILE *f = fopen(name, "re");

    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':'),
             *path = controllers ? strchr(controllers + 1, ':') : NULL, copy[LINE];
        if (!path) continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        for (size_t k = 0; k < sizeof places / sizeof *places; k++)
            if (list_has(controllers + 1, places[k].controller)) {
                memcpy(copy, path, strlen(path) + 1);
                least = smallest_limit(root, copy, (int)k, least);
            }
    }

    if (f) fclose(f);
    return least;
}

int tl_processors(void)
{
    cpu_set_t set;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int here = !sched_getaffinity(0, sizeof set, &set) ? CPU_COUNT(&set)
                     : online > 0                            ? (int)online
                                                             : 1;
    const int paid = tl_quota("");
    return paid && paid < here ? paid : here;
}

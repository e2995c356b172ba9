/* SPDX-License-Identifier: MIT
 * The default number of threads: the processors of this process's affinity mask, limited by the CPU
 * quota of its cgroup. A container with a quota may run on every processor of the machine, but is
 * stopped for the rest of each period when its quota is used up. */
#ifndef TALLY_PROCESSORS_H
#define TALLY_PROCESSORS_H

/* The default number of threads, at least 1. */
int tl_processors(void);

/* The number of processors that the CPU quotas of this process's cgroups allow, rounded up: the
 * smallest quota of its group and of the group's parents, of cgroup versions 1 and 2. 0: no
 * limit. root: "", or in tests a folder that replaces /. */
int tl_quota(const char *root);

#endif

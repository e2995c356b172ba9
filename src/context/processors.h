/* SPDX-License-Identifier: MIT
 * How many processors a context uses by default: those that this process may run on, and no more
 * than its cgroup's CPU quota pays for. A container's quota is no affinity: it may run on every
 * processor of the machine, and is stopped for the rest of each period once its time is used up. */
#ifndef TALLY_PROCESSORS_H
#define TALLY_PROCESSORS_H

/* At least 1. */
int tl_processors(void);

/* The processors that the quotas of this process's cgroups pay for, rounded up: the smallest of
 * its own group's and of those above it, of versions 1 and 2. 0: there is no limit. root: "" or,
 * in tests, a folder that stands for /. */
int tl_quota(const char *root);
#endif

/* SPDX-License-Identifier: MIT */
#include "lock.h"
#include <pthread.h>

static pthread_mutex_t locks[TL_LOCKS] = {[0 ... TL_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

void tl_lock_take(tl_lock lock) { pthread_mutex_lock(&locks[lock]); }
void tl_lock_release(tl_lock lock) { pthread_mutex_unlock(&locks[lock]); }

static void in_child(void)
{
    for (int i = 0; i < TL_LOCKS; i++) locks[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static __attribute__((constructor)) void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, in_child); /* without memory: a lock may stay taken */
}

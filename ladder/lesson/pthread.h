/* SPDX-License-Identifier: MIT
 * The page has one thread: its locks do nothing (ladder/model/launch.c). */
#ifndef LADDER_LESSON_PTHREAD_H
#define LADDER_LESSON_PTHREAD_H
typedef int pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER  0
#define pthread_mutex_lock(lock)   ((void)(lock))
#define pthread_mutex_unlock(lock) ((void)(lock))
#endif

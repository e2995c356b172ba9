/* SPDX-License-Identifier: MIT
 * Locks for what exists once in the process. A child of fork finds all of them free: another
 * thread of its parent may have held one, and would never give it back. */
#ifndef TALLY_LOCK_H
#define TALLY_LOCK_H

typedef enum tl_lock {
    TL_LOCK_PROBE,
    TL_LOCK_ERROR, /* the error of a context that several threads work for */
    TL_LOCK_EXACT,
    TL_LOCK_CUDA,
    TL_LOCK_CUDA_CALLS,
    TL_LOCK_CUDA_LIBRARY,
    TL_LOCK_NVRTC,
    TL_LOCK_OPENCL,
    TL_LOCK_NETCDF,
    TL_LOCKS
} tl_lock;

void tl_lock_take(tl_lock lock);
void tl_lock_release(tl_lock lock);
#endif

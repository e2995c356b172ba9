/* SPDX-License-Identifier: MIT
 * Operators of users on the processors. */
#ifndef TALLY_CPU_USER_H
#define TALLY_CPU_USER_H
#include "context/user.h"

/* Compiles the instance for the processors and instruction set number isa, once. The caller may
   not share it yet. */
tally_status tl_user_compile(tally *ctx, const tl_scalar *op, int isa);
#endif

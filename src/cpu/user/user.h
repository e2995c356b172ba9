/* SPDX-License-Identifier: MIT
 * Operators of users on CPUs. */
#ifndef TALLY_CPU_USER_H
#define TALLY_CPU_USER_H

#include "context/user.h"

/* Compiles the instance for instruction set number isa, once. Requires: no other thread uses the
 * instance yet. */
tally_status tl_user_compile(tally *ctx, const tl_scalar *op, int isa);

#endif

/* SPDX-License-Identifier: MIT
 * Compiled once an instruction set: the kernels of every operator file for TL_ISA, as tl_kernels_<isa>[]. */
#include "../kernel.h"
#include "../dtype_traits.h"
#define OPERATOR_ALSO OPERATOR
#define OPERATOR(name, file, ...) extern const tl_kernel *const TL_CAT3(tl_kernels, file, TL_ISA)[];
#include "../op/ops.def"
#undef OPERATOR

const tl_kernel_table TL_CAT(tl_kernels_, TL_ISA)[] = {
#define OPERATOR(name, file, ...) {#file, TL_CAT3(tl_kernels, file, TL_ISA)},
#include "../op/ops.def"
    {0, 0}};

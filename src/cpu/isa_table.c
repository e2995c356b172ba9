/* SPDX-License-Identifier: MIT
 * Compiled once per instruction set: the kernels of every operator file for TL_ISA, as
 * tl_kernels_<isa>[]. */
#include "operator/kernel.h"
#include "dtype/dtype_traits.h"

#define FORM(name, file, ...) extern const tl_kernel *const TL_CAT3(tl_kernels, file, TL_ISA)[];
#include "op/forms.def"

#undef FORM

const tl_kernel_table TL_CAT(tl_kernels_, TL_ISA)[] = {
#define FORM(name, file, ...) {#file, TL_CAT3(tl_kernels, file, TL_ISA)},
#include "op/forms.def"
    {0, 0}};

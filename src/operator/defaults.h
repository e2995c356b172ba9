/* SPDX-License-Identifier: MIT
 * Default values of the facts that an operator's text does not define. */
#ifndef OP_EXACT
#define OP_EXACT 0
#endif
#ifndef OP_WIDEN
#define OP_WIDEN OWN
#endif
#ifndef OP_INPUTS
#define OP_INPUTS 1
#endif
#ifndef OP_FIELDS
#define OP_FIELDS OP_STATE
#endif
#ifndef OP_IDEMPOTENT
#define OP_IDEMPOTENT 0
#endif
#ifndef OP_INVERSE
#define OP_INVERSE 0
#endif
#ifndef OP_LANES
#define OP_LANES 1
#endif
#ifndef OP_NEUTRAL
#define OP_NEUTRAL 0
#endif
#ifndef OP_SEED
#define OP_SEED 0
#endif
#ifndef OP_MASKED
#define OP_MASKED 0
#endif
#ifndef OP_TWIN
#define OP_TWIN 0
#endif
#ifndef OP_MOMENTS
#define OP_MOMENTS 0
#endif
#ifndef OP_SIZES
#define OP_SIZES 0
#endif
#ifndef OP_EXTREME
#define OP_EXTREME 0
#endif
#ifndef OP_FLOATS
#define OP_FLOATS 0
#endif
#ifndef OP_ADDS
#define OP_ADDS 0
#endif
#ifndef OP_PICKS
#define OP_PICKS 0
#endif
#ifndef OP_COMMUTES
#define OP_COMMUTES 0
#endif

/* SPDX-License-Identifier: MIT
 * Forgets what an operator's text said of itself, so that the next instance starts clean. */
#undef OP_CORE
#undef OP_LANE
#undef OP_EXACT
#undef OP_WIDEN
#undef OP_IDEMPOTENT
#undef OP_INVERSE
#undef OP_LANES
#undef OP_STATE
#undef OP_NEUTRAL
#undef OP_SEED
#undef OP_MASKED
#undef OP_TWIN
#undef OP_MOMENTS
#undef OP_SIZES
#undef OP_EXTREME
#undef OP_ADDS
#undef OP_PICKS
#undef OP_COMMUTES
#undef OP_FIELDS
#undef OP_COUNTS
#undef OP_ABSENT
#undef OP_NAN_CORE
#undef OP_NAN_WIDEN
#undef TL_COUNTED
#undef TL_BORROWS

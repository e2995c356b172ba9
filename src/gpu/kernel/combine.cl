/* SPDX-License-Identifier: MIT
 * C(a, b) of two states, and of two nodes of n elements each (OP_TWIN). na, nb, n: the elements that they have folded,
 * which the caller knows from their place in the tree. They are for texts with OP_SIZES; others drop them. */
#if TL_REAL_FLOAT == 8
typedef f64 amount; /* of elements: exact below 2^53, and no conversion for each operand */
#else
typedef i64 amount;
#endif
#if OP_SIZES
#define COMBINE(a, b, na, nb) combine(a, b, (real)(na), (real)(nb))
#else
#define COMBINE(a, b, na, nb) combine(a, b)
#endif
#if OP_TWIN && OP_SIZES
#define TWIN(a, b, n) twin(a, b, (real)(n))
#elif OP_TWIN
#define TWIN(a, b, n) twin(a, b)
#else
#define TWIN(a, b, n) COMBINE(a, b, n, n)
#endif

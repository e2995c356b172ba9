/* SPDX-License-Identifier: MIT
 * C(a, b) of two states (COMBINE), and of two nodes of n elements each (TWIN). na, nb, n: numbers
 * of elements, which the caller knows from their place in the tree. Only operators with OP_SIZES
 * use them. */
#if TL_REAL_FLOAT == 8
typedef f64 amount; /* number of elements: exact below 2^53, and needs no conversion */
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

/* The node of 2, 4 or 8 neighbouring items from number k on, of n elements each. */
#define NODE_2(item, k, n) TWIN(item(k), item((k) + 1), n)
#define NODE_4(item, k, n) TWIN(NODE_2(item, k, n), NODE_2(item, (k) + 2, n), 2 * (n))
#define NODE_8(item, k, n) TWIN(NODE_4(item, k, n), NODE_4(item, (k) + 4, n), 4 * (n))

/* ---- elements ----
 *
 * With two inputs an element is a pair, stored as one item of twice the size (prepare.cl writes
 * pairs so). From here on TL_SIZE is the size of the pair.
 *
 *   TL_IN_PLACE   the kernels read the caller's arrays: inputs/in_place.cl
 *   TL_BITS       and a bitmap for each of them */
#ifndef TL_IN_PLACE
#define TL_IN_PLACE 0
#endif
#if TL_IN_PLACE
typedef elem input;
enum { INPUT_BYTES = TL_SIZE };

fn input input_of_bits(u64 bits)
{
#if TL_KIND == 3
    return bits_elem(bits);
#else
    return (input)bits;
#endif
}

fn input quieted(input x)
{
#ifdef TL_MARKED
    return is_nan(x) ? elem_missing : x;
#else
    return x;
#endif
}
#endif

#if OP_INPUTS == 2
typedef struct ALIGNED(2 * TL_SIZE) {
    elem x, y;
} pair;

fn state lift_pair(pair e, idx i, par p) { return lift(e.x, e.y, i, p); }
fn pair no_pair()
{
    pair e;
    e.x = e.y = 0;
    return e;
}
#undef lift
#define lift lift_pair
#define elem pair
#define NO_ELEMENT no_pair()
#if TL_SIZE == 1
#undef TL_SIZE
#define TL_SIZE 2
#elif TL_SIZE == 2
#undef TL_SIZE
#define TL_SIZE 4
#elif TL_SIZE == 4
#undef TL_SIZE
#define TL_SIZE 8
#else
#undef TL_SIZE
#define TL_SIZE 16
#endif
#else
#define NO_ELEMENT 0
#endif

/* SPDX-License-Identifier: MIT
 * States: how kernels combine them, exchange them between the lanes of a warp, and publish them to
 * other thread blocks. */

/* C(a, b) of two states (COMBINE), and of two nodes of n elements each (TWIN). na, nb, n: numbers
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
#define lift       lift_pair
#define elem       pair
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

/* ---- states that may be absent ---- */

/* A state, or none: then exists is 0. */
typedef struct {
    state s;
    int exists;
} maybe;

/* a if c is true, else b; of each field, without a branch. */
fn state choose(int c, state a, state b)
{
    state r;
#define CHOOSE(type, f) r.f = c ? a.f : b.f;
    OP_FIELDS(CHOOSE)
#undef CHOOSE
    return r;
}

/* The state of a's na elements, if there are any, followed by b's nb. If the operator has a neutral
 * state, none is that state, and no choice is needed for each field. */
fn maybe then(maybe a, state b, amount na, amount nb)
{
    maybe r;
#if OP_NEUTRAL
    r.s = COMBINE(a.s, b, na, nb);
#else
    r.s = choose(a.exists, COMBINE(a.s, b, na, nb), b);
#endif
    r.exists = 1;
    return r;
}

/* States in the host's layout (packed): the fields one after the other, without padding. */
#define SIZE_OF(type, f) +(int)sizeof(type)
enum { PACKED = 0 OP_FIELDS(SIZE_OF) };
#undef SIZE_OF
far_fn void pack(GLOBAL u8 *to, state v){
#define PACK(type, f) \
    { \
        const u8 *from = (const u8 *)&v.f; \
        FOR(k, (int)sizeof(type)) to[k] = from[k]; \
        to += sizeof(type); \
    }
    OP_FIELDS(PACK)
#undef PACK
}

far_fn state unpack(GLOBAL const u8 *from)
{
    state v;
#define UNPACK(type, f) \
    { \
        u8 *to = (u8 *)&v.f; \
        FOR(k, (int)sizeof(type)) to[k] = from[k]; \
        from += sizeof(type); \
    }
    OP_FIELDS(UNPACK)
#undef UNPACK
    return v;
}

/* No state. */
fn maybe nothing(par p)
{
    maybe r;
#if OP_NEUTRAL
    r.s = neutral(p);
#else
#define ZERO(type, f) r.s.f = 0;
    OP_FIELDS(ZERO)
#undef ZERO
#endif
    r.exists = 0;
    return r;
}

/* Combines this lane's node with its partner's, n elements each. right: this lane's node is the
 * right operand. */
fn state meet(state node, state other, int right, amount n)
{
/* Built-in operators with a neutral state also commute bit for bit (tested by test_promises);
 * operators of users declare that they commute. */
#if OP_COMMUTES || (OP_NEUTRAL && !TL_USER)
    return TWIN(node, other, n);
#else
    return TWIN(choose(right, other, node), choose(right, node, other), n);
#endif
}

#ifdef TL_SHUFFLES
#define BOX LOCAL state *box = 0;

/* The state of the lane whose number differs in the bits of m. */
fn state exchange(state v, int m, LOCAL state *box)
{
    state r;
#define EXCHANGE(type, f) SHUFFLE(1, type, r.f, v.f, m);
    OP_FIELDS(EXCHANGE)
#undef EXCHANGE
    return r;
}

/* The state of lane number `lane`. */
fn state from_lane(state v, int lane, LOCAL state *box)
{
    state r;
#define FROM(type, f) SHUFFLE(0, type, r.f, v.f, lane);
    OP_FIELDS(FROM)
#undef FROM
    return r;
}
#else
#define BOX LOCAL state *box = (LOCAL state *)box_;

fn state from_lane(state v, int lane, LOCAL state *box)
{
    BARRIER();
    box[lane_index()] = v;
    BARRIER();
    return box[lane];
}

fn state exchange(state v, int m, LOCAL state *box) { return from_lane(v, lane_index() ^ m, box); }
#endif

#ifdef TL_CUDA
/* ---- the status table ----
 *
 * For the look-back: one thread block publishes states, others of the same launch
 * poll for them. A word of 16 bytes has 8 bytes of a state and the launch's epoch. It is written
 * and read in one access, so no fence or counter is needed. The table's first word, its head, has
 * the tickets that scans have taken in this launch, and the epoch of the last launch. So each
 * launch has an epoch of its own, also if a graph repeats it, and the table is cleared once. */
enum { PIECES = (sizeof(state) + 7) / 8 };

typedef union {
    state s;
    u64 piece[PIECES];
} pieces;

/* The epoch of the last launch; the mark of this one is the next number. It is computed where it is
 * used (OPAQUE), so that loads of elements need not wait. Only warps that need it read it, because
 * all reads are of one address. One thread ends the epoch, after all blocks have begun it and taken
 * their last tickets. */
fn u64 begin_epoch(GLOBAL const u64 *table)
{
    u64 tickets;
    return poll_word(table, &tickets);
}

fn void end_epoch(GLOBAL u64 *table, u64 epoch) { publish_word(table, 0, epoch + 1); }

/* Publishes v as state number k. to: the words of state number 0. */
fn void publish_state(GLOBAL u64 *to, i64 k, state v, u64 epoch)
{
    pieces u;
    OPAQUE(epoch);
    u.piece[PIECES - 1] = 0;
    u.s = v;
    FOR(c, PIECES) publish_word(to + (k * PIECES + c) * 2, u.piece[c], epoch + 1);
}

/* Polls for state number k. Returns 0 and sets *v if it has been published, else nonzero. */
fn int state_missing(GLOBAL const u64 *from, i64 k, state *v, u64 epoch)
{
    pieces u;
    int missing = 0;
    FOR(c, PIECES) missing |= poll_word(from + (k * PIECES + c) * 2, &u.piece[c]) != epoch + 1;
    *v = u.s;
    return missing;
}
#endif

/* SPDX-License-Identifier: MIT
 * Operators that users define (tally_define): their texts, what the texts say of themselves, and
 * their instances.
 *
 *   user.c        the texts of a context, instances, errors in them      user_facts.c   a text read for its facts
 *   cpu/user.c   an instance compiled for the processors          gpu/program.c   for GPUs
 *
 * A GPU compiles the text by itself, so everything that has to be known before (types, the bytes
 * of a state, the facts) is read from the text here, without a compiler; each compiler then
 * checks the bytes of the state that was read. */
#ifndef TALLY_USER_H
#define TALLY_USER_H
#include "context.h"

enum {
    TL_USER_NAME = 32,       /* bytes of a name, with its end */
    TL_USER_TEXT = 64 << 10, /* bytes of a text at most */
    TL_USER_FIELDS = 16,     /* of a state; 32 bytes are the limit that is met first */
    TL_USER_WORDS = 32       /* helper functions and types of a text */
};

/* The types a state's field may have, and accumulators and results as the rows of op/ops.def
   name them. */
typedef enum {
    TL_FIELD_REAL,
    TL_FIELD_ORD,
    TL_FIELD_IDX,
    TL_FIELD_ELEM,
    TL_FIELD_WIDE,
    TL_FIELD_TYPES
} tl_field;
typedef enum { TL_ACC_WIDE, TL_ACC_REAL, TL_ACC_F64, TL_ACC_NONE, TL_ACC_RULES } tl_acc_rule;
typedef enum { TL_OUT_ACC, TL_OUT_SAME, TL_OUT_IDX, TL_OUT_BIT, TL_OUT_RULES } tl_out_rule;
extern const char *const tl_field_names[TL_FIELD_TYPES + 1],
    *const tl_acc_names[TL_ACC_RULES + 1], *const tl_out_names[TL_OUT_RULES + 1];

/* The facts that are numbers. A value of TL_FACT_REAL_IS_EXACT depends on the instance. */
enum { TL_FACT_REAL_IS_EXACT = 3 };
#define TL_FLAGS(F)                                                                                \
    F(EXACT)                                                                                       \
    F(IDEMPOTENT)                                                                                  \
    F(INVERSE)                                                                                     \
    F(NEUTRAL)                                                                                     \
    F(SEED) F(TWIN) F(MOMENTS) F(COMMUTES) F(EXTREME) F(ADDS) F(PICKS) F(SIZES) F(INPUTS) F(LANES)
typedef enum {
#define FLAG(name) TL_FLAG_##name,
    TL_FLAGS(FLAG)
#undef FLAG
        TL_FLAG_COUNT
} tl_flag;

typedef struct tl_facts {
    char kinds[4]; /* of dtypes: some of I, U, F */
    tl_acc_rule acc;
    tl_out_rule out;
    signed char flag[TL_FLAG_COUNT];
    char param[TL_USER_NAME]; /* "" for none */
    double fallback;          /* NaN: must be given */
    int state_line, fields;
    unsigned char field[TL_USER_FIELDS];
    int words;
    /* names that are the text's own, to be told apart by instance */
    char word[TL_USER_WORDS][TL_USER_NAME];
} tl_facts;

/* Reads the facts of a text; TALLY_BAD_DATA with where:line if it is not one. */
tally_status tl_facts_read(tally *ctx, const char *where, const char *text, tl_facts *facts);
/* The same of a text of op/, which states OP_LANE, OP_WIDEN, OP_CORE and what its nan form needs
 * too, and leaves to its row what op/ops.def says. For the build (cmake/operator_texts.c); the
 * sentence is tally_error(NULL). */
tally_status tl_facts_check(const char *where, const char *text, tl_facts *facts);

typedef struct tl_user_instance tl_user_instance;
typedef struct tl_user {
    struct tl_user *next;
    char name[TL_USER_NAME];
    char *where, *text; /* where: what errors call the text */
    uint64_t hash;      /* of the text */
    tl_facts facts;
    tl_user_instance *instances;
} tl_user;

/* An operator for one dtype and accumulator. op: the facts from the text; its functions and
 * `kernel` are NULL until it is compiled for the processors (cpu/user.c). */
struct tl_user_instance {
    tl_user_instance *next;
    const tl_user *user;
    tl_scalar op;
    const tl_kernel *kernel;
    void *library; /* of the loader, and its end */
    void (*unload)(void *library);
    int device_bytes; /* of a state with its fields aligned, as GPUs keep it */
};

/* The operator that ctx calls by the first `length` bytes of name; NULL if there is none. */
tl_user *tl_user_find(const tally *ctx, const char *name, size_t length);
/* Its instance; acc 0: the default. *op is NULL if there is none of this accumulator. */
tally_status tl_user_resolve(tally *ctx, tl_user *user, tally_dtype dtype, tally_dtype acc,
                             const tl_scalar **op);
/* Is it the same operator (text, dtype, accumulator), perhaps of another context? */
int tl_user_same(const tl_scalar *a, const tl_scalar *b);
void tl_user_close(tally *ctx);

/* The sentence for a compiler's log: where:line and its first message. Returns TALLY_BAD_DATA. */
tally_status tl_user_error(tally *ctx, const tl_user *user, const char *log);

#endif

/* SPDX-License-Identifier: MIT
 * Operators that users define (tally_define): their texts, the facts of the texts, and their
 * instances.
 *
 *  user.c        the texts of a context, instances, errors in texts
 *  user_facts.c  reads the facts of a text
 *  cpu/user/user.c    compiles an instance for the processors
 *  gpu/program.c compiles it for GPUs
 *
 * A GPU's driver compiles the text, so whatever must be known before that (types, the bytes of a
 * state, the facts) is read from the text without a compiler. Each compiler then checks that the
 * state has these bytes. */
#pragma once

#include "context.h"

enum {
    TL_USER_NAME = 32,       /* bytes of a name with its terminating 0 */
    TL_USER_TEXT = 64 << 10, /* the most bytes of a text */
    TL_USER_FIELDS = 16,     /* of a state; its limit of 32 bytes is reached before */
    TL_USER_WORDS = 32       /* helper functions and types of a text */
};

/* The types of a state's fields, and the kinds of accumulators and results, as the rows of
 * op/ops.def name them. */
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
extern const char *const tl_out_names[TL_OUT_RULES + 1];

/* The facts that are numbers. The value TL_FACT_REAL_IS_EXACT means: true if the instance's
 * `real` is exact. */
enum { TL_FACT_REAL_IS_EXACT = 3 };
#define TL_FLAGS(F) \
    F(EXACT) \
    F(IDEMPOTENT) \
    F(INVERSE) \
    F(NEUTRAL) \
    F(SEED) F(TWIN) F(MOMENTS) F(COMMUTES) F(EXTREME) F(ADDS) F(PICKS) F(SIZES) F(INPUTS) F(LANES)

typedef enum {
#define FLAG(name) TL_FLAG_##name,
    TL_FLAGS(FLAG)
#undef FLAG
        TL_FLAG_COUNT
} tl_flag;

typedef struct {
    char kinds[4]; /* the kinds of dtypes: some of I, U, F */
    tl_acc_rule acc;
    tl_out_rule out;
    signed char flag[TL_FLAG_COUNT];
    char param[TL_USER_NAME]; /* "" if there is none */
    double fallback;          /* NaN: there is no default */
    int state_line, fields;
    unsigned char field[TL_USER_FIELDS];
    int words;

    /* names that the text defines; each instance adds its own suffix to them */
    char word[TL_USER_WORDS][TL_USER_NAME];
} tl_facts;

/* Reads the facts of a text. TALLY_BAD_DATA, with where:line, if it is not an operator's text. The
 * build reads the texts of src/op/ too (cmake/operator_texts.c). */
tally_status tl_facts_read(tally *ctx, const char *where, const char *text, tl_facts *facts);

typedef struct tl_user_instance tl_user_instance;

typedef struct tl_user {
    struct tl_user *next;
    char name[TL_USER_NAME];
    char *where, *text; /* where: the file name for error sentences */
    uint64_t hash;      /* of the text */
    tl_facts facts;
    tl_user_instance *instances;
} tl_user;

/* An operator for one dtype and accumulator. op: the facts from the text; its functions and
 * `kernel` are NULL until it is compiled for the processors (cpu/user/user.c). */
struct tl_user_instance {
    tl_user_instance *next;
    const tl_user *user;
    tl_scalar op;
    const tl_kernel *kernel;
    void *library; /* the loaded library, and the function that closes it */
    void (*unload)(void *library);
    int device_bytes; /* bytes of a state with aligned fields, as GPUs store it */
};

/* Finds an operator of ctx by the first `length` bytes of name; NULL if there is none. */
tl_user *tl_user_find(const tally *ctx, const char *name, size_t length);

/* Finds its instance. acc 0: the default accumulator. *op is NULL if there is no such
 * accumulator. */
tally_status tl_user_resolve(tally *ctx, tl_user *user, tally_dtype dtype, tally_dtype acc,
                             const tl_scalar **op);

/* Whether two instances are of the same operator (text, dtype, accumulator), possibly in
 * different contexts. */
int tl_user_same(const tl_scalar *a, const tl_scalar *b);
void tl_user_close(tally *ctx);

/* Makes the error sentence from a compiler's log: where:line and the first message. Returns
 * TALLY_BAD_DATA. */
tally_status tl_user_error(tally *ctx, const tl_user *user, const char *log);

/* SPDX-License-Identifier: MIT
 * What the files of the model share: tokens, code, the state of a group. */
#ifndef LADDER_CODE_H
#define LADDER_CODE_H
#include "model.h"
#include "trace.h"

enum {
    NAME_BYTES = 32,
    ARRAYS_MOST = 16,
    KERNELS_MOST = 8,
    DEPTH_MOST = 40, /* masks under way: if, for, while, and the arms of ?: && || */
    NEST_MOST = 100, /* parentheses, brackets, signs before a value, statements in statements */
    NAMES_MOST = 96,
    REGISTERS_MOST = 2000,
    CODE_MOST = 1 << 17, /* operations of a text */
    FUNCTIONS_MOST = 24,
    OPERANDS_MOST = 12, /* of a function of the text */
    SIDES_MOST = 3      /* of an array */
};

/* ---- tokens ---- */
typedef enum { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_SIGN } token_class;
typedef struct token {
    token_class class;
    int line;
    char text[NAME_BYTES]; /* a name or a sign */
    kind kind;             /* of a number */
    int64_t integer;
    double real;
} token;

/* Cuts the text, with its macros put in, into tokens; the caller frees *tokens. Returns their
 * number, or -1 and a sentence. */
int model_lex(const char *text, const char *name, token **tokens, char *error, size_t capacity);

/* ---- code: operations on registers of one value a lane ---- */
typedef enum {
#define OPERATION(name) DO_##name,
#include "operations.def"
#undef OPERATION
} opcode;

/* SHUFFLE: which lane the value comes from, in d. */
enum { SHUFFLE_down, SHUFFLE_up, SHUFFLE_xor, SHUFFLE_from };
static inline int64_t shuffle_lane(int way, int lane, int64_t by)
{
    return way == SHUFFLE_down  ? lane + by
           : way == SHUFFLE_up  ? lane - by
           : way == SHUFFLE_xor ? lane ^ by
                                : by;
}

/* a: result; b, c, d: operands. Jumps go to d. Arrays are in b (LOAD), a (STORE). */
typedef struct instruction {
    uint8_t op, kind;
    uint16_t line;
    int16_t a, b, c;
    int32_t d;
    union {
        int64_t integer;
        double real;
    };
} instruction;

typedef union lane {
    int64_t i;
    /* f32 too: one rounding of a double + - * / to float is the float's own (53 >= 2 * 24 + 2) */
    double d;
} lane;

typedef struct array {
    char name[NAME_BYTES];
    int shared, parameter; /* an index of arguments, where it is not shared */
    /* volatile: the kernel orders accesses itself (fences, flags), so races are not looked for */
    int by_hand;
    int64_t offset, length;
    int64_t sides[SIDES_MOST]; /* of tile[2][3]: 2, 3 */
    int side_count;            /* 0: global memory, one */
    kind kind;
} array_info;

typedef struct model_kernel_code {
    char name[NAME_BYTES];
    int threads, start, parameters, registers;
    /* one of the two is not -1 */
    int parameter_array[ARRAYS_MOST], parameter_register[ARRAYS_MOST];
    kind parameter_kind[ARRAYS_MOST];
    array_info arrays[ARRAYS_MOST];
    int needs;                /* NEEDS_... */
    int generic, combines;    /* its memory is of elem; it says combine or NEUTRAL */
    int array_count, atomics; /* atomics: groups may wait for each other: one at a time, in order */
    int64_t shared_bytes;
    int unit; /* bytes that a shadow stands for: 4, or 1 where a kernel has arrays of bytes */
} kernel_code;

struct model_program {
    char name[64];
    model_setting setting;
    kernel_code kernels[KERNELS_MOST];
    int kernel_count;
    instruction *code;
    int length, capacity, lines; /* lines: counted_line of the last, + 1 */
    model_trace *trace;          /* NULL: not followed */
};

/* ---- the compiler's state ---- */
typedef struct typed {
    int reg;
    kind kind;
} typed;
typedef struct name_entry {
    char name[NAME_BYTES];
    int reg, array, lanes, scope; /* a variable of 1 or 4 registers, or an array */
    /* of a pointer into an array: the register with its first index; -1: the array itself */
    int offset;
    int64_t
        thread_elements; /* elements of a thread's own array, in registers from reg on; 0: none */
    kind kind;
} name_entry;

/* Part of an array: the array, from an index on (register, -1: from its start). */
typedef struct reference {
    int array, offset;
    const name_entry *thread_array; /* a thread's own array instead */
} reference;

/* A function of the text, compiled where it is called. */
typedef struct function {
    char name[NAME_BYTES];
    int parameters, body; /* their tokens */
    int returns;          /* a value? */
    kind kind;
    int active; /* it is being called: it must not call itself */
} function;
typedef struct compiler {
    model_program *program;
    kernel_code *kernel;
    token *tokens;
    int at, count;
    name_entry names[NAMES_MOST];
    int name_count, scope, next, loops, nested, masks;
    function functions[FUNCTIONS_MOST];
    int function_count, first_name; /* names before first_name are not seen: the caller's */
    const function *in;             /* whose body this is; NULL: the kernel's */
    int result;                     /* the register of its value */
    char *error;
    size_t error_capacity;
    int failed;
} compiler;

void model_error(compiler *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends an instruction. Returns its number, or -1 after an error. */
int emit(compiler *c, opcode op, kind k, int a, int b, int d);
token *peek(compiler *c);
void pass(compiler *c); /* goes on to the token after the next; the end stays */
/* Begins a nested statement or expression; the caller ends it by nested--. 0: an error. */
int deeper(compiler *c);
int is_sign(compiler *c, const char *text); /* is the next token this one? */
int take(compiler *c, const char *text);    /* if it is, passes it */
void expect(compiler *c, const char *text); /* passes it, or is an error */
int is_word(compiler *c, const char *text);
int take_word(compiler *c, const char *text);
int new_register(compiler *c);
name_entry *find_name(compiler *c, const char *name);
name_entry *add_name(compiler *c, const char *name, int reg, int array, kind k, int lanes);
array_info *add_array(compiler *c, const char *name, kind k);
void parse_statement(compiler *c);
int type_of(compiler *c, const token *t, kind *k); /* does t name a type? */
int parse_type(compiler *c, kind *k, int *quad);   /* passes a type, if there is one */
typed parse_expression(compiler *c);               /* with assignments */
typed whole_index(compiler *c);                    /* an expression that is an index, as i64 */
typed parse_term(compiler *c);                     /* an operand of + and - */
/* Lets constant `at` be what a variable without a value holds: a number that is noticed; set: 0. */
void unknown_value(compiler *c, int at, kind k, int set);
/* value.c: places */
reference parse_reference(compiler *c); /* NAME, NAME + i, &NAME[i], tile[i] of two dimensions */
typed parse_index(compiler *c, const name_entry *e);      /* [i], [i][j]: of the whole array */
typed offset_index(compiler *c, int offset, typed index); /* index + register `offset`, if >= 0 */
typed load_element(compiler *c, int array, typed index);
void store_element(compiler *c, int array, typed index, typed v);
/* Arrays of one thread: a load, a store, a declaration from its '[' on. */
typed thread_element(compiler *c, const name_entry *e, typed index);
void thread_store(compiler *c, const name_entry *e, typed index, typed v);
void declare_thread_array(compiler *c, const char *name, kind k);
int parse_sides(compiler *c, int64_t *sides); /* reads [2][3]; returns the number of sides */
void declare_pointer(compiler *c);            /* reads what follows '*': name = reference */
/* function.c */
void function_text(compiler *c); /* FUNCTION type name(parameters) { ... } at the top of a text */
int call_function(compiler *c, const char *name, typed *out); /* 0: there is none of this name */
void parse_return(compiler *c);
void parse_effect(compiler *c); /* an expression whose value is not used */
/* Reads a call of one of the dialect's functions after its name. 0: there is none of this name. */
int parse_call(compiler *c, const char *name, typed *out);
/* Reads load4(array, index) after its name, one access. Returns the first of four registers. */
int load_quad(compiler *c);
/* value.c. emit_value: an operation with its result in a new register; truth: 0 or 1. */
typed emit_value(compiler *c, opcode op, kind k, int b, int operand);
typed constant(compiler *c, kind k, int64_t integer, double real);
typed convert(compiler *c, typed v, kind k);
typed promoted(compiler *c, typed v); /* bytes: as i32 */
typed truth(compiler *c, typed v);
typed binary(compiler *c, opcode op, typed a, typed b);
void store_name(compiler *c, const name_entry *e, typed v);
int constant_expression(compiler *c, int64_t *out);

/* ---- running ---- */
typedef struct frame {
    uint64_t saved, taken;
    int loop; /* LOOP_... */
} frame;
/* What break, continue and the return of a function end: the loop, its body once, the call. */
enum { LOOP_NONE, LOOP_BREAK, LOOP_CONTINUE, LOOP_CALL };
typedef struct warp_state {
    uint64_t mask, live, all;          /* on now; not returned; at the start */
    int returned;                      /* the line where the last lanes did */
    int shuffles, shuffled;            /* in this step; the line of the last */
    int at, depth, epoch, done, first; /* first: its first thread */
    frame frames[DEPTH_MOST];
    lane *registers; /* [register][lanes] */
    uint8_t divergent;
} warp_state;

/* The last accesses to a word of shared memory, for races. */
typedef struct shadow {
    int32_t write_step, read_step;   /* -1: never; else barrier interval of this group */
    int16_t writer, reader;          /* threads */
    int16_t write_epoch, read_epoch; /* read_epoch -1: several threads read */
    uint16_t write_line, read_line;
    uint8_t write_atomic; /* atomics do not race with each other */
    uint8_t on_its_way;   /* an asynchronous copy that its thread has not waited for */
    uint8_t bulk;         /* a bulk copy wrote it: + 1, its place in group_state.bulk */
    int32_t bulk_number;  /* and which copy of that place it was, from 1 */
} shadow;

/* Those to a word of global memory by the groups of a launch that are observed. */
typedef struct global_shadow {
    int32_t writer_group, reader_group; /* + 1; 0: none; readers of several groups: -1 */
    int32_t write_step;
    int16_t writer, reader;
    int32_t read_step;
    uint16_t write_line, read_line;
} global_shadow;

/* Bulk copies that arrive at one word of shared memory (an mbarrier). */
enum {
    BULKS_MOST = 4,
    BULK_STEP = INT32_MAX /* shadow.write_step: waits order it, not barriers */
};
typedef struct bulk {
    int64_t offset;                     /* of that word */
    int32_t started;                    /* copies, from 1 */
    int32_t waited[MODEL_THREADS_MOST]; /* the last copy that a thread has waited for */
} bulk;

static inline int counted_line(int line) { return line < MODEL_LINES ? line : MODEL_LINES - 1; }

typedef struct group_state {
    const model_program *program;
    const kernel_code *kernel;
    const model_argument *arguments;
    int64_t index, groups;
    int warp, lanes, warps; /* lanes: registers' row, a multiple of 8 */
    char *shared;
    warp_state *warp_states;
    lane *scratch;
    model_counts *counts; /* NULL: not looked at */
    model_step *step;
    int step_number;
    shadow *shared_shadow;
    /* one an argument; NULL: not watched. Arguments of one memory share one */
    global_shadow *const *global_shadows;
    uint8_t touched[MODEL_THREADS_MOST];
    model_trace *trace; /* NULL: not followed */
    bulk *bulks;        /* BULKS_MOST; NULL: the kernel has no bulk copies */
    int bulk_count;
    int meeting;  /* all groups meet here: GRID_BARRIER */
    int64_t work; /* operations left before this is called a loop without end */
    int defect;   /* the kind that was found first */
    model_finding found[DEFECTS];
} group_state;

/* Run an instruction on the active lanes of a warp. */
void compute(group_state *g, warp_state *w, const instruction *i);
void access_memory(group_state *g, warp_state *w, const instruction *i);
/* Look for races and other defects in an access of a thread. */
void watch_shared(group_state *g, const warp_state *w, const array_info *a, int64_t offset,
                  int thread, const instruction *i);
void watch_global(group_state *g, const array_info *a, int64_t at, int thread, int store, int line);
void bulk_copy(group_state *g, warp_state *w, const instruction *i); /* bulk.c */
void bulk_wait(group_state *g, warp_state *w, const instruction *i);
void bulk_touched(group_state *g, const shadow *s, const array_info *a, int64_t at, int thread,
                  int line);
/* Asynchronous copies that the warp's active lanes have started are complete. */
void copies_arrive(group_state *g, const warp_state *w);
/* Records a defect; the first of each kind is kept. */
void defect(group_state *g, int what, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void start_group(group_state *g, int64_t index);
/* Runs the group to its end: 0; or to where all groups meet: 1, and the next call goes on there. */
int run_group(group_state *g);
lane get_element(const char *from, kind k);
void put_element(char *to, kind k, lane v);

/* trace.c. Each is called only where a trace is; w of trace_meeting: NULL, the whole group's
 * barrier; all: and that of all groups. */
void trace_launch_starts(model_trace *t, const model_program *p, const kernel_code *k,
                         const model_argument *arguments, int64_t groups);
void trace_group_starts(model_trace *t, int64_t index);
void trace_meeting(model_trace *t, const warp_state *w, int warp, int line, int all);
/* A branch on which lanes disagree; those of `yes` go on. */
void trace_split(model_trace *t, const group_state *g, const warp_state *w, int line, uint64_t yes);
/* One side of a bulk copy: elements index .. index + count - 1 of array `place`. */
typedef struct bulk_access {
    int line, place, write, sectors;
    int64_t index, count;
    const char *values;
} bulk_access;
/* Writes it as a lane's access to many elements; what does not fit is cut off. */
void trace_bulk(model_trace *t, const group_state *g, const warp_state *w, int thread,
                const bulk_access *b);
void trace_wait(model_trace *t, const warp_state *w, int warp, int line, int place);
void trace_shuffle(model_trace *t, const group_state *g, const warp_state *w, const instruction *i);
/* before the access in which it is found */
void trace_race(model_trace *t, int one, int other, int64_t index);
typedef struct access_cost {
    int width, degree, sectors; /* as in trace_event */
} access_cost;
/* After the access, so that the values are those in memory now. */
void trace_access(model_trace *t, const group_state *g, const warp_state *w, const instruction *i,
                  const lane *index, access_cost cost);
#endif

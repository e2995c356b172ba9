/* SPDX-License-Identifier: MIT
 * The words of CUDA C++ and OpenCL C that foreign.c knows, and ours. */
typedef struct word_pair {
    const char *theirs, *ours;
} word_pair;

static const word_pair types[] = {
    {"int", "i32"},      {"float", "f32"},   {"double", "f64"},   {"uint", "u32"},
    {"ulong", "u64"},    {"size_t", "u64"},  {"bool", "i32"},     {"int32_t", "i32"},
    {"uint32_t", "u32"}, {"int64_t", "i64"}, {"uint64_t", "u64"}, {"ptrdiff_t", "i64"},
    {"elem", "elem"},    {"uchar", "u8"},    {"uint8_t", "u8"},   {"int8_t", "i8"},
    {"ushort", "u16"},   {"int16_t", "i16"}, {"uint16_t", "u16"}, {"longlong", "i64"},
};

/* Names that are followed by .x, .y or .z, in the order of `dimension` (foreign.c). */
static const word_pair indices[] = {
    {"threadIdx", ""}, {"blockIdx", ""}, {"blockDim", ""}, {"gridDim", ""}};

static const word_pair words[] = {{"warpSize", "WARP"},
                                  {"INFINITY", "(1.0f / 0.0f)"},
                                  {"INT_MAX", "2147483647"},
                                  {"INT_MIN", "(-2147483647 - 1)"},
                                  {"UINT_MAX", "4294967295u"},
                                  {"true", "1"},
                                  {"false", "0"}};

/* Words that are dropped: they do not change what is computed. */
static const char *const dropped[] = {
    "__restrict__",    "__restrict", "restrict",      "static",           "inline",     "register",
    "__forceinline__", "constexpr",  "__private",     "__noinline__",     "__device__", "__host__",
    "__align__",       "alignas",    "__attribute__", "__launch_bounds__"};

typedef struct call_form {
    const char *theirs, *ours;
    /* bare: operands are dropped */
    enum { CALL_bare, CALL_dimension, CALL_operands, CALL_atomic, CALL_load } kind;
    /* operands given; those passed over at the front, and taken after them */
    int least, most, skip, keep;
} call_form;

static const call_form calls[] = {
    {"__syncthreads", "BARRIER()", CALL_bare, 0, 0, 0, 0},
    {"barrier", "BARRIER()", CALL_bare, 1, 1, 0, 0},
    {"work_group_barrier", "BARRIER()", CALL_bare, 1, 2, 0, 0},
    {"__syncwarp", "WARP_BARRIER()", CALL_bare, 0, 1, 0, 0},
    {"sub_group_barrier", "WARP_BARRIER()", CALL_bare, 1, 2, 0, 0},
    {"__threadfence", "FENCE()", CALL_bare, 0, 0, 0, 0},
    {"__threadfence_block", "FENCE()", CALL_bare, 0, 0, 0, 0},
    {"mem_fence", "FENCE()", CALL_bare, 1, 1, 0, 0},
    /* skip: which of `indices` it is; 4, 5: made of these */
    {"get_local_id", "", CALL_dimension, 1, 1, 0, 0},
    {"get_group_id", "", CALL_dimension, 1, 1, 1, 0},
    {"get_local_size", "", CALL_dimension, 1, 1, 2, 0},
    {"get_num_groups", "", CALL_dimension, 1, 1, 3, 0},
    {"get_global_id", "", CALL_dimension, 1, 1, 4, 0},
    {"get_global_size", "", CALL_dimension, 1, 1, 5, 0},
    {"__ldg", "", CALL_load, 1, 1, 0, 0},
    {"__shfl_down_sync", "shuffle_down", CALL_operands, 3, 4, 1, 2},
    {"__shfl_up_sync", "shuffle_up", CALL_operands, 3, 4, 1, 2},
    {"__shfl_xor_sync", "shuffle_xor", CALL_operands, 3, 4, 1, 2},
    {"__shfl_sync", "shuffle_from", CALL_operands, 3, 4, 1, 2},
    {"__shfl_down", "shuffle_down", CALL_operands, 2, 3, 0, 2},
    {"__shfl_up", "shuffle_up", CALL_operands, 2, 3, 0, 2},
    {"__shfl_xor", "shuffle_xor", CALL_operands, 2, 3, 0, 2},
    {"__shfl", "shuffle_from", CALL_operands, 2, 3, 0, 2},
    {"sub_group_shuffle_down", "shuffle_down", CALL_operands, 2, 2, 0, 2},
    {"sub_group_shuffle_up", "shuffle_up", CALL_operands, 2, 2, 0, 2},
    {"sub_group_shuffle_xor", "shuffle_xor", CALL_operands, 2, 2, 0, 2},
    {"sub_group_shuffle", "shuffle_from", CALL_operands, 2, 2, 0, 2},
    {"__reduce_add_sync", "warp_combine", CALL_operands, 2, 2, 1, 1},
    {"__reduce_min_sync", "warp_combine", CALL_operands, 2, 2, 1, 1},
    {"__reduce_max_sync", "warp_combine", CALL_operands, 2, 2, 1, 1},
    {"min", "smaller", CALL_operands, 2, 2, 0, 2},
    {"max", "larger", CALL_operands, 2, 2, 0, 2},
    {"fmin", "smaller", CALL_operands, 2, 2, 0, 2},
    {"fmax", "larger", CALL_operands, 2, 2, 0, 2},
    {"fminf", "smaller", CALL_operands, 2, 2, 0, 2},
    {"fmaxf", "larger", CALL_operands, 2, 2, 0, 2},
    {"atomicAdd", "atomic_combine", CALL_atomic, 2, 2, 0, 2},
    {"atomicMin", "atomic_combine", CALL_atomic, 2, 2, 0, 2},
    {"atomicMax", "atomic_combine", CALL_atomic, 2, 2, 0, 2},
    {"atomicInc", "atomic_next", CALL_atomic, 2, 2, 0, 1},
    {"atomicExch", "atomic_write", CALL_atomic, 2, 2, 0, 2},
    {"atomic_add", "atomic_combine", CALL_atomic, 2, 2, 0, 2},
    {"atomic_min", "atomic_combine", CALL_atomic, 2, 2, 0, 2},
    {"atomic_max", "atomic_combine", CALL_atomic, 2, 2, 0, 2},
    {"atomic_inc", "atomic_next", CALL_atomic, 1, 1, 0, 1},
    {"atomic_xchg", "atomic_write", CALL_atomic, 2, 2, 0, 2},
};

/* behind: what must follow, where the word may be a name too: a letter of a word 'w', or a sign. */
static const struct {
    const char *word, *why;
    char behind;
} refused[] = {
    {"reinterpret_cast",
     "the ladder has no reinterpret_cast; four elements at once are load4(array, index)", 0},
    {"float4", "four elements at once are elem4 q = load4(array, index), and not float4", 0},
    {"int4", "four elements at once are elem4 q = load4(array, index), and not int4", 0},
    {"switch", "the ladder's kernels have if, for, while and do, and no switch: write if and else",
     0},
    {"goto", "the ladder's kernels have if, for, while and do, and no goto: write a loop", 0},
    {"half",
     "the ladder's types are char, short, int, unsigned, long long, float and double; half "
     "is none of them: use float",
     'w'},
    {"auto", "the ladder's kernels name the type of a variable; auto does not: write the type",
     'w'},
    {"struct", "the ladder's kernels have no struct: use one array or variable for each member",
     'w'},
    {"sizeof", "the model has no sizeof: write the number", 0},
    {"printf",
     "the model has no printf; `tally ladder show FILE` and the page's stepper show what a "
     "kernel does",
     '('},
    {"assert", "the model has no assert: it checks bounds, races and barriers by itself", '('},
    {"__ballot_sync",
     "the model has shuffles, and no votes: __shfl_xor_sync in a loop does the same", 0},
    {"__any_sync", "the model has shuffles, and no votes: __shfl_xor_sync in a loop does the same",
     0},
    {"__all_sync", "the model has shuffles, and no votes: __shfl_xor_sync in a loop does the same",
     0},
    {"__activemask", "the model has no __activemask: name the lanes that take part, 0xffffffff", 0},
    {"atomicCAS",
     "the model has no atomicCAS: atomicAdd, atomicMin, atomicMax and atomicExch it has", 0},
    {"asm", "the model does not read assembler: leave it out, or write it in C", 0},
    {"cg",
     "the model does not read cooperative_groups; __syncthreads and __shfl_down_sync it does, "
     "and GRID_BARRIER(cells)",
     ':'},
    {"cooperative_groups",
     "the model does not read cooperative_groups; __syncthreads and __shfl_down_sync it does, "
     "and GRID_BARRIER(cells)",
     0}};

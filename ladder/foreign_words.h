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
};

/* Said with .x behind them. */
static const word_pair indices[] = {{"threadIdx", "thread_index()"},
                                    {"blockIdx", "group_index()"},
                                    {"blockDim", "THREADS"},
                                    {"gridDim", "group_count()"}};

static const word_pair words[] = {{"warpSize", "WARP"},
                                  {"INFINITY", "(1.0f / 0.0f)"},
                                  {"INT_MAX", "2147483647"},
                                  {"INT_MIN", "(-2147483647 - 1)"},
                                  {"UINT_MAX", "4294967295u"},
                                  {"true", "1"},
                                  {"false", "0"}};

/* They say nothing about what is computed. */
static const char *const dropped[] = {"__restrict__",    "__restrict", "restrict",
                                      "static",          "inline",     "register",
                                      "__forceinline__", "constexpr",  "__private"};

typedef struct call_form {
    const char *theirs, *ours;
    /* bare: operands are dropped */
    enum { CALL_bare, CALL_dimension, CALL_operands, CALL_atomic } how;
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
    {"get_local_id", "thread_index()", CALL_dimension, 1, 1, 0, 0},
    {"get_group_id", "group_index()", CALL_dimension, 1, 1, 0, 0},
    {"get_local_size", "THREADS", CALL_dimension, 1, 1, 0, 0},
    {"get_num_groups", "group_count()", CALL_dimension, 1, 1, 0, 0},
    {"get_global_id", "(group_index() * THREADS + thread_index())", CALL_dimension, 1, 1, 0, 0},
    {"get_global_size", "(group_count() * THREADS)", CALL_dimension, 1, 1, 0, 0},
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

static const struct {
    const char *word, *why;
} refused[] = {
    {"reinterpret_cast",
     "the ladder has no reinterpret_cast; four elements at once are load4(array, index)"},
    {"switch", "the ladder's kernels have if, for, while and do, and no switch"},
    {"goto", "the ladder's kernels have if, for, while and do, and no goto"},
    {"half", "the ladder's types are char, int, unsigned, long long, float and double; half is "
             "none of them"},
    {"short", "the ladder's types are char, int, unsigned, long long, float and double; short is "
              "none of them"},
    {"auto", "the ladder's kernels name the type of a variable; auto does not"},
    {"asm", "the model does not read assembler"},
    {"cooperative_groups",
     "the model does not read cooperative_groups; __syncthreads and __shfl_down_sync it does, "
     "and GRID_BARRIER(cells)"}};

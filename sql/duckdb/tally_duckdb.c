/* SPDX-License-Identifier: MIT
 * DuckDB: exact aggregates by its stable C interface for extensions (v1.2.0). duckdb_extension.h is
 * DuckDB's; the Makefile says where it comes from. A state of DuckDB's is a pointer to `rows`.
 * DuckDB makes window functions of aggregates itself, by merging states. */
#define DUCKDB_EXTENSION_NAME              tally
#define DUCKDB_EXTENSION_API_VERSION_MAJOR 1
#define DUCKDB_EXTENSION_API_VERSION_MINOR 2
#define DUCKDB_EXTENSION_API_VERSION_PATCH 0
#include <duckdb_extension.h>
#include <stdlib.h>

#define ROWS_GROW realloc
#include "../rows.h"

DUCKDB_EXTENSION_EXTERN

enum { BLOCK = 128 }; /* from so many on, floats of one state are added at once */
enum { STATE = ROWS_TABLE, MERGE, FUNCTIONS }; /* behind those of rows_table */
static const int numbers[FUNCTIONS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
_Static_assert(FUNCTIONS == 14, "numbers[i] is i");
static const char no_memory[] = "tally: there is no memory for a sum";

static int which(duckdb_function_info info)
{
    return *(const int *)duckdb_aggregate_function_get_extra_info(info);
}
static int arguments(int i) { return i < ROWS_TABLE ? rows_table[i].arguments : 1; }

static rows **slot(duckdb_aggregate_state state) { return (rows **)state; }

static idx_t state_size(duckdb_function_info info)
{
    (void)info;
    return sizeof(rows *);
}
static void state_init(duckdb_function_info info, duckdb_aggregate_state state)
{
    (void)info;
    *slot(state) = NULL;
}
static void state_destroy(duckdb_aggregate_state *states, idx_t count)
{
    for (idx_t i = 0; i < count; i++) {
        rows *const r = *slot(states[i]);
        for (int k = 0; r && k < r->sums; k++) free(r->sum[k]);
        free(r);
        *slot(states[i]) = NULL;
    }
}

static rows *opened(duckdb_aggregate_state state, int needs)
{
    rows **const at = slot(state);
    if (*at) return *at;
    *at = malloc(rows_bytes(needs));
    return *at && rows_open(*at, needs) ? *at : NULL;
}

static bool there(uint64_t *valid, idx_t i) { return !valid || valid[i / 64] >> i % 64 & 1; }

/* The vector's number i as a double. 0: of a type whose values may have no equal among doubles. */
static int number(duckdb_type type, const void *data, idx_t i, double *x)
{
    switch (type) {
    case DUCKDB_TYPE_DOUBLE:
        *x = ((const double *)data)[i];
        return 1;
    case DUCKDB_TYPE_FLOAT:
        *x = ((const float *)data)[i];
        return 1;
    case DUCKDB_TYPE_INTEGER:
        *x = ((const int32_t *)data)[i];
        return 1;
    case DUCKDB_TYPE_UINTEGER:
        *x = ((const uint32_t *)data)[i];
        return 1;
    case DUCKDB_TYPE_SMALLINT:
        *x = ((const int16_t *)data)[i];
        return 1;
    case DUCKDB_TYPE_USMALLINT:
        *x = ((const uint16_t *)data)[i];
        return 1;
    case DUCKDB_TYPE_TINYINT:
        *x = ((const int8_t *)data)[i];
        return 1;
    case DUCKDB_TYPE_UTINYINT:
        *x = ((const uint8_t *)data)[i];
        return 1;
    default:
        return 0;
    }
}

static duckdb_type type_of(duckdb_vector v)
{
    duckdb_logical_type logical = duckdb_vector_get_column_type(v);
    const duckdb_type type = duckdb_get_type_id(logical);
    duckdb_destroy_logical_type(&logical);
    return type;
}

/* The n floats of one state, without NULLs, at once: 0: there is no memory. */
static int add_all(rows *r, const void *data, tally_dtype dtype, idx_t n)
{
    tally_exact e;
    const tally_view x = tally_flat(data, dtype, (int64_t)n);
    tally_exact_init(&e);
    return !tally_exact_add(NULL, &e, &x) && rows_merge_state(r, &e, 1);
}

static int same_state(const duckdb_aggregate_state *states, idx_t n)
{
    for (idx_t j = 1; j < n; j++)
        if (states[j] != states[0]) return 0;
    return 1;
}

static void update(duckdb_function_info info, duckdb_data_chunk input,
                   duckdb_aggregate_state *states)
{
    const int i = which(info), needs = i < ROWS_TABLE ? rows_table[i].needs : TALLY_NEEDS_X;
    const idx_t n = duckdb_data_chunk_get_size(input);
    const void *data[2] = {NULL, NULL};
    uint64_t *valid[2] = {NULL, NULL};
    duckdb_type type[2] = {DUCKDB_TYPE_INVALID, DUCKDB_TYPE_INVALID};
    for (int a = 0; a < arguments(i); a++) {
        duckdb_vector v = duckdb_data_chunk_get_vector(input, (idx_t)a);
        data[a] = duckdb_vector_get_data(v);
        valid[a] = duckdb_vector_get_validity(v);
        type[a] = type_of(v);
    }
    const int floats = type[0] == DUCKDB_TYPE_DOUBLE || type[0] == DUCKDB_TYPE_FLOAT;
    if (needs == TALLY_NEEDS_X && i != MERGE && floats && !valid[0] && n >= BLOCK &&
        same_state(states, n)) {
        rows *const r = opened(states[0], needs);
        if (!r || !add_all(r, data[0], type[0] == DUCKDB_TYPE_FLOAT ? TALLY_F32 : TALLY_F64, n))
            duckdb_aggregate_function_set_error(info, no_memory);
        return;
    }
    for (idx_t j = 0; j < n; j++) {
        double x[2] = {0, 0};
        int good = there(valid[0], j) && there(valid[1], j), done;
        if (!good) continue;
        for (int a = 0; a < arguments(i) && i != MERGE; a++)
            good &= number(type[a], data[a], j, &x[a]);
        if (!good)
            return duckdb_aggregate_function_set_error(
                info,
                "exact sums are of FLOAT and DOUBLE: sum() of DECIMAL and BIGINT is exact, and "
                "x::DOUBLE rounds each value");
        rows *const r = opened(states[j], needs);
        if (!r) return duckdb_aggregate_function_set_error(info, no_memory);
        if (i == MERGE) {
            duckdb_string_t s = ((duckdb_string_t *)data[0])[j];
            const void *bytes = duckdb_string_t_data(&s);
            const char *problem = tally_exact_problem(bytes, duckdb_string_t_length(s));
            if (problem) return duckdb_aggregate_function_set_error(info, problem);
            done = rows_merge_state(r, bytes, 1);
        } else {
            done = rows_add(r, x[0], x[1], 1);
        }
        if (!done) return duckdb_aggregate_function_set_error(info, no_memory);
    }
}

static void combine(duckdb_function_info info, duckdb_aggregate_state *source,
                    duckdb_aggregate_state *target, idx_t count)
{
    for (idx_t i = 0; i < count; i++) {
        const rows *const from = *slot(source[i]);
        rows *const to = from ? opened(target[i], from->needs) : NULL;
        if (from && (!to || !rows_merge(to, from)))
            return duckdb_aggregate_function_set_error(info, no_memory);
    }
}

/* Result i is NULL. */
static void null(duckdb_vector result, idx_t i)
{
    duckdb_vector_ensure_validity_writable(result);
    duckdb_validity_set_row_invalid(duckdb_vector_get_validity(result), i);
}

static void finalize(duckdb_function_info info, duckdb_aggregate_state *source,
                     duckdb_vector result, idx_t count, idx_t offset)
{
    const int which_one = which(info);
    for (idx_t i = 0; i < count; i++) {
        const rows *const r = *slot(source[i]);
        const idx_t at = offset + i;
        tally_exact e;
        if (which_one < ROWS_TABLE) {
            double *const out = (double *)duckdb_vector_get_data(result) + at;
            if (!r || !rows_value(r, (tally_statistic)rows_table[which_one].which, TALLY_F64, out))
                null(result, at);
        } else if (!r || !r->sum[0]->count) {
            null(result, at);
        } else if (tally_digits_exact(r->sum[0], &e)) {
            return duckdb_aggregate_function_set_error(info, tally_error(NULL));
        } else {
            duckdb_vector_assign_string_element_len(result, at, (const char *)&e, sizeof e);
        }
    }
}

/* exact_value(state), exact_mean(state) */
static void of_state(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector result)
{
    const char *const op = duckdb_scalar_function_get_extra_info(info);
    const idx_t n = duckdb_data_chunk_get_size(input);
    duckdb_vector v = duckdb_data_chunk_get_vector(input, 0);
    duckdb_string_t *const data = duckdb_vector_get_data(v);
    uint64_t *const valid = duckdb_vector_get_validity(v);
    double *const out = duckdb_vector_get_data(result);
    for (idx_t i = 0; i < n; i++) {
        tally_exact e = {{0}};
        if (there(valid, i)) {
            const void *bytes = duckdb_string_t_data(&data[i]);
            const char *problem = tally_exact_problem(bytes, duckdb_string_t_length(data[i]));
            if (problem) return duckdb_scalar_function_set_error(info, problem);
            memcpy(&e, bytes, sizeof e);
        }
        if (!e.word[71])
            null(result, i);
        else if (tally_exact_value(NULL, &e, op, TALLY_F64, &out[i]))
            return duckdb_scalar_function_set_error(info, tally_error(NULL));
    }
}

static bool add_aggregate(duckdb_connection db, int i)
{
    duckdb_aggregate_function f = duckdb_create_aggregate_function();
    duckdb_logical_type argument = duckdb_create_logical_type(i == MERGE ? DUCKDB_TYPE_BLOB
                                                                         : DUCKDB_TYPE_ANY),
                        returned = duckdb_create_logical_type(i < ROWS_TABLE ? DUCKDB_TYPE_DOUBLE
                                                                             : DUCKDB_TYPE_BLOB);
    duckdb_aggregate_function_set_name(f, i < ROWS_TABLE ? rows_table[i].name
                                          : i == STATE   ? "exact_state"
                                                         : "exact_merge");
    for (int a = 0; a < arguments(i); a++) duckdb_aggregate_function_add_parameter(f, argument);
    duckdb_aggregate_function_set_return_type(f, returned);
    duckdb_aggregate_function_set_functions(f, state_size, state_init, update, combine, finalize);
    duckdb_aggregate_function_set_destructor(f, state_destroy);
    duckdb_aggregate_function_set_extra_info(f, (void *)(uintptr_t)&numbers[i], NULL);
    const bool good = duckdb_register_aggregate_function(db, f) == DuckDBSuccess;
    duckdb_destroy_logical_type(&argument);
    duckdb_destroy_logical_type(&returned);
    duckdb_destroy_aggregate_function(&f);
    return good;
}

static bool add_scalar(duckdb_connection db, const char *name, char *op)
{
    duckdb_scalar_function f = duckdb_create_scalar_function();
    duckdb_logical_type blob = duckdb_create_logical_type(DUCKDB_TYPE_BLOB),
                        returned = duckdb_create_logical_type(DUCKDB_TYPE_DOUBLE);
    duckdb_scalar_function_set_name(f, name);
    duckdb_scalar_function_add_parameter(f, blob);
    duckdb_scalar_function_set_return_type(f, returned);
    duckdb_scalar_function_set_function(f, of_state);
    duckdb_scalar_function_set_extra_info(f, op, NULL);
    const bool good = duckdb_register_scalar_function(db, f) == DuckDBSuccess;
    duckdb_destroy_logical_type(&blob);
    duckdb_destroy_logical_type(&returned);
    duckdb_destroy_scalar_function(&f);
    return good;
}

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection db, duckdb_extension_info info,
                            struct duckdb_extension_access *access)
{
    static char sum[] = "sum:exact", mean[] = "mean:exact";
    bool good = add_scalar(db, "exact_value", sum) && add_scalar(db, "exact_mean", mean);
    for (int i = 0; i < FUNCTIONS && good; i++) good = add_aggregate(db, i);
    if (!good) access->set_error(info, "tally: a function could not be registered");
    return good;
}

/* SPDX-License-Identifier: MIT
 * The functions of the dialect: who am I, combine, shuffles, atomics, four elements at once. */
#include "code.h"
#include <string.h>

/* ( a, b, ... ): converted to the kinds asked for; KINDS: as it is. */
static void arguments(compiler *c, typed *values, const kind *kinds, int count)
{
    expect(c, "(");
    for (int i = 0; i < count && !c->failed; i++) {
        if (i) expect(c, ",");
        values[i] = parse_expression(c);
        if (kinds[i] != KINDS) values[i] = convert(c, values[i], kinds[i]);
    }
    expect(c, ")");
}

/* The array that is a function's first argument, or a pointer into one; behind it comes an index. */
static reference array_argument(compiler *c)
{
    expect(c, "(");
    const reference r = parse_reference(c);
    if (r.thread_array)
        model_error(c, "'%s' is an array of one thread, and memory was expected",
                    r.thread_array->name);
    expect(c, ",");
    return c->failed ? (reference){0, -1, NULL} : r;
}

static typed index_in(compiler *c, reference r)
{
    return offset_index(c, r.offset, whole_index(c));
}

static typed array_call(compiler *c, opcode op, int operands)
{
    const reference r = array_argument(c);
    const int array = r.array;
    const kind k = c->kernel->arrays[array].kind;
    typed index = index_in(c, r), v = {0, k};
    if (operands > 2) {
        expect(c, ",");
        v = convert(c, parse_expression(c), k);
    }
    expect(c, ")");
    if (is_small(k))
        model_error(c, "atomics take elements of 4 or 8 bytes, and those of '%s' are smaller",
                    c->kernel->arrays[array].name);
    c->kernel->atomics = 1;
    const int reg = new_register(c), at = emit(c, op, k, reg, array, v.reg);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
    return (typed){reg, k};
}

/* copy_async(shared array, index, global array, index): a load, and a store that is on its way
   until copy_wait. */
static typed copy_async(compiler *c)
{
    const reference to_array = array_argument(c);
    const int to = to_array.array;
    const typed at = index_in(c, to_array);
    expect(c, ",");
    const reference from_array = parse_reference(c);
    const array_info *arrays = c->kernel->arrays;
    if (!c->failed &&
        (from_array.thread_array || !arrays[to].shared || arrays[from_array.array].shared ||
         arrays[to].kind != arrays[from_array.array].kind))
        model_error(c, "copy_async takes a shared array, an index, a global array of the same "
                       "type, and an index");
    if (c->failed) return at;
    const int from = from_array.array;
    expect(c, ",");
    const typed index = index_in(c, from_array);
    expect(c, ")");
    const kind k = c->kernel->arrays[from].kind;
    const int reg = new_register(c), load = emit(c, DO_LOAD, k, reg, from, 1),
              store = emit(c, DO_STORE, k, to, reg, 1);
    if (load < 0 || store < 0) return at;
    c->program->code[load].c = (int16_t)index.reg;
    c->program->code[store].c = (int16_t)at.reg;
    c->program->code[store].integer = 1;
    return at;
}

/* Whole numbers in registers in a row, so that one operation can name them all. */
static int in_a_row(compiler *c, const typed *values, int count)
{
    const int first = new_register(c);
    for (int i = 1; i < count; i++) new_register(c);
    for (int i = 0; i < count; i++)
        emit(c, DO_MOVE, KIND_I64, first + i, convert(c, values[i], KIND_I64).reg, 1);
    return first;
}

/* The name of an array, and the comma behind it: shared memory of kind k (KINDS: any), or global
   memory. */
static int named_array(compiler *c, int shared, kind k, const char *what)
{
    const name_entry *e = peek(c)->class == TOKEN_NAME ? find_name(c, peek(c)->text) : NULL;
    const array_info *a = e && e->array >= 0 && e->offset < 0 ? &c->kernel->arrays[e->array] : NULL;
    if (!a || a->shared != shared || (k != KINDS && a->kind != k)) {
        model_error(c, "%s, not '%s'", what, peek(c)->text);
        return 0;
    }
    pass(c);
    expect(c, ",");
    return e->array;
}

static const char arrivals[] = "copies arrive at a word of a shared array of u64";

/* bulk_open(arrived, k): a store of 0; bulk_wait(arrived, k, phase). */
static typed bulk_word(compiler *c, int wait)
{
    typed v[2];
    expect(c, "(");
    const int array = named_array(c, 1, KIND_U64, arrivals);
    v[0] = whole_index(c);
    if (wait) expect(c, ","), v[1] = whole_index(c);
    expect(c, ")");
    if (c->failed) return v[0];
    c->kernel->needs |= NEEDS_BULK;
    if (wait) {
        emit(c, DO_BULK_WAIT, KIND_U64, array, in_a_row(c, v, 2), 0);
    } else {
        const int at = emit(c, DO_STORE, KIND_U64, array, constant(c, KIND_U64, 0, 0).reg, 1);
        if (at >= 0) c->program->code[at].c = (int16_t)v[0].reg;
    }
    return v[0];
}

/* bulk_copy(shared array, index, global array, index, count, arrived, k) */
static typed bulk_start(compiler *c)
{
    typed v[4]; /* where to, where from, how many, which word they arrive at */
    expect(c, "(");
    const int to = named_array(c, 1, KINDS, "bulk_copy copies to a shared array");
    v[0] = whole_index(c);
    expect(c, ",");
    const int from = named_array(c, 0, c->kernel->arrays[to].kind,
                                 "bulk_copy copies from global memory of the same type");
    v[1] = whole_index(c);
    expect(c, ",");
    v[2] = whole_index(c);
    expect(c, ",");
    const int arrived = named_array(c, 1, KIND_U64, arrivals);
    v[3] = whole_index(c);
    expect(c, ")");
    if (c->failed) return v[0];
    c->kernel->needs |= NEEDS_BULK;
    const int first = in_a_row(c, v, 4),
              at = emit(c, DO_BULK_COPY, c->kernel->arrays[to].kind, to, from, arrived);
    if (at >= 0) c->program->code[at].c = (int16_t)first;
    return v[0];
}

static int shuffle_way(const char *name)
{
    static const char *const ways[] = {"down", "up", "xor", "from"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(ways[i], name)) return i;
    return -1;
}

static typed store_quad(compiler *c)
{
    const reference r = array_argument(c);
    const int to = r.array;
    const typed index = index_in(c, r);
    expect(c, ",");
    const name_entry *e = find_name(c, peek(c)->text);
    if (!e || e->lanes != 4) model_error(c, "store4 takes an elem4, not '%s'", peek(c)->text);
    pass(c);
    expect(c, ")");
    const int at = c->failed ? -1 : emit(c, DO_STORE, c->kernel->arrays[to].kind, to, e->reg, 4);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
    return index;
}

/* Calls on an array: store4 and atomics. Returns whether it is one. */
static int parse_array_call(compiler *c, const char *name, typed *out)
{
    if (!strcmp(name, "store4")) {
        *out = store_quad(c);
    } else if (!strcmp(name, "atomic_combine") || !strcmp(name, "shared_combine")) {
        c->kernel->combines = 1;
        *out = array_call(c, DO_ATOMIC_COMBINE, 3);
        const int array = c->failed ? 0 : c->program->code[c->program->length - 1].b;
        if (!c->failed && c->kernel->arrays[array].shared != (name[0] == 's'))
            model_error(c, "atomic_combine is for global memory, shared_combine for shared memory");
    } else if (!strcmp(name, "atomic_more")) {
        *out = array_call(c, DO_ATOMIC_MORE, 3);
        if (!c->failed &&
            !is_whole_word(c->kernel->arrays[c->program->code[c->program->length - 1].b].kind))
            model_error(c, "atomic_more adds to i32 or u32");
    } else if (!strcmp(name, "atomic_next")) {
        *out = array_call(c, DO_ATOMIC_NEXT, 2);
    } else if (!strcmp(name, "atomic_read")) {
        *out = array_call(c, DO_ATOMIC_GET, 2);
    } else if (!strcmp(name, "atomic_write")) {
        *out = array_call(c, DO_ATOMIC_PUT, 3);
    } else {
        return 0;
    }
    return 1;
}

int parse_call(compiler *c, const char *name, typed *out)
{
    const kind elem = c->program->setting.elem;
    static const opcode does[] = {DO_ADD, DO_MIN, DO_MAX};
    typed v[2] = {{0, KIND_I32}, {0, KIND_I32}};
    int way;
    if (!strcmp(name, "thread_index") || !strcmp(name, "group_index") ||
        !strcmp(name, "group_count")) {
        arguments(c, v, NULL, 0);
        *out = name[0] == 't'   ? emit_value(c, DO_THREAD, KIND_I32, 0, 0)
               : name[6] == 'i' ? emit_value(c, DO_GROUP_INDEX, KIND_I64, 0, 0)
                                : emit_value(c, DO_GROUP_COUNT, KIND_I64, 0, 0);
    } else if (!strcmp(name, "combine")) {
        c->kernel->combines = 1;
        arguments(c, v, (const kind[]){elem, elem}, 2);
        *out = convert(c, binary(c, does[c->program->setting.operation], v[0], v[1]), elem);
    } else if (!strcmp(name, "bits_of")) {
        arguments(c, v, (const kind[]){elem}, 1);
        *out = (typed){emit_value(c, DO_BITS, elem, v[0].reg, 0).reg, KIND_U64};
    } else if (!strcmp(name, "value_of")) {
        arguments(c, v, (const kind[]){KIND_U64}, 1);
        *out = emit_value(c, DO_VALUE, elem, v[0].reg, 0);
    } else if (!strcmp(name, "smaller") || !strcmp(name, "larger")) {
        arguments(c, v, (const kind[]){KINDS, KINDS}, 2);
        *out = binary(c, name[0] == 's' ? DO_MIN : DO_MAX, v[0], v[1]);
    } else if (!strncmp(name, "shuffle_", 8) && (way = shuffle_way(name + 8)) >= 0) {
        arguments(c, v, (const kind[]){elem, KIND_I32}, 2);
        *out = emit_value(c, DO_SHUFFLE, elem, v[0].reg, way);
        if (!c->failed) c->program->code[c->program->length - 1].c = (int16_t)v[1].reg;
    } else if (!strcmp(name, "warp_combine")) {
        arguments(c, v, (const kind[]){elem}, 1);
        c->kernel->combines = 1;
        *out = emit_value(c, DO_WARP_COMBINE, elem, v[0].reg,
                          (int)does[c->program->setting.operation]);
    } else if (!strcmp(name, "copy_async")) {
        *out = copy_async(c);
    } else if (!strcmp(name, "bulk_copy")) {
        *out = bulk_start(c);
    } else if (!strcmp(name, "bulk_open") || !strcmp(name, "bulk_wait")) {
        *out = bulk_word(c, name[5] == 'w');
    } else {
        return parse_array_call(c, name, out);
    }
    return 1;
}

int load_quad(compiler *c)
{
    const reference r = array_argument(c);
    const int array = r.array;
    typed index = index_in(c, r);
    expect(c, ")");
    const int first = new_register(c);
    for (int i = 1; i < 4; i++) new_register(c);
    const int at = emit(c, DO_LOAD, c->kernel->arrays[array].kind, first, array, 4);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
    return first;
}

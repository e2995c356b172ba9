/* SPDX-License-Identifier: MIT
 * Typed values: the code of constants, conversions and operations. Types follow C: small types are
 * computed as i32, then the usual conversions over i32 < u32 < i64 < u64 < f32 < f64.
 * Places in memory: arrays of one and more dimensions, pointers into them, arrays of one thread. A
 * pointer is an array and the index that it begins at, in a register; it stays in its array. */
#include "code.h"

typed emit_value(compiler *c, opcode op, kind k, int b, int operand)
{
    const int reg = new_register(c);
    emit(c, op, k, reg, b, operand);
    return (typed){reg, k};
}

typed constant(compiler *c, kind k, int64_t integer, double real)
{
    const int reg = new_register(c), at = emit(c, DO_CONST, k, reg, 0, 0);
    if (at < 0) return (typed){0, k};
    if (k == KIND_F32 || k == KIND_F64)
        c->program->code[at].real = k == KIND_F32 ? (double)(float)real : real;
    else
        c->program->code[at].integer = integer;
    return (typed){reg, k};
}

typed convert(compiler *c, typed v, kind k)
{
    if (v.kind == k) return v;
    const int reg = new_register(c), at = emit(c, DO_CONVERT, k, reg, v.reg, 0);
    if (at >= 0) c->program->code[at].c = (int16_t)v.kind;
    return (typed){reg, k};
}

void unknown_value(compiler *c, int at, kind k, int set)
{
    if (k >= KIND_F32)
        c->program->code[at].real = set ? 0 : -0x1.5a5a5ap40;
    else
        c->program->code[at].integer = set                            ? 0
                                       : k == KIND_I8 || k == KIND_U8 ? 0x5A
                                       : is_short(k)                  ? 0x5A5A
                                                                      : 0x5A5A5A5A;
}

typed truth(compiler *c, typed v)
{
    typed zero = constant(c, v.kind, 0, 0);
    const int reg = new_register(c), at = emit(c, DO_UNEQUAL, v.kind, reg, v.reg, 0);
    if (at >= 0) c->program->code[at].c = (int16_t)zero.reg;
    return (typed){reg, KIND_I32};
}

typed promoted(compiler *c, typed v) { return is_small(v.kind) ? convert(c, v, KIND_I32) : v; }

typed binary(compiler *c, opcode op, typed a, typed b)
{
    a = promoted(c, a);
    b = promoted(c, b);
    const int shift = op == DO_SHL || op == DO_SHR;
    const kind k = shift ? a.kind : a.kind > b.kind ? a.kind : b.kind;
    const int whole = shift || op == DO_MOD || op == DO_AND || op == DO_OR || op == DO_XOR;
    if (whole && (a.kind >= KIND_F32 || b.kind >= KIND_F32))
        model_error(c, "%% & | ^ << and >> take whole numbers, and one of these is a float");
    a = convert(c, a, k);
    if (!shift) b = convert(c, b, k);
    const int reg = new_register(c), at = emit(c, op, k, reg, a.reg, 0);
    if (at >= 0) c->program->code[at].c = (int16_t)b.reg;
    const int compares = op == DO_LESS || op == DO_LESS_EQ || op == DO_EQUAL || op == DO_UNEQUAL;
    return (typed){reg, compares ? KIND_I32 : k};
}

/* ---- elements ---- */

typed load_element(compiler *c, int array, typed index)
{
    const kind k = c->kernel->arrays[array].kind;
    const int reg = new_register(c), at = emit(c, DO_LOAD, k, reg, array, 1);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
    return (typed){reg, k};
}

void store_element(compiler *c, int array, typed index, typed v)
{
    const kind k = c->kernel->arrays[array].kind;
    v = convert(c, v, k);
    const int at = emit(c, DO_STORE, k, array, v.reg, 1);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
}

typed thread_element(compiler *c, const name_entry *e, typed index)
{
    const int reg = new_register(c),
              at = emit(c, DO_PICK, e->kind, reg, e->reg, (int)e->thread_elements);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
    return (typed){reg, e->kind};
}

void thread_store(compiler *c, const name_entry *e, typed index, typed v)
{
    v = convert(c, v, e->kind);
    const int at = emit(c, DO_DROP, e->kind, e->reg, v.reg, (int)e->thread_elements);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
}

/* ---- indices ---- */

typed offset_index(compiler *c, int offset, typed index)
{
    return offset < 0 ? index : binary(c, DO_ADD, (typed){offset, KIND_I64}, index);
}

/* Up to `most` of [i][j]...: one index of the array, whose sides are `sides`; *given: how many. */
static typed indices(compiler *c, const int64_t *sides, int most, int *given)
{
    typed index = {0, KIND_I64};
    for (*given = 0; *given < most && take(c, "["); ++*given) {
        const typed next = whole_index(c);
        expect(c, "]");
        index =
            *given ? binary(c, DO_ADD,
                            binary(c, DO_MUL, index, constant(c, KIND_I64, sides[*given], 0)), next)
                   : next;
    }
    return index;
}

typed parse_index(compiler *c, const name_entry *e)
{
    const array_info *const a = e->array >= 0 ? &c->kernel->arrays[e->array] : NULL;
    const int sides = a && e->offset < 0 && a->side_count > 1 ? a->side_count : 1;
    int given;
    const typed index = indices(c, a ? a->sides : NULL, sides, &given);
    if (!given)
        model_error(c, "the array '%s' needs an index before '%s'", e->name, peek(c)->text);
    else if (given < sides)
        model_error(c, "the array '%s' has %d dimensions and needs as many indices", e->name,
                    sides);
    else if (is_sign(c, "["))
        model_error(c, "'%s' has %d dimension%s, and more indices", e->name, sides,
                    sides > 1 ? "s" : "");
    return offset_index(c, e->offset, index);
}

int parse_sides(compiler *c, int64_t *sides)
{
    int n = 0;
    while (is_sign(c, "[") && !c->failed) {
        if (n == SIDES_MOST) model_error(c, "an array of more than %d dimensions", SIDES_MOST);
        if (c->failed) break;
        pass(c);
        constant_expression(c, &sides[n]);
        expect(c, "]");
        if (sides[n] < 0 || sides[n] > 1 << 16)
            model_error(c, "an array of %lld elements", (long long)sides[n]);
        n++;
    }
    if (!n) expect(c, "[");
    return n;
}

/* ---- references ---- */

static reference base_reference(compiler *c);

/* (type *) before a reference: the type must be the array's */
static int take_cast(compiler *c, kind *k)
{
    const int at = c->at;
    int quad;
    if (!take(c, "(")) return 0;
    while (take_word(c, "LOCAL") || take_word(c, "GLOBAL")) {
    }
    if (parse_type(c, k, &quad) && take(c, "*")) {
        expect(c, ")");
        return 1;
    }
    c->at = at;
    return 0;
}

static reference named_reference(compiler *c, int referred)
{
    reference r = {-1, -1, NULL};
    const token *const t = peek(c);
    const name_entry *const e = t->class == TOKEN_NAME ? find_name(c, t->text) : NULL;
    if (!e || (e->array < 0 && !e->thread_elements)) {
        model_error(c, "an array was expected, or a pointer into one, not '%s'", t->text);
        return r;
    }
    pass(c);
    if (e->thread_elements) {
        if (referred || is_sign(c, "["))
            model_error(c, "'%s' is an array of one thread: the model takes it whole", e->name);
        r.thread_array = e;
        return r;
    }
    const array_info *const a = &c->kernel->arrays[e->array];
    r.array = e->array;
    r.offset = e->offset;
    if (!is_sign(c, "[")) return r;
    const int sides = e->offset < 0 && a->side_count > 1 ? a->side_count : 1;
    int given;
    typed index = indices(c, a->sides, sides, &given);
    if (!referred && given == sides)
        model_error(c, "'%s' with %d ind%s is a value, and a pointer was expected: & before it?",
                    e->name, given, given > 1 ? "ices" : "ex");
    for (; given < sides; given++) /* a row of it */
        index = binary(c, DO_MUL, index, constant(c, KIND_I64, a->sides[given], 0));
    r.offset = offset_index(c, e->offset, index).reg;
    return r;
}

static reference base_reference(compiler *c)
{
    kind k;
    reference r = {-1, -1, NULL};
    if (!deeper(c)) return r;
    if (take_cast(c, &k)) {
        r = base_reference(c);
        if (!c->failed &&
            k != (r.thread_array ? r.thread_array->kind : c->kernel->arrays[r.array].kind))
            model_error(c, "the model's memory keeps its type: no pointer of another type to it");
    } else if (take(c, "(")) {
        r = parse_reference(c);
        expect(c, ")");
    } else {
        r = named_reference(c, take(c, "&"));
    }
    c->nested--;
    return r;
}

reference parse_reference(compiler *c)
{
    reference r = base_reference(c);
    while (!c->failed && (is_sign(c, "+") || is_sign(c, "-"))) {
        const opcode op = take(c, "+") ? DO_ADD : (pass(c), DO_SUB);
        if (r.thread_array) model_error(c, "the model takes an array of one thread whole");
        const typed by = parse_term(c);
        if (by.kind >= KIND_F32) model_error(c, "an index is a whole number, and this is a float");
        const typed from = r.offset < 0 ? constant(c, KIND_I64, 0, 0) : (typed){r.offset, KIND_I64};
        r.offset = binary(c, op, from, convert(c, by, KIND_I64)).reg;
    }
    return r;
}

/* ---- declarations ---- */

void declare_pointer(compiler *c)
{
    while (is_word(c, "const") || is_word(c, "volatile")) pass(c);
    const token *const name = peek(c);
    pass(c);
    expect(c, "=");
    const int offset = new_register(c), used = c->next;
    const reference r = parse_reference(c);
    if (c->failed) return;
    if (r.thread_array) {
        model_error(c, "'%s' is an array of one thread, and the model has no pointers to it",
                    r.thread_array->name);
        return;
    }
    const typed from = offset_index(c, r.offset, constant(c, KIND_I64, 0, 0));
    emit(c, DO_MOVE, KIND_I64, offset, from.reg, 1);
    c->next = used;
    name_entry *const e = add_name(c, name->text, -1, r.array, c->kernel->arrays[r.array].kind, 1);
    if (e) e->offset = offset;
}

void declare_thread_array(compiler *c, const char *name, kind k)
{
    enum { ARRAY_MOST = 64 };
    int64_t sides[SIDES_MOST];
    const int n = parse_sides(c, sides);
    if (!c->failed && (n != 1 || sides[0] < 1 || sides[0] > ARRAY_MOST))
        model_error(c, "'%s', an array of one thread, has one dimension and 1 to %d elements", name,
                    ARRAY_MOST);
    if (c->failed) return;
    const int first = new_register(c), listed = take(c, "=");
    int64_t given = 0;
    for (int64_t i = 1; i < sides[0]; i++) new_register(c);
    if (listed) {
        expect(c, "{");
        while (!c->failed && !is_sign(c, "}")) {
            if (given == sides[0]) model_error(c, "'%s' has %d elements", name, (int)sides[0]);
            const int used = c->next;
            const typed v = convert(c, parse_expression(c), k);
            emit(c, DO_MOVE, k, first + (int)given++, v.reg, 1);
            c->next = used;
            if (!take(c, ",")) break;
        }
        expect(c, "}");
    }
    for (int64_t i = 0; i < sides[0] && !c->failed; i++) {
        if (listed && i < given) continue;
        const int at = emit(c, DO_CONST, k, first + (int)i, 0, 0);
        if (at >= 0) unknown_value(c, at, k, listed);
    }
    name_entry *const e = add_name(c, name, first, -1, k, 1);
    if (e) e->thread_elements = sides[0];
}

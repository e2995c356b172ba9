/* SPDX-License-Identifier: MIT
 * Expressions of the dialect as code, by precedence climbing. The untaken arm of ?: && || is not evaluated: a mask is
 * pushed around it, which GPUs do by predication, so that it does not count as a branch. */
#include "code.h"
#include <string.h>

static typed neutral(compiler *c)
{
    c->kernel->combines = 1;
    const kind k = c->program->setting.elem;
    static const int64_t low[] = {INT8_MIN, 0, INT16_MIN, 0, INT32_MIN, 0, INT64_MIN, 0},
                         high[] = {INT8_MAX,  UINT8_MAX,  INT16_MAX, UINT16_MAX,
                                   INT32_MAX, UINT32_MAX, INT64_MAX, -1};
    const int op = c->program->setting.operation;
    if (!op) return constant(c, k, 0, 0);
    if (k == KIND_F32 || k == KIND_F64)
        return constant(c, k, 0, op == 1 ? __builtin_inf() : -__builtin_inf());
    return constant(c, k, op == 1 ? high[k] : low[k], 0);
}

typed whole_index(compiler *c)
{
    typed index = parse_expression(c);
    if (index.kind >= KIND_F32) model_error(c, "an index is a whole number, and this is a float");
    return convert(c, index, KIND_I64);
}

static reference starred_reference(compiler *c);
static int has_step(const compiler *c); /* ++ or -- with a place to store to? */
static typed parse_store(compiler *c, int used);

static typed primary(compiler *c)
{
    token *t = peek(c);
    typed out = {0, KIND_I32};
    kind k;
    if (t->class == TOKEN_NUMBER) {
        pass(c);
        return constant(c, t->kind, t->integer, t->real);
    }
    if (take(c, "(")) {
        out = parse_expression(c);
        expect(c, ")");
        return out;
    }
    if (t->class != TOKEN_NAME || type_of(c, t, &k)) {
        model_error(c, "an expression was expected before '%s'", t->text);
        return out;
    }
    pass(c);
    if (!strcmp(t->text, "THREADS")) return constant(c, KIND_I32, c->program->setting.threads, 0);
    if (!strcmp(t->text, "WARP")) return constant(c, KIND_I32, c->program->setting.warp, 0);
    if (!strcmp(t->text, "ELEM_SIZE"))
        return constant(c, KIND_I32, (int64_t)kind_bytes(c->program->setting.elem), 0);
    if (!strcmp(t->text, "NEUTRAL")) return neutral(c);
    if (is_sign(c, "(")) {
        if (!parse_call(c, t->text, &out) && !call_function(c, t->text, &out))
            model_error(c, "the model has no function '%s'", t->text);
        return out;
    }
    const name_entry *e = find_name(c, t->text);
    if (!e) {
        model_error(c, "'%s' is not declared", t->text);
        return out;
    }
    if (e->array >= 0) return load_element(c, e->array, parse_index(c, e));
    if (e->thread_elements) return thread_element(c, e, parse_index(c, e));
    if (e->lanes == 4) {
        expect(c, ".");
        const char *const at =
            peek(c)->text[0] && !peek(c)->text[1] ? strchr("xyzw", peek(c)->text[0]) : NULL;
        if (!at) model_error(c, "'%s' has x, y, z and w, not '%s'", t->text, peek(c)->text);
        pass(c);
        return (typed){e->reg + (at ? (int)(at - "xyzw") : 0), e->kind};
    }
    return (typed){e->reg, e->kind};
}

static typed unary(compiler *c);

static typed signed_value(compiler *c)
{
    token *t = peek(c);
    kind k;
    if (t->class == TOKEN_SIGN && !strcmp(t->text, "(") && type_of(c, t + 1, &k)) { /* a cast */
        int quad;
        pass(c);
        parse_type(c, &k, &quad);
        expect(c, ")");
        return convert(c, unary(c), k);
    }
    if (has_step(c)) return parse_store(c, 1);
    if (take(c, "-")) {
        typed v = promoted(c, unary(c));
        return emit_value(c, DO_NEG, v.kind, v.reg, 0);
    }
    if (take(c, "~")) {
        typed v = promoted(c, unary(c));
        if (v.kind >= KIND_F32) model_error(c, "~ takes whole numbers, and this is a float");
        return emit_value(c, DO_INVERT, v.kind, v.reg, 0);
    }
    if (take(c, "!")) {
        typed v = truth(c, unary(c));
        return emit_value(c, DO_NOT, KIND_I32, v.reg, 0);
    }
    if (take(c, "+")) return unary(c);
    if (take(c, "*")) { /* *array, *(array + i) */
        const reference r = starred_reference(c);
        if (c->failed) return (typed){0, KIND_I32};
        const typed zero = constant(c, KIND_I64, 0, 0);
        return r.thread_array ? thread_element(c, r.thread_array, zero)
                              : load_element(c, r.array, offset_index(c, r.offset, zero));
    }
    return primary(c);
}

static typed unary(compiler *c)
{
    typed v = {0, KIND_I32};
    if (!deeper(c)) return v;
    v = signed_value(c);
    c->nested--;
    return v;
}

static const struct {
    const char *sign;
    int level;
    opcode op;
    int swap;
} signs[] = {{"*", 10, DO_MUL, 0},     {"/", 10, DO_DIV, 0},     {"%", 10, DO_MOD, 0},
             {"+", 9, DO_ADD, 0},      {"-", 9, DO_SUB, 0},      {"<<", 8, DO_SHL, 0},
             {">>", 8, DO_SHR, 0},     {"<", 7, DO_LESS, 0},     {">", 7, DO_LESS, 1},
             {"<=", 7, DO_LESS_EQ, 0}, {">=", 7, DO_LESS_EQ, 1}, {"==", 6, DO_EQUAL, 0},
             {"!=", 6, DO_UNEQUAL, 0}, {"&", 5, DO_AND, 0},      {"^", 4, DO_XOR, 0},
             {"|", 3, DO_OR, 0},       {"&&", 2, DO_AND, 0},     {"||", 1, DO_OR, 0}};

static typed by_precedence(compiler *c, int least)
{
    typed left = unary(c);
    for (size_t i = 0; i < sizeof signs / sizeof *signs && !c->failed; i++) {
        if (signs[i].level < least || !is_sign(c, signs[i].sign)) continue;
        pass(c);
        if (signs[i].level > 2) {
            typed right = by_precedence(c, signs[i].level + 1);
            left = signs[i].swap ? binary(c, signs[i].op, right, left)
                                 : binary(c, signs[i].op, left, right);
        } else { /* && and ||: the right side only where it matters */
            const int reg = new_register(c);
            left = truth(c, left);
            emit(c, DO_MOVE, KIND_I32, reg, left.reg, 1);
            typed when = signs[i].level == 1 ? emit_value(c, DO_NOT, KIND_I32, left.reg, 0) : left;
            emit(c, DO_PUSH, KIND_I32, when.reg, 0, 0);
            typed right = truth(c, by_precedence(c, signs[i].level + 1));
            emit(c, DO_MOVE, KIND_I32, reg, right.reg, 1);
            emit(c, DO_POP, KIND_I32, 0, 0, 0);
            left = (typed){reg, KIND_I32};
        }
        i = (size_t)-1; /* again from the first sign */
    }
    return left;
}

static typed ternary(compiler *c)
{
    typed condition = by_precedence(c, 1);
    if (!take(c, "?") || !deeper(c)) return condition;
    const int when = truth(c, condition).reg, reg = new_register(c);
    emit(c, DO_PUSH, KIND_I32, when, 0, 0);
    typed yes = ternary(c);
    const int yes_move = emit(c, DO_MOVE, yes.kind, reg, yes.reg, 1);
    emit(c, DO_FLIP, KIND_I32, 0, 0, 0);
    expect(c, ":");
    typed no = ternary(c);
    const kind k = yes.kind > no.kind ? yes.kind : no.kind;
    if (yes.kind != k && yes_move >= 0) { /* the first arm is converted where it is moved */
        c->program->code[yes_move].op = DO_CONVERT;
        c->program->code[yes_move].kind = (uint8_t)k;
        c->program->code[yes_move].c = (int16_t)yes.kind;
        c->program->code[yes_move].d = 1;
    }
    no = convert(c, no, k);
    emit(c, DO_MOVE, k, reg, no.reg, 1);
    emit(c, DO_POP, KIND_I32, 0, 0, 0);
    c->nested--;
    return (typed){reg, k};
}

static const struct {
    const char *sign;
    opcode op;
} assignments[] = {{"=", DO_MOVE}, {"+=", DO_ADD}, {"-=", DO_SUB},  {"*=", DO_MUL},
                   {"/=", DO_DIV}, {"%=", DO_MOD}, {"<<=", DO_SHL}, {">>=", DO_SHR},
                   {"&=", DO_AND}, {"|=", DO_OR},  {"^=", DO_XOR}};
enum { ASSIGNMENTS = sizeof assignments / sizeof *assignments };

static int is_step(const token *t)
{
    return t->class == TOKEN_SIGN && (!strcmp(t->text, "++") || !strcmp(t->text, "--"));
}

/* Behind the bracket that ends what begins at t; NULL: there is none. */
static const token *behind_brackets(const token *t, const char *open, const char *end)
{
    for (int depth = 0; t->class != TOKEN_END; t++) {
        if (t->class != TOKEN_SIGN) continue;
        depth += !strcmp(t->text, open);
        if (!strcmp(t->text, end) && --depth == 0) return t + 1;
    }
    return NULL;
}

/* Behind a '*': a reference, or a pointer that moves on afterwards, as in *p++. */
static reference starred_reference(compiler *c)
{
    const token *const t = c->tokens + c->at;
    const name_entry *const e =
        t->class == TOKEN_NAME && is_step(t + 1) ? find_name(c, t->text) : NULL;
    if (!e || e->array < 0 || e->offset < 0) return parse_reference(c);
    const reference r = {e->array, new_register(c), NULL};
    const typed one = constant(c, KIND_I64, 1, 0);
    emit(c, DO_MOVE, KIND_I64, r.offset, e->offset, 1);
    const typed next =
        binary(c, t[1].text[0] == '+' ? DO_ADD : DO_SUB, (typed){e->offset, KIND_I64}, one);
    emit(c, DO_MOVE, KIND_I64, e->offset, next.reg, 1);
    pass(c);
    pass(c);
    return r;
}

/* What is behind the place to store to that comes next (NAME, *NAME, *(NAME + i) or NAME[...],
 * perhaps behind ++ or --); NULL: none comes. It is looked for before anything is compiled. */
static const token *behind_place(const compiler *c, int *step_before)
{
    const token *t = c->tokens + c->at;
    *step_before = is_step(t);
    if (*step_before) t++;
    const int star = t->class == TOKEN_SIGN && !strcmp(t->text, "*");
    if (star) t++;
    if (star && t->class == TOKEN_NAME && is_step(t + 1)) return t + 2; /* *p++ */
    if (t->class == TOKEN_SIGN && !strcmp(t->text, "(") && t > c->tokens + c->at && !is_step(t - 1))
        return behind_brackets(t, "(", ")"); /* *(array + i) */
    if (t->class != TOKEN_NAME) return NULL;
    for (t++; t && t->class == TOKEN_SIGN && !strcmp(t->text, "[");)
        t = behind_brackets(t, "[", "]");
    return t;
}

/* Is the expression a store as a whole: an assignment, or ++ or -- and nothing else? */
static int is_store(const compiler *c)
{
    int before;
    const token *t = behind_place(c, &before);
    if (!t) return 0;
    const int step = before || is_step(t);
    if (!before && is_step(t)) t++;
    if (step) return t->class == TOKEN_END || (t->class == TOKEN_SIGN && strchr(";),]", *t->text));
    for (int i = 0; i < ASSIGNMENTS && t->class == TOKEN_SIGN; i++)
        if (!strcmp(assignments[i].sign, t->text)) return 1;
    return 0;
}

/* A place to store to: a variable, an element of an array or of a thread's own, a pointer's
   offset (array and thread_array are then not set). */
typedef struct place {
    const name_entry *name; /* of a variable or pointer */
    const name_entry *thread_array;
    int array;
    kind kind;
    typed index;
} place;

static place parse_place(compiler *c)
{
    place p = {.array = -1, .kind = KIND_I64};
    if (take(c, "*")) {
        const reference r = starred_reference(c);
        if (c->failed) return p;
        p.thread_array = r.thread_array;
        p.array = r.array;
        p.kind = r.thread_array ? r.thread_array->kind : c->kernel->arrays[r.array].kind;
        p.index = offset_index(c, r.offset, constant(c, KIND_I64, 0, 0));
        return p;
    }
    token *t = peek(c);
    const name_entry *const e = t->class == TOKEN_NAME ? find_name(c, t->text) : NULL;
    if (!e || e->lanes != 1) {
        model_error(c, e ? "'%s' is read with load4 and not stored to" : "'%s' is not declared",
                    t->text);
        return p;
    }
    pass(c);
    if (is_sign(c, "[") && (e->array >= 0 || e->thread_elements)) {
        p.index = parse_index(c, e);
        p.array = e->array;
        p.thread_array = e->thread_elements ? e : NULL;
        p.kind = e->kind;
        return p;
    }
    p.name = e;
    if (e->thread_elements || (e->array >= 0 && e->offset < 0))
        model_error(c, "the array '%s' needs an index", t->text);
    if (e->array < 0) p.kind = e->kind;
    return p;
}

static typed value_at(compiler *c, const place *p)
{
    if (p->thread_array) return thread_element(c, p->thread_array, p->index);
    if (p->array >= 0) return load_element(c, p->array, p->index);
    return (typed){p->name->array >= 0 ? p->name->offset : p->name->reg, p->kind};
}

static typed store_at(compiler *c, const place *p, typed v)
{
    v = convert(c, v, p->kind);
    if (p->thread_array)
        thread_store(c, p->thread_array, p->index, v);
    else if (p->array >= 0)
        store_element(c, p->array, p->index, v);
    else
        emit(c, DO_MOVE, p->kind, p->name->array >= 0 ? p->name->offset : p->name->reg, v.reg, 1);
    return v;
}

/* pointer = part of the array that it points into */
static typed move_pointer(compiler *c, const place *p)
{
    const reference r = parse_reference(c);
    if (!c->failed && (r.thread_array || r.array != p->name->array))
        model_error(c,
                    "a pointer of the model stays in the array that it was set to; '%s' changes to "
                    "another: use an index",
                    p->name->name);
    return c->failed ? (typed){0, KIND_I64}
                     : store_at(c, p, offset_index(c, r.offset, constant(c, KIND_I64, 0, 0)));
}

/* Is there ++ or --? Passes it. */
static int take_step(compiler *c, opcode *op)
{
    if (!is_step(peek(c))) return 0;
    *op = peek(c)->text[0] == '+' ? DO_ADD : DO_SUB;
    pass(c);
    return 1;
}

static typed parse_store(compiler *c, int used)
{
    opcode op;
    typed none = {0, KIND_I32};
    const int before = take_step(c, &op);
    const place p = parse_place(c);
    if (c->failed) return none;
    if (before) return store_at(c, &p, binary(c, op, value_at(c, &p), constant(c, KIND_I32, 1, 0)));
    if (take_step(c, &op)) {
        typed old = value_at(c, &p), kept = old;
        if (used && p.name) { /* the variable's register is about to change */
            kept = (typed){new_register(c), old.kind};
            emit(c, DO_MOVE, old.kind, kept.reg, old.reg, 1);
        }
        store_at(c, &p, binary(c, op, old, constant(c, KIND_I32, 1, 0)));
        return kept;
    }
    int which = 0;
    while (which < ASSIGNMENTS && !take(c, assignments[which].sign)) which++;
    if (which == ASSIGNMENTS || !deeper(c)) return none;
    typed v;
    if (!which && p.name && p.name->array >= 0) {
        v = move_pointer(c, &p);
        c->nested--;
        return v;
    }
    if (!which) {
        v = parse_expression(c);
    } else {
        typed old = value_at(c, &p);
        v = binary(c, assignments[which].op, old, parse_expression(c));
    }
    c->nested--;
    return store_at(c, &p, v);
}

static int has_step(const compiler *c)
{
    int before;
    const token *t = behind_place(c, &before);
    return t && (before || is_step(t));
}

typed parse_term(compiler *c) { return by_precedence(c, 10); }
typed parse_expression(compiler *c) { return is_store(c) ? parse_store(c, 1) : ternary(c); }
void parse_effect(compiler *c)
{
    if (is_store(c))
        parse_store(c, 0);
    else
        ternary(c);
}

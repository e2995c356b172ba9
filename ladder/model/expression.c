/* SPDX-License-Identifier: MIT
 * Expressions of the dialect as code, by precedence climbing. The untaken arm of ?: && || is not evaluated: a mask is
 * pushed around it, which GPUs do by predication, so that it does not count as a branch. */
#include "code.h"
#include <string.h>

static typed neutral(compiler *c)
{
    const kind k = c->program->setting.elem;
    static const int64_t low[] = {INT32_MIN, 0, INT64_MIN, 0}, high[] = {INT32_MAX, UINT32_MAX, INT64_MAX, -1};
    const int op = c->program->setting.operation;
    if (!op) return constant(c, k, 0, 0);
    if (k == KIND_F32 || k == KIND_F64) return constant(c, k, 0, op == 1 ? __builtin_inf() : -__builtin_inf());
    return constant(c, k, op == 1 ? high[k] : low[k], 0);
}

static typed element(compiler *c, int array, typed index)
{
    const kind k = c->kernel->arrays[array].kind;
    const int reg = new_register(c), at = emit(c, DO_LOAD, k, reg, array, 1);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
    return (typed){reg, k};
}

static typed index_of(compiler *c)
{
    expect(c, "[");
    typed index = convert(c, parse_expression(c), KIND_I64);
    expect(c, "]");
    return index;
}

static typed primary(compiler *c)
{
    token *t = peek(c);
    typed out = {0, KIND_I32};
    kind k;
    if (t->class == TOKEN_NUMBER) {
        c->at++;
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
    c->at++;
    if (!strcmp(t->text, "THREADS")) return constant(c, KIND_I32, c->program->setting.threads, 0);
    if (!strcmp(t->text, "WARP")) return constant(c, KIND_I32, c->program->setting.warp, 0);
    if (!strcmp(t->text, "NEUTRAL")) return neutral(c);
    if (is_sign(c, "(")) {
        if (!parse_call(c, t->text, &out)) model_error(c, "the model has no function '%s'", t->text);
        return out;
    }
    const name_entry *e = find_name(c, t->text);
    if (!e) {
        model_error(c, "'%s' is not declared", t->text);
        return out;
    }
    if (e->array >= 0) return element(c, e->array, index_of(c));
    if (e->lanes == 4) {
        expect(c, ".");
        const char *const at = peek(c)->text[0] && !peek(c)->text[1] ? strchr("xyzw", peek(c)->text[0]) : NULL;
        if (!at) model_error(c, "'%s' has x, y, z and w, not '%s'", t->text, peek(c)->text);
        c->at++;
        return (typed){e->reg + (at ? (int)(at - "xyzw") : 0), e->kind};
    }
    return (typed){e->reg, e->kind};
}

static typed unary(compiler *c)
{
    token *t = peek(c);
    kind k;
    if (t->class == TOKEN_SIGN && !strcmp(t->text, "(") && type_of(c, t + 1, &k)) { /* a cast */
        int quad;
        c->at++;
        parse_type(c, &k, &quad);
        expect(c, ")");
        return convert(c, unary(c), k);
    }
    if (take(c, "-")) {
        typed v = unary(c);
        return emit_value(c, DO_NEG, v.kind, v.reg, 0);
    }
    if (take(c, "~")) {
        typed v = unary(c);
        return emit_value(c, DO_INVERT, v.kind, v.reg, 0);
    }
    if (take(c, "!")) {
        typed v = truth(c, unary(c));
        return emit_value(c, DO_NOT, KIND_I32, v.reg, 0);
    }
    if (take(c, "+")) return unary(c);
    return primary(c);
}

static const struct {
    const char *sign;
    int level;
    opcode op;
    int swap;
} signs[] = {{"*", 10, DO_MUL, 0},     {"/", 10, DO_DIV, 0},     {"%", 10, DO_MOD, 0},     {"+", 9, DO_ADD, 0},
             {"-", 9, DO_SUB, 0},      {"<<", 8, DO_SHL, 0},     {">>", 8, DO_SHR, 0},     {"<", 7, DO_LESS, 0},
             {">", 7, DO_LESS, 1},     {"<=", 7, DO_LESS_EQ, 0}, {">=", 7, DO_LESS_EQ, 1}, {"==", 6, DO_EQUAL, 0},
             {"!=", 6, DO_UNEQUAL, 0}, {"&", 5, DO_AND, 0},      {"^", 4, DO_XOR, 0},      {"|", 3, DO_OR, 0},
             {"&&", 2, DO_AND, 0},     {"||", 1, DO_OR, 0}};

static typed climb(compiler *c, int least)
{
    typed left = unary(c);
    for (size_t i = 0; i < sizeof signs / sizeof *signs && !c->failed; i++) {
        if (signs[i].level < least || !is_sign(c, signs[i].sign)) continue;
        c->at++;
        if (signs[i].level > 2) {
            typed right = climb(c, signs[i].level + 1);
            left = signs[i].swap ? binary(c, signs[i].op, right, left) : binary(c, signs[i].op, left, right);
        } else { /* && and ||: the right side only where it matters */
            const int reg = new_register(c);
            left = truth(c, left);
            emit(c, DO_MOVE, KIND_I32, reg, left.reg, 1);
            typed when = signs[i].level == 1 ? emit_value(c, DO_NOT, KIND_I32, left.reg, 0) : left;
            emit(c, DO_PUSH, KIND_I32, when.reg, 0, 0);
            typed right = truth(c, climb(c, signs[i].level + 1));
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
    typed condition = climb(c, 1);
    if (!take(c, "?")) return condition;
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
    return (typed){reg, k};
}

static int assigned_operation(compiler *c, opcode *op)
{
    static const struct {
        const char *sign;
        opcode op;
    } table[] = {{"=", DO_MOVE},  {"+=", DO_ADD},  {"-=", DO_SUB}, {"*=", DO_MUL}, {"/=", DO_DIV}, {"%=", DO_MOD},
                 {"<<=", DO_SHL}, {">>=", DO_SHR}, {"&=", DO_AND}, {"|=", DO_OR},  {"^=", DO_XOR}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (take(c, table[i].sign)) {
            *op = table[i].op;
            return 1;
        }
    return 0;
}

static void store_element(compiler *c, int array, typed index, typed v)
{
    const kind k = c->kernel->arrays[array].kind;
    v = convert(c, v, k);
    const int at = emit(c, DO_STORE, k, array, v.reg, 1);
    if (at >= 0) c->program->code[at].c = (int16_t)index.reg;
}

/* name = e, name += e, name[i] = e, name[i] += e, name++, ++name; or an expression without assignment */
typed parse_expression(compiler *c)
{
    const int start = c->at;
    opcode op;
    if (is_sign(c, "++") || is_sign(c, "--")) { /* before the name: as += 1 */
        const int add = take(c, "++");
        if (!add) take(c, "--");
        const name_entry *e = find_name(c, peek(c)->text);
        if (!e || e->array >= 0) {
            model_error(c, "++ and -- need a variable");
            return (typed){0, KIND_I32};
        }
        c->at++;
        store_name(c, e, binary(c, add ? DO_ADD : DO_SUB, (typed){e->reg, e->kind}, constant(c, KIND_I32, 1, 0)));
        return (typed){e->reg, e->kind};
    }
    token *t = peek(c);
    const name_entry *e = t->class == TOKEN_NAME ? find_name(c, t->text) : NULL;
    if (e && e->lanes == 1) {
        typed index = {0, KIND_I64};
        const int first = c->program->length, used = c->next;
        c->at++;
        if (e->array >= 0) {
            if (!is_sign(c, "[")) {
                model_error(c, "the array '%s' needs an index", t->text);
                return index;
            }
            index = index_of(c);
        }
        const int add = is_sign(c, "++"), back = is_sign(c, "--");
        if (add || back) {
            c->at++;
            typed one = constant(c, KIND_I32, 1, 0);
            if (e->array >= 0)
                store_element(c, e->array, index, binary(c, add ? DO_ADD : DO_SUB, element(c, e->array, index), one));
            else
                store_name(c, e, binary(c, add ? DO_ADD : DO_SUB, (typed){e->reg, e->kind}, one));
            return (typed){e->array >= 0 ? one.reg : e->reg, e->array >= 0 ? KIND_I32 : e->kind};
        }
        if (assigned_operation(c, &op)) {
            typed v;
            if (op == DO_MOVE)
                v = parse_expression(c);
            else if (e->array >= 0) {
                typed old = element(c, e->array, index);
                v = binary(c, op, old, parse_expression(c));
            } else
                v = binary(c, op, (typed){e->reg, e->kind}, parse_expression(c));
            if (e->array >= 0)
                store_element(c, e->array, index, v);
            else
                store_name(c, e, v);
            return v;
        }
        c->program->length = first; /* not an assignment after all: once more as an expression */
        c->next = used;
        c->at = start;
    }
    return ternary(c);
}

/* SPDX-License-Identifier: MIT
 * Functions of a text: FUNCTION type name(parameters) { ... }. Each call compiles the body again
 * (GPUs' compilers do the same, and have no stack by default), with the parameters as variables of
 * their own, or as other names of arrays. The lines that are counted are those of the body.
 *
 * A return takes its lanes out until the call is over, as a break does in a loop. */
#include "code.h"
#include <stdio.h>
#include <string.h>

/* Past what is between two brackets. */
static void pass_brackets(compiler *c, const char *open, const char *end)
{
    int depth = 0;
    do {
        depth += is_sign(c, open);
        depth -= is_sign(c, end);
        if (peek(c)->class == TOKEN_END) model_error(c, "'%s' is missing", end);
        pass(c);
    } while (depth && !c->failed);
}

static const function *find_function(const compiler *c, const char *name)
{
    for (int i = 0; i < c->function_count; i++)
        if (!strcmp(c->functions[i].name, name)) return &c->functions[i];
    return NULL;
}

void function_text(compiler *c)
{
    int quad;
    if (c->function_count == FUNCTIONS_MOST) {
        model_error(c, "more than %d functions", FUNCTIONS_MOST);
        return;
    }
    function *const f = &c->functions[c->function_count];
    *f = (function){.kind = KIND_I32};
    f->returns = !take_word(c, "void");
    if (f->returns && !parse_type(c, &f->kind, &quad))
        model_error(c, "a function's type was expected before '%s'", peek(c)->text);
    if (peek(c)->class != TOKEN_NAME || find_function(c, peek(c)->text))
        model_error(c, "a function needs a name of its own, not '%s'", peek(c)->text);
    if (c->failed) return;
    snprintf(f->name, sizeof f->name, "%s", peek(c)->text);
    pass(c);
    f->parameters = c->at;
    if (!is_sign(c, "(")) model_error(c, "'(' was expected before '%s'", peek(c)->text);
    pass_brackets(c, "(", ")");
    f->body = c->at;
    if (!is_sign(c, "{")) model_error(c, "'{' was expected before '%s'", peek(c)->text);
    if (!c->failed) pass_brackets(c, "{", "}");
    c->function_count++;
}

typedef struct operand {
    char name[NAME_BYTES];
    int pointer;
    kind kind;
    reference array; /* of a pointer */
    int reg;         /* of a value */
} operand;

/* The parameters of f into list; how many. */
static int parameters(compiler *c, const function *f, operand *list)
{
    const int back = c->at;
    int n = 0, quad;
    c->at = f->parameters;
    expect(c, "(");
    take_word(c, "void");
    while (!c->failed && !is_sign(c, ")")) {
        if (n == OPERANDS_MOST) {
            model_error(c, "the function '%s' has more than %d parameters", f->name, OPERANDS_MOST);
            break;
        }
        operand *const o = &list[n++];
        *o = (operand){.array = {-1, -1, NULL}};
        while (is_word(c, "GLOBAL") || is_word(c, "LOCAL") || is_word(c, "const") ||
               is_word(c, "volatile"))
            pass(c);
        if (!parse_type(c, &o->kind, &quad))
            model_error(c, "a parameter's type was expected before '%s'", peek(c)->text);
        o->pointer = take(c, "*");
        while (is_word(c, "const")) pass(c);
        snprintf(o->name, sizeof o->name, "%s", peek(c)->text);
        pass(c);
        if (take(c, "[")) { /* data[]: a pointer */
            o->pointer = 1;
            while (!c->failed && !take(c, "]")) pass(c), c->failed |= peek(c)->class == TOKEN_END;
        }
        take_word(c, "EXCHANGE_PARAMETER"); /* devices without shuffles need it */
        if (!take(c, ",")) break;
    }
    if (!c->failed) expect(c, ")");
    c->at = back;
    return n;
}

static void operands(compiler *c, const function *f, operand *list, int count)
{
    expect(c, "(");
    for (int i = 0; i < count && !c->failed; i++) {
        operand *const o = &list[i];
        take_word(c, "EXCHANGE"); /* devices without shuffles need it */
        if (i) expect(c, ",");
        if (o->pointer) {
            o->array = parse_reference(c);
            const kind given = c->failed               ? o->kind
                               : o->array.thread_array ? o->array.thread_array->kind
                                                       : c->kernel->arrays[o->array.array].kind;
            if (given != o->kind)
                model_error(c, "operand %d of '%s' is a pointer to another type", i + 1, f->name);
            if (o->array.offset >= 0) { /* a copy: the body may move it */
                const int offset = new_register(c);
                emit(c, DO_MOVE, KIND_I64, offset, o->array.offset, 1);
                o->array.offset = offset;
            }
            continue;
        }
        const typed v = convert(c, parse_expression(c), o->kind);
        o->reg = new_register(c);
        emit(c, DO_MOVE, o->kind, o->reg, v.reg, 1);
    }
    take_word(c, "EXCHANGE");
    if (!is_sign(c, ")")) model_error(c, "'%s' takes %d operands", f->name, count);
    expect(c, ")");
}

static void name_operands(compiler *c, const operand *list, int count)
{
    for (int i = 0; i < count && !c->failed; i++) {
        const operand *const o = &list[i];
        const name_entry *const from = o->array.thread_array;
        name_entry *const e =
            add_name(c, o->name, from ? from->reg : o->reg, o->array.array, o->kind, 1);
        if (!e || !o->pointer) continue;
        e->thread_elements = from ? from->thread_elements : 0;
        e->offset = o->array.offset;
    }
}

int call_function(compiler *c, const char *name, typed *out)
{
    function *const f = (function *)(uintptr_t)find_function(c, name);
    operand list[OPERANDS_MOST];
    if (!f) return 0;
    if (f->active) model_error(c, "'%s' calls itself: the model has no recursion", name);
    if (c->failed) return 1;
    const int count = parameters(c, f, list);
    *out = (typed){new_register(c), f->kind};
    operands(c, f, list, count);
    const int back = c->at, names = c->name_count, first = c->first_name, loops = c->loops,
              result = c->result;
    const function *const in = c->in;
    c->first_name = names;
    name_operands(c, list, count);
    f->active = 1;
    c->in = f;
    c->result = out->reg;
    c->loops = 0;
    c->at = f->body;
    emit(c, DO_LOOP, KIND_I32, LOOP_CALL, 0, 0);
    const int used = c->next;
    if (!c->failed) parse_statement(c);
    c->next = used;
    emit(c, DO_LOOP_END, KIND_I32, 0, 0, 0);
    if (!c->failed) c->at = back;
    f->active = 0;
    c->in = in;
    c->result = result;
    c->loops = loops;
    c->name_count = names;
    c->first_name = first;
    return 1;
}

void parse_return(compiler *c)
{
    const function *const f = c->in;
    if (f && f->returns) {
        const typed v = convert(c, parse_expression(c), f->kind);
        emit(c, DO_MOVE, f->kind, c->result, v.reg, 1);
    } else if (!is_sign(c, ";")) {
        model_error(c, "%s returns no value", f ? f->name : "a kernel");
    }
    expect(c, ";");
    emit(c, DO_RETURN, KIND_I32, f ? LOOP_CALL : LOOP_NONE, 0, 0);
}

/* SPDX-License-Identifier: MIT
 * Statements of the dialect as code: declarations, if, for, while, break, return, barriers. */
#include "code.h"
#include <stdio.h>
#include <string.h>

static void shared_array(compiler *c)
{
    kind k;
    int quad;
    while (is_word(c, "volatile")) pass(c);
    if (!parse_type(c, &k, &quad)) model_error(c, "SHARED needs a type, not '%s'", peek(c)->text);
    do {
        const char *const name = peek(c)->text;
        int64_t sides[SIDES_MOST], length = 1;
        pass(c);
        const int side_count = parse_sides(c, sides);
        for (int i = 0; i < side_count; i++) length *= sides[i];
        if (length < 1 || length > 1 << 16)
            model_error(c, "the shared array '%s' has %lld elements", name, (long long)length);
        array_info *a = c->failed ? NULL : add_array(c, name, k);
        if (!a) return;
        a->shared = 1;
        a->length = length;
        memcpy(a->sides, sides, sizeof sides);
        a->side_count = side_count;
        a->offset = (c->kernel->shared_bytes + 15) / 16 * 16;
        c->kernel->shared_bytes = a->offset + length * (int64_t)kind_bytes(k);
        if (c->kernel->shared_bytes > 49152)
            model_error(c, "%lld bytes of shared memory: 49152 is what every GPU has",
                        (long long)c->kernel->shared_bytes);
    } while (take(c, ",") && !c->failed);
    expect(c, ";");
}

static void declaration(compiler *c, kind k, int quad)
{
    do {
        if (take(c, "*")) {
            declare_pointer(c);
            continue;
        }
        token *name = peek(c);
        if (name->class != TOKEN_NAME)
            model_error(c, "a name was expected before '%s'", name->text);
        pass(c);
        if (c->failed) return;
        if (is_sign(c, "[")) {
            declare_thread_array(c, name->text, k);
            continue;
        }
        if (quad) {
            expect(c, "=");
            if (!take_word(c, "load4")) model_error(c, "elem4 takes load4(array, index)");
            if (c->failed) return;
            add_name(c, name->text, load_quad(c), -1, k, 4);
            continue;
        }
        const int reg = new_register(c);
        name_entry *e = NULL;
        if (take(c, "=")) {
            const int used = c->next;
            typed v = convert(c, parse_expression(c), k);
            emit(c, DO_MOVE, k, reg, v.reg, 1);
            c->next = used;
        } else { /* no value: a conspicuous one, so that its use shows */
            const int at = emit(c, DO_CONST, k, reg, 0, 0);
            if (at >= 0) unknown_value(c, at, k, 0);
        }
        e = add_name(c, name->text, reg, -1, k, 1);
        if (!e) return;
    } while (take(c, ",") && !c->failed);
    expect(c, ";");
}

static typed condition(compiler *c)
{
    typed v = parse_expression(c);
    return v.kind == KIND_I32 ? v : convert(c, v, v.kind >= KIND_F32 ? KIND_F64 : KIND_I64);
}

static void block_end(compiler *c, int names, int registers)
{
    c->name_count = names;
    c->next = registers;
}

static void if_statement(compiler *c)
{
    expect(c, "(");
    const int used = c->next;
    typed v = condition(c);
    const int start = emit(c, DO_IF, v.kind, v.reg, 0, 0);
    c->next = used;
    expect(c, ")");
    parse_statement(c);
    if (take_word(c, "else")) {
        const int other = emit(c, DO_ELSE, KIND_I32, 0, 0, 0);
        if (start >= 0) c->program->code[start].d = other;
        parse_statement(c);
        const int end = emit(c, DO_END, KIND_I32, 0, 0, 0);
        if (other >= 0) c->program->code[other].d = end;
    } else {
        const int end = emit(c, DO_END, KIND_I32, 0, 0, 0);
        if (start >= 0) c->program->code[start].d = end;
    }
}

/* Is there a `continue` in the statement that comes next? (One of a loop inside it counts too,
   and does no harm.) */
static int has_continue(const compiler *c)
{
    const token *t = c->tokens + c->at;
    const int block = t->class == TOKEN_SIGN && *t->text == '{';
    for (int depth = 0; t->class != TOKEN_END; t++) {
        if (t->class == TOKEN_NAME && !strcmp(t->text, "continue")) return 1;
        if (t->class != TOKEN_SIGN) continue;
        depth += *t->text == '{' || *t->text == '(';
        depth -= *t->text == '}' || *t->text == ')';
        if (depth == 0 && *t->text == (block ? '}' : ';')) break;
    }
    return 0;
}

static void loop_body(compiler *c)
{
    const int continues = has_continue(c);
    c->loops++;
    if (continues) emit(c, DO_LOOP, KIND_I32, LOOP_CONTINUE, 0, 0);
    parse_statement(c);
    if (continues) emit(c, DO_LOOP_END, KIND_I32, 0, 0, 0);
    c->loops--;
}

static void do_loop(compiler *c)
{
    emit(c, DO_LOOP, KIND_I32, LOOP_BREAK, 0, 0);
    const int top = c->program->length, used = c->next;
    loop_body(c);
    if (!take_word(c, "while")) model_error(c, "'while' was expected before '%s'", peek(c)->text);
    expect(c, "(");
    typed v = condition(c);
    expect(c, ")");
    expect(c, ";");
    const int test = emit(c, DO_TEST, v.kind, v.reg, 0, 0);
    emit(c, DO_JUMP, KIND_I32, 0, 0, top);
    const int end = emit(c, DO_LOOP_END, KIND_I32, 0, 0, 0);
    if (test >= 0) c->program->code[test].d = end;
    c->next = used;
}

/* for (a; b; c) and while (b) */
static void loop(compiler *c, int is_for)
{
    const int names = c->name_count, registers = c->next;
    kind k;
    int quad, step = -1;
    expect(c, "(");
    if (is_for) {
        if (parse_type(c, &k, &quad))
            declaration(c, k, quad);
        else {
            if (!is_sign(c, ";")) do
                    parse_effect(c);
                while (take(c, ",") && !c->failed);
            expect(c, ";");
        }
    }
    emit(c, DO_LOOP, KIND_I32, LOOP_BREAK, 0, 0);
    const int top = c->program->length, used = c->next;
    int test = -1;
    if (!is_for || !is_sign(c, ";")) {
        typed v = condition(c);
        test = emit(c, DO_TEST, v.kind, v.reg, 0, 0);
    }
    c->next = used;
    if (is_for) {
        expect(c, ";");
        step = c->at;
        for (int depth = 0; !c->failed; pass(c)) { /* passed over now, compiled after the body */
            if (is_sign(c, ")") && depth-- == 0) break;
            depth += is_sign(c, "(");
            if (peek(c)->class == TOKEN_END) model_error(c, "')' is missing");
        }
    }
    expect(c, ")");
    loop_body(c);
    if (step >= 0 && !c->failed) {
        const int after = c->at;
        c->at = step;
        if (!is_sign(c, ")")) do
                parse_effect(c);
            while (take(c, ",") && !c->failed);
        c->at = after;
        c->next = used;
    }
    emit(c, DO_JUMP, KIND_I32, 0, 0, top);
    const int end = emit(c, DO_LOOP_END, KIND_I32, 0, 0, 0);
    if (test >= 0) c->program->code[test].d = end;
    block_end(c, names, registers);
}

/* GRID_BARRIER(cells): all threads of the group meet, one of them counts the group in, and all
   groups meet. */
static void grid_barrier(compiler *c)
{
    expect(c, "(");
    const name_entry *const e = find_name(c, peek(c)->text);
    array_info *const a = e && e->array >= 0 ? &c->kernel->arrays[e->array] : NULL;
    if (!a || a->shared || a->kind != KIND_U32)
        model_error(c, "GRID_BARRIER needs global memory of u32, not '%s'", peek(c)->text);
    pass(c);
    expect(c, ")");
    expect(c, ";");
    if (c->failed) return;
    const int used = c->next;
    emit(c, DO_BARRIER, KIND_I32, 0, 0, 0);
    const typed first =
        binary(c, DO_EQUAL, emit_value(c, DO_THREAD, KIND_I32, 0, 0), constant(c, KIND_I32, 0, 0));
    const int start = emit(c, DO_IF, KIND_I32, first.reg, 0, 0);
    const typed cell = constant(c, KIND_I64, 0, 0);
    const int next = emit(c, DO_ATOMIC_NEXT, KIND_U32, new_register(c), e->array, 0);
    if (next >= 0) c->program->code[next].c = (int16_t)cell.reg;
    const int end = emit(c, DO_END, KIND_I32, 0, 0, 0);
    if (start >= 0) c->program->code[start].d = end;
    emit(c, DO_GRID_BARRIER, KIND_I32, 0, 0, 0);
    c->kernel->atomics = 1;
    c->kernel->needs |= NEEDS_GRID;
    c->next = used;
}

/* Words of the dialect with empty parentheses, and others that stand alone. Returns whether there
 * was one. */
static int word_statement(compiler *c)
{
    static const struct {
        const char *word;
        opcode op;
    } words[] = {{"BARRIER", DO_BARRIER},
                 {"WARP_BARRIER", DO_WARP_BARRIER},
                 {"FENCE", DO_STOP},
                 {"copy_wait", DO_COPY_WAIT}};
    if (take(c, ";") || take_word(c, "UNROLL")) return 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take_word(c, words[i].word)) {
            expect(c, "(");
            expect(c, ")");
            expect(c, ";");
            if (words[i].op != DO_STOP) emit(c, words[i].op, KIND_I32, 0, 0, 0);
            return 1;
        }
    if (take_word(c, "GRID_BARRIER")) {
        grid_barrier(c);
        return 1;
    }
    if (take_word(c, "SHUFFLES")) {
        expect(c, ";");
        return 1;
    }
    if (take_word(c, "SHARED")) {
        shared_array(c);
        return 1;
    }
    if (take_word(c, "HOLDS")) {
        int64_t holds = 0;
        expect(c, "(");
        if (constant_expression(c, &holds) && !holds)
            model_error(c, "the static_assert does not hold");
        expect(c, ")");
        expect(c, ";");
        return 1;
    }
    return 0;
}

/* Branches and loops, and what leaves them. Returns whether there was one. */
static int flow_statement(compiler *c)
{
    static const struct {
        const char *word;
        opcode op;
    } leaves[] = {{"break", DO_BREAK}, {"continue", DO_CONTINUE}};
    if (is_word(c, "if") || is_word(c, "for") || is_word(c, "while")) {
        const int which = peek(c)->text[0];
        pass(c);
        which == 'i' ? if_statement(c) : loop(c, which == 'f');
        return 1;
    }
    if (take_word(c, "do")) {
        do_loop(c);
        return 1;
    }
    if (take_word(c, "return")) {
        parse_return(c);
        return 1;
    }
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        if (!take_word(c, leaves[i].word)) continue;
        if (!c->loops) model_error(c, "%s outside of a loop", leaves[i].word);
        expect(c, ";");
        emit(c, leaves[i].op, KIND_I32, 0, 0, 0);
        return 1;
    }
    return 0;
}

static void statement(compiler *c)
{
    kind k;
    int quad;
    if (c->failed) return;
    const int names = c->name_count, registers = c->next;
    if (take(c, "{")) {
        c->scope++;
        while (!c->failed && !take(c, "}")) {
            if (peek(c)->class == TOKEN_END) model_error(c, "'}' is missing");
            parse_statement(c);
        }
        c->scope--;
        block_end(c, names, registers);
        return;
    }
    if (word_statement(c) || flow_statement(c)) return;
    while (is_word(c, "volatile")) pass(c);
    if (take_word(c, "LOCAL") || take_word(c, "GLOBAL")) {
        if (!parse_type(c, &k, &quad))
            model_error(c, "a type was expected before '%s'", peek(c)->text);
        declaration(c, k, quad);
        return;
    }
    if (parse_type(c, &k, &quad)) {
        declaration(c, k, quad);
        return;
    }
    do parse_effect(c);
    while (take(c, ",") && !c->failed);
    expect(c, ";");
    c->next = registers;
}

void parse_statement(compiler *c)
{
    if (!deeper(c)) return;
    statement(c);
    c->nested--;
}

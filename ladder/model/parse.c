/* SPDX-License-Identifier: MIT
 * Statements of the dialect as code: kernels, declarations, if, for, while, break, return, barriers. One pass. */
#include "code.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int load_quad(compiler *c);
static void statement(compiler *c);

/* ---- helpers that expression.c uses too ---- */

void model_error(compiler *c, const char *format, ...)
{
    if (c->failed) return; /* the first one is the cause */
    c->failed = 1;
    const int n = snprintf(c->error, c->error_room, "%s:%d: ", c->program->name, peek(c)->line);
    va_list list;
    va_start(list, format);
    if (n > 0 && (size_t)n < c->error_room) vsnprintf(c->error + n, c->error_room - (size_t)n, format, list);
    va_end(list);
}

int emit(compiler *c, opcode op, kind k, int a, int b, int d)
{
    model_program *p = c->program;
    if (p->length == p->room) {
        const int room = p->room ? 2 * p->room : 256;
        instruction *more = realloc(p->code, (size_t)room * sizeof *more);
        if (!more) {
            model_error(c, "out of memory");
            return -1;
        }
        p->code = more;
        p->room = room;
    }
    int line = peek(c)->line;
    if (c->at > 0) line = c->tokens[c->at - 1].line; /* of the token just passed */
    if (line >= MODEL_LINES) line = MODEL_LINES - 1;   /* long texts: counted together */
    p->code[p->length] =
        (instruction){(uint8_t)op, (uint8_t)k, (uint16_t)line, (int16_t)a, (int16_t)b, 0, d, {0}};
    return p->length++;
}

token *peek(compiler *c) { return &c->tokens[c->at < c->count ? c->at : c->count - 1]; }
int is_sign(compiler *c, const char *text)
{
    return peek(c)->class == TOKEN_SIGN && !strcmp(peek(c)->text, text);
}
static int is_word(compiler *c, const char *text)
{
    return peek(c)->class == TOKEN_NAME && !strcmp(peek(c)->text, text);
}
int take(compiler *c, const char *text)
{
    if (!is_sign(c, text)) return 0;
    c->at++;
    return 1;
}
static int take_word(compiler *c, const char *text)
{
    if (!is_word(c, text)) return 0;
    c->at++;
    return 1;
}
void expect(compiler *c, const char *text)
{
    if (!take(c, text)) model_error(c, "'%s' was expected before '%s'", text, peek(c)->text);
}

int new_register(compiler *c)
{
    const int reg = c->next++;
    if (c->next > c->kernel->registers) c->kernel->registers = c->next;
    return reg;
}

name_entry *find_name(compiler *c, const char *name)
{
    for (int i = c->name_count - 1; i >= 0; i--)
        if (!strcmp(c->names[i].name, name)) return &c->names[i];
    return NULL;
}

static name_entry *add_name(compiler *c, const char *name, int reg, int array, kind k, int lanes)
{
    if (c->name_count == NAMES_MOST) {
        model_error(c, "more than %d names", NAMES_MOST);
        return NULL;
    }
    name_entry *e = &c->names[c->name_count++];
    *e = (name_entry){.reg = reg, .array = array, .lanes = lanes, .scope = c->scope, .kind = k};
    snprintf(e->name, sizeof e->name, "%s", name);
    return e;
}

void store_name(compiler *c, const name_entry *e, typed v)
{
    v = convert(c, v, e->kind);
    emit(c, DO_MOVE, e->kind, e->reg, v.reg, 1);
}

int type_of(compiler *c, const token *t, kind *k)
{
    static const struct {
        const char *name;
        kind kind;
    } types[] = {{"int", KIND_I32}, {"i32", KIND_I32}, {"u32", KIND_U32}, {"unsigned", KIND_U32}, {"i64", KIND_I64},
                 {"u64", KIND_U64}, {"f32", KIND_F32}, {"f64", KIND_F64}};
    if (t->class != TOKEN_NAME) return 0;
    if (!strcmp(t->text, "elem") || !strcmp(t->text, "elem4")) {
        *k = c->program->setting.elem;
        return 1;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, t->text)) {
            *k = types[i].kind;
            return 1;
        }
    return 0;
}

int parse_type(compiler *c, kind *k, int *quad)
{
    while (is_word(c, "const") || is_word(c, "volatile")) c->at++;
    if (!type_of(c, peek(c), k)) return 0;
    *quad = !strcmp(peek(c)->text, "elem4");
    c->at++;
    while (is_word(c, "const") || is_word(c, "volatile")) c->at++;
    return 1;
}

/* Constants: products, sums and quotients of numbers, THREADS and WARP. */
static int64_t constant_term(compiler *c)
{
    token *t = peek(c);
    c->at++;
    if (t->class == TOKEN_NUMBER) return t->integer;
    if (!strcmp(t->text, "THREADS")) return c->program->setting.threads;
    if (!strcmp(t->text, "WARP")) return c->program->setting.warp;
    if (!strcmp(t->text, "(")) {
        int64_t v = 0;
        constant_expression(c, &v);
        expect(c, ")");
        return v;
    }
    c->at--;
    model_error(c, "a constant was expected before '%s'", t->text);
    return 1;
}
static int64_t constant_product(compiler *c)
{
    int64_t v = constant_term(c);
    while (!c->failed) {
        if (take(c, "*"))
            v *= constant_term(c);
        else if (take(c, "/")) {
            const int64_t by = constant_term(c);
            v = by ? v / by : 0;
        } else
            break;
    }
    return v;
}
int constant_expression(compiler *c, int64_t *out)
{
    *out = constant_product(c);
    while (!c->failed && (is_sign(c, "+") || is_sign(c, "-"))) *out += take(c, "+") ? constant_product(c) : (c->at++, -constant_product(c));
    return !c->failed;
}

static array_info *add_array(compiler *c, const char *name, kind k)
{
    kernel_code *kernel = c->kernel;
    if (kernel->array_count == ARRAYS_MOST) {
        model_error(c, "more than %d arrays", ARRAYS_MOST);
        return NULL;
    }
    array_info *a = &kernel->arrays[kernel->array_count];
    *a = (array_info){.kind = k};
    snprintf(a->name, sizeof a->name, "%s", name);
    add_name(c, name, -1, kernel->array_count++, k, 1);
    return a;
}

/* ---- statements ---- */

static void shared_array(compiler *c)
{
    kind k;
    int quad;
    while (is_word(c, "volatile")) c->at++;
    if (!parse_type(c, &k, &quad)) model_error(c, "SHARED needs a type, not '%s'", peek(c)->text);
    do {
        const char *const name = peek(c)->text;
        int64_t length = 0;
        c->at++;
        expect(c, "[");
        constant_expression(c, &length);
        expect(c, "]");
        if (length < 1 || length > 1 << 16) model_error(c, "the shared array '%s' has %lld elements", name, (long long)length);
        array_info *a = c->failed ? NULL : add_array(c, name, k);
        if (!a) return;
        a->shared = 1;
        a->length = length;
        a->offset = (c->kernel->shared_bytes + 15) / 16 * 16;
        c->kernel->shared_bytes = a->offset + length * (int64_t)kind_bytes(k);
        if (c->kernel->shared_bytes > 49152)
            model_error(c, "%lld bytes of shared memory: 49152 is what every GPU has", (long long)c->kernel->shared_bytes);
    } while (take(c, ",") && !c->failed);
    expect(c, ";");
}

static void declaration(compiler *c, kind k, int quad)
{
    do {
        if (take(c, "*")) { /* LOCAL elem *name = array; another name for it */
            token *name = peek(c);
            c->at++;
            expect(c, "=");
            const name_entry *e = find_name(c, peek(c)->text);
            if (!e || e->array < 0) {
                model_error(c, "a pointer needs an array, not '%s'", peek(c)->text);
                return;
            }
            const int array = e->array;
            c->at++;
            add_name(c, name->text, -1, array, c->kernel->arrays[array].kind, 1);
            continue;
        }
        token *name = peek(c);
        if (name->class != TOKEN_NAME) model_error(c, "a name was expected before '%s'", name->text);
        c->at++;
        if (is_sign(c, "[")) model_error(c, "the model has no arrays of one thread; '%s' is one", name->text);
        if (c->failed) return;
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
    statement(c);
    if (take_word(c, "else")) {
        const int other = emit(c, DO_ELSE, KIND_I32, 0, 0, 0);
        if (start >= 0) c->program->code[start].d = other;
        statement(c);
        const int end = emit(c, DO_END, KIND_I32, 0, 0, 0);
        if (other >= 0) c->program->code[other].d = end;
    } else {
        const int end = emit(c, DO_END, KIND_I32, 0, 0, 0);
        if (start >= 0) c->program->code[start].d = end;
    }
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
            if (!is_sign(c, ";")) do parse_expression(c); while (take(c, ","));
            expect(c, ";");
        }
    }
    emit(c, DO_LOOP, KIND_I32, 0, 0, 0);
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
        for (int depth = 0; !c->failed; c->at++) { /* passed over now, compiled after the body */
            if (is_sign(c, ")") && depth-- == 0) break;
            depth += is_sign(c, "(");
            if (peek(c)->class == TOKEN_END) model_error(c, "')' is missing");
        }
    }
    expect(c, ")");
    c->loops++;
    statement(c);
    c->loops--;
    if (step >= 0 && !c->failed) {
        const int after = c->at;
        c->at = step;
        if (!is_sign(c, ")")) do parse_expression(c); while (take(c, ","));
        c->at = after;
        c->next = used;
    }
    emit(c, DO_JUMP, KIND_I32, 0, 0, top);
    const int end = emit(c, DO_LOOP_END, KIND_I32, 0, 0, 0);
    if (test >= 0) c->program->code[test].d = end;
    block_end(c, names, registers);
}

static void statement(compiler *c)
{
    static const struct {
        const char *word;
        opcode op;
    } words[] = {{"BARRIER", DO_BARRIER}, {"WARP_BARRIER", DO_WARP_BARRIER}, {"FENCE", DO_STOP}};
    kind k;
    int quad;
    if (c->failed) return;
    const int names = c->name_count, registers = c->next;
    if (take(c, "{")) {
        c->scope++;
        while (!c->failed && !take(c, "}")) {
            if (peek(c)->class == TOKEN_END) model_error(c, "'}' is missing");
            statement(c);
        }
        c->scope--;
        block_end(c, names, registers);
        return;
    }
    if (take(c, ";")) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take_word(c, words[i].word)) {
            expect(c, "(");
            expect(c, ")");
            expect(c, ";");
            if (words[i].op != DO_STOP) emit(c, words[i].op, KIND_I32, 0, 0, 0);
            return;
        }
    if (take_word(c, "UNROLL")) return;
    if (take_word(c, "SHUFFLES")) {
        expect(c, ";");
        return;
    }
    if (take_word(c, "SHARED")) {
        shared_array(c);
        return;
    }
    if (is_word(c, "if") || is_word(c, "for") || is_word(c, "while")) {
        const int which = peek(c)->text[0];
        c->at++;
        which == 'i' ? if_statement(c) : loop(c, which == 'f');
        return;
    }
    if (take_word(c, "return") || is_word(c, "break")) {
        const int is_break = take_word(c, "break");
        if (is_break && !c->loops) model_error(c, "break outside of a loop");
        expect(c, ";");
        emit(c, is_break ? DO_BREAK : DO_RETURN, KIND_I32, 0, 0, 0);
        return;
    }
    while (is_word(c, "volatile")) c->at++;
    if (take_word(c, "LOCAL") || take_word(c, "GLOBAL")) {
        if (!parse_type(c, &k, &quad)) model_error(c, "a type was expected before '%s'", peek(c)->text);
        declaration(c, k, quad);
        return;
    }
    if (parse_type(c, &k, &quad)) {
        declaration(c, k, quad);
        return;
    }
    do parse_expression(c); while (take(c, ",") && !c->failed);
    expect(c, ";");
    c->next = registers;
}

static void parameters(compiler *c)
{
    kernel_code *kernel = c->kernel;
    expect(c, "(");
    do {
        kind k;
        int quad;
        if (kernel->parameters == ARRAYS_MOST) model_error(c, "more than %d parameters", ARRAYS_MOST);
        if (c->failed) return;
        const int at = kernel->parameters++;
        while (is_word(c, "volatile")) c->at++;
        const int memory = take_word(c, "GLOBAL");
        int by_hand = 0;
        for (int ahead = c->at; c->tokens[ahead].class == TOKEN_NAME; ahead++) by_hand |= !strcmp(c->tokens[ahead].text, "volatile");
        if (!parse_type(c, &k, &quad)) model_error(c, "a parameter's type was expected before '%s'", peek(c)->text);
        if (memory) expect(c, "*");
        kernel->parameter_array[at] = kernel->parameter_register[at] = -1;
        kernel->parameter_kind[at] = k;
        if (memory) {
            kernel->parameter_array[at] = kernel->array_count;
            array_info *a = add_array(c, peek(c)->text, k);
            if (!a) return;
            a->parameter = at;
            a->by_hand = by_hand;
        } else {
            if (k != KIND_I64 && k != KIND_F64) model_error(c, "a parameter is memory, i64 or f64; '%s' is not", peek(c)->text);
            kernel->parameter_register[at] = new_register(c);
            add_name(c, peek(c)->text, kernel->parameter_register[at], -1, k, 1);
        }
        c->at++;
    } while (take(c, ",") && !c->failed);
    expect(c, ")");
}

static void kernel_text(compiler *c)
{
    model_program *p = c->program;
    int64_t threads = 0;
    if (p->kernel_count == KERNELS_MOST) model_error(c, "more than %d kernels", KERNELS_MOST);
    if (!take_word(c, "KERNEL")) model_error(c, "KERNEL was expected before '%s'", peek(c)->text);
    if (c->failed) return;
    c->kernel = &p->kernels[p->kernel_count];
    c->name_count = c->next = 0;
    expect(c, "(");
    snprintf(c->kernel->name, sizeof c->kernel->name, "%s", peek(c)->text);
    c->at++;
    expect(c, ",");
    constant_expression(c, &threads);
    expect(c, ")");
    if (threads < 1 || threads > MODEL_THREADS_MOST)
        model_error(c, "%lld threads in a group: 1 to %d", (long long)threads, MODEL_THREADS_MOST);
    c->kernel->threads = (int)threads;
    c->kernel->start = p->length;
    parameters(c);
    if (!is_sign(c, "{")) model_error(c, "'{' was expected before '%s'", peek(c)->text);
    statement(c);
    emit(c, DO_STOP, KIND_I32, 0, 0, 0);
    if (c->kernel->registers > 2000) model_error(c, "the kernel is too long for the model");
    p->kernel_count++;
}

int model_compile(const char *text, const char *name, const model_setting *setting, model_program **program, char *error,
                  size_t room)
{
    compiler c = {.error = error, .error_room = room};
    model_program *p = calloc(1, sizeof *p);
    *program = NULL;
    if (!p) {
        snprintf(error, room, "%s: out of memory", name);
        return -1;
    }
    snprintf(p->name, sizeof p->name, "%s", name);
    p->setting = *setting;
    c.program = p;
    c.count = model_lex(text, name, &c.tokens, error, room);
    c.failed = c.count < 0;
    while (!c.failed && peek(&c)->class != TOKEN_END) kernel_text(&c);
    if (!c.failed && !p->kernel_count) model_error(&c, "there is no KERNEL in the text");
    if (c.count >= 0) free(c.tokens);
    if (c.failed) {
        model_free(p);
        return -1;
    }
    *program = p;
    return 0;
}

void model_free(model_program *p)
{
    if (!p) return;
    free(p->code);
    free(p);
}

const char *model_kernel(const model_program *p, int index)
{
    return index >= 0 && index < p->kernel_count ? p->kernels[index].name : NULL;
}
int model_kernel_threads(const model_program *p, int index) { return p->kernels[index].threads; }

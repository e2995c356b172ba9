/* SPDX-License-Identifier: MIT
 * From a text to code: kernels and their parameters, and what parse.c and expression.c share.
 * One pass, no tree. */
#include "code.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- for all who parse ---- */

void model_error(compiler *c, const char *format, ...)
{
    if (c->failed) return; /* the first one is the cause */
    c->failed = 1;
    const int n = snprintf(c->error, c->error_capacity, "%s:%d: ", c->program->name, peek(c)->line);
    va_list list;
    va_start(list, format);
    if (n > 0 && (size_t)n < c->error_capacity)
        vsnprintf(c->error + n, c->error_capacity - (size_t)n, format, list);
    va_end(list);
}

static const int MASKS[] = {[DO_IF] = 1,        [DO_LOOP] = 1, [DO_PUSH] = 1, [DO_END] = -1,
                            [DO_LOOP_END] = -1, [DO_POP] = -1, [DO_STOP] = 0};

int emit(compiler *c, opcode op, kind k, int a, int b, int d)
{
    model_program *p = c->program;
    c->masks += MASKS[op];
    if (c->masks > DEPTH_MOST)
        model_error(c, "more than %d levels of if, for, while, ?: and &&", DEPTH_MOST);
    if (p->length > CODE_MOST)
        model_error(c, "calls of functions make more than %d operations", CODE_MOST);
    if (c->failed) return -1;
    if (p->length == p->capacity) {
        const int capacity = p->capacity ? 2 * p->capacity : 256;
        instruction *more = realloc(p->code, (size_t)capacity * sizeof *more);
        if (!more) {
            model_error(c, "out of memory");
            return -1;
        }
        p->code = more;
        p->capacity = capacity;
    }
    int line = peek(c)->line;
    if (c->at > 0) line = c->tokens[c->at - 1].line; /* of the token just passed */
    if (line > UINT16_MAX) line = UINT16_MAX;
    if (counted_line(line) >= p->lines) p->lines = counted_line(line) + 1;
    p->code[p->length] =
        (instruction){(uint8_t)op, (uint8_t)k, (uint16_t)line, (int16_t)a, (int16_t)b, 0, d, {0}};
    return p->length++;
}

token *peek(compiler *c) { return &c->tokens[c->at < c->count ? c->at : c->count - 1]; }
void pass(compiler *c) { c->at += c->at < c->count - 1; }
int deeper(compiler *c)
{
    if (c->nested >= NEST_MOST)
        model_error(c, "more than %d levels of parentheses and statements", NEST_MOST);
    return !c->failed && ++c->nested;
}
int is_sign(compiler *c, const char *text)
{
    return peek(c)->class == TOKEN_SIGN && !strcmp(peek(c)->text, text);
}
int is_word(compiler *c, const char *text)
{
    return peek(c)->class == TOKEN_NAME && !strcmp(peek(c)->text, text);
}
int take(compiler *c, const char *text)
{
    if (!is_sign(c, text)) return 0;
    pass(c);
    return 1;
}
int take_word(compiler *c, const char *text)
{
    if (!is_word(c, text)) return 0;
    pass(c);
    return 1;
}
void expect(compiler *c, const char *text)
{
    if (!take(c, text)) model_error(c, "'%s' was expected before '%s'", text, peek(c)->text);
}

int new_register(compiler *c)
{
    const int reg = c->next++;
    if (c->next > REGISTERS_MOST)
        model_error(c, "the kernel has more than %d values under way", REGISTERS_MOST);
    if (c->next > c->kernel->registers) c->kernel->registers = c->next;
    return reg;
}

name_entry *find_name(compiler *c, const char *name)
{
    for (int i = c->name_count - 1; i >= c->first_name; i--)
        if (!strcmp(c->names[i].name, name)) return &c->names[i];
    return NULL;
}

name_entry *add_name(compiler *c, const char *name, int reg, int array, kind k, int lanes)
{
    if (c->name_count == NAMES_MOST) {
        model_error(c, "more than %d names", NAMES_MOST);
        return NULL;
    }
    name_entry *e = &c->names[c->name_count++];
    *e = (name_entry){
        .reg = reg, .array = array, .lanes = lanes, .scope = c->scope, .offset = -1, .kind = k};
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
    } types[] = {{"i8", KIND_I8},   {"u8", KIND_U8},   {"i16", KIND_I16}, {"u16", KIND_U16},
                 {"int", KIND_I32}, {"i32", KIND_I32}, {"u32", KIND_U32}, {"unsigned", KIND_U32},
                 {"i64", KIND_I64}, {"u64", KIND_U64}, {"f32", KIND_F32}, {"f64", KIND_F64}};
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
    while (is_word(c, "const") || is_word(c, "volatile")) pass(c);
    if (!type_of(c, peek(c), k)) return 0;
    *quad = !strcmp(peek(c)->text, "elem4");
    pass(c);
    while (is_word(c, "const") || is_word(c, "volatile")) pass(c);
    return 1;
}

static int64_t compared(const char *sign, int64_t a, int64_t b)
{
    const int or_same = sign[1] == '=';
    switch (*sign) {
    case '<':
        return a < b || (or_same && a == b);
    case '>':
        return a > b || (or_same && a == b);
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '&':
        return sign[1] ? a && b : (a & b);
    default:
        return a || b;
    }
}

/* Constants: whole numbers, THREADS and WARP, with + - * / % << >>, comparisons and parentheses. */
static int64_t constant_value(compiler *c, int least)
{
    static const struct {
        const char *sign;
        int level;
    } signs[] = {{"*", 6},  {"/", 6}, {"%", 6},  {"+", 5},  {"-", 5},  {"<<", 4},
                 {">>", 4}, {"<", 3}, {">", 3},  {"<=", 3}, {">=", 3}, {"==", 2},
                 {"!=", 2}, {"&", 2}, {"&&", 1}, {"||", 1}};
    token *t = peek(c);
    int64_t v = 1;
    if (!deeper(c)) return 1;
    pass(c);
    if (t->class == TOKEN_NUMBER && t->kind < KIND_F32)
        v = t->integer;
    else if (!strcmp(t->text, "THREADS"))
        v = c->program->setting.threads;
    else if (!strcmp(t->text, "WARP"))
        v = c->program->setting.warp;
    else if (!strcmp(t->text, "(")) {
        v = constant_value(c, 1);
        expect(c, ")");
    } else
        model_error(c, "a whole constant was expected before '%s'", t->text);
    for (size_t i = 0; i < sizeof signs / sizeof *signs && !c->failed; i++) {
        if (signs[i].level < least || !take(c, signs[i].sign)) continue;
        const int64_t by = constant_value(c, signs[i].level + 1);
        const char sign = signs[i].sign[0];
        int bad = 0;
        if (signs[i].level < 4) {
            v = compared(signs[i].sign, v, by);
            i = (size_t)-1;
            continue;
        }
        if (sign == '*') bad = __builtin_mul_overflow(v, by, &v);
        if (sign == '+') bad = __builtin_add_overflow(v, by, &v);
        if (sign == '-') bad = __builtin_sub_overflow(v, by, &v);
        if (strchr("/%", sign) && (by == 0 || (by == -1 && v == INT64_MIN)))
            bad = 1;
        else if (sign == '/')
            v /= by;
        else if (sign == '%')
            v %= by;
        if (strchr("<>", sign) &&
            (v < 0 || by < 0 || by > 62 || v > INT64_MAX >> (sign == '<' ? by : 0)))
            bad = 1;
        else if (sign == '<')
            v <<= by;
        else if (sign == '>')
            v >>= by;
        if (bad)
            model_error(c, "the constant before '%s' is divided by 0 or has more than 63 bits",
                        peek(c)->text);
        i = (size_t)-1; /* again from the first sign */
    }
    c->nested--;
    return c->failed ? 1 : v;
}
int constant_expression(compiler *c, int64_t *out)
{
    *out = constant_value(c, 1);
    return !c->failed;
}

array_info *add_array(compiler *c, const char *name, kind k)
{
    kernel_code *kernel = c->kernel;
    if (kernel->array_count == ARRAYS_MOST) {
        model_error(c, "more than %d arrays", ARRAYS_MOST);
        return NULL;
    }
    array_info *a = &kernel->arrays[kernel->array_count];
    *a = (array_info){.kind = k};
    if (is_small(k)) kernel->unit = 1;
    snprintf(a->name, sizeof a->name, "%s", name);
    add_name(c, name, -1, kernel->array_count++, k, 1);
    return a;
}

/* ---- kernels ---- */

static void parameters(compiler *c)
{
    kernel_code *kernel = c->kernel;
    expect(c, "(");
    do {
        kind k;
        int quad;
        if (kernel->parameters == ARRAYS_MOST)
            model_error(c, "more than %d parameters", ARRAYS_MOST);
        if (c->failed) return;
        const int at = kernel->parameters++;
        while (is_word(c, "volatile")) pass(c);
        const int memory = take_word(c, "GLOBAL");
        int by_hand = 0, elem = 0;
        for (int ahead = c->at; c->tokens[ahead].class == TOKEN_NAME; ahead++)
            by_hand |= !strcmp(c->tokens[ahead].text, "volatile");
        for (int ahead = c->at; c->tokens[ahead].class == TOKEN_NAME; ahead++)
            elem |= !strcmp(c->tokens[ahead].text, "elem");
        if (!parse_type(c, &k, &quad))
            model_error(c, "a parameter's type was expected before '%s'", peek(c)->text);
        if (memory) expect(c, "*");
        kernel->parameter_array[at] = kernel->parameter_register[at] = -1;
        kernel->parameter_kind[at] = k;
        kernel->generic |= memory && elem;
        if (memory) {
            kernel->parameter_array[at] = kernel->array_count;
            array_info *a = add_array(c, peek(c)->text, k);
            if (!a) return;
            a->parameter = at;
            a->by_hand = by_hand;
        } else {
            if (k != KIND_I64 && k != KIND_F64)
                model_error(c, "a parameter is memory, i64 or f64; '%s' is not", peek(c)->text);
            kernel->parameter_register[at] = new_register(c);
            add_name(c, peek(c)->text, kernel->parameter_register[at], -1, k, 1);
        }
        pass(c);
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
    c->kernel->unit = 4;
    c->name_count = c->next = c->nested = c->masks = c->first_name = 0;
    expect(c, "(");
    snprintf(c->kernel->name, sizeof c->kernel->name, "%s", peek(c)->text);
    pass(c);
    expect(c, ",");
    constant_expression(c, &threads);
    expect(c, ")");
    if (threads < 1 || threads > MODEL_THREADS_MOST)
        model_error(c, "%lld threads in a group: 1 to %d", (long long)threads, MODEL_THREADS_MOST);
    c->kernel->threads = (int)threads;
    c->kernel->start = p->length;
    parameters(c);
    if (!is_sign(c, "{")) model_error(c, "'{' was expected before '%s'", peek(c)->text);
    parse_statement(c);
    emit(c, DO_STOP, KIND_I32, 0, 0, 0);
    p->kernel_count++;
}

int model_compile(const char *text, const char *name, const model_setting *setting,
                  model_program **program, char *error, size_t capacity)
{
    compiler c = {.error = error, .error_capacity = capacity};
    model_program *p = calloc(1, sizeof *p);
    *program = NULL;
    if (!p) {
        snprintf(error, capacity, "%s: out of memory", name);
        return -1;
    }
    snprintf(p->name, sizeof p->name, "%s", name);
    p->setting = *setting;
    c.program = p;
    c.count = model_lex(text, name, &c.tokens, error, capacity);
    c.failed = c.count < 0;
    while (!c.failed && peek(&c)->class != TOKEN_END)
        take_word(&c, "FUNCTION") ? function_text(&c) : kernel_text(&c);
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
int64_t model_kernel_shared(const model_program *p, int index)
{
    return p->kernels[index].shared_bytes;
}
int model_kernel_parameters(const model_program *p, int index)
{
    return p->kernels[index].parameters;
}
int model_kernel_needs(const model_program *p, int index) { return p->kernels[index].needs; }
int model_kernel_combines(const model_program *p, int index) { return p->kernels[index].combines; }
int model_kernel_kind(const model_program *p, int index, kind *k)
{
    const kernel_code *kernel = &p->kernels[index];
    *k = kernel->parameter_kind[0];
    return !kernel->generic;
}

/* SPDX-License-Identifier: MIT
 * Typed values: the code of constants, conversions and operations. Types follow C: small types are
 * computed as i32, then the usual conversions over i32 < u32 < i64 < u64 < f32 < f64. */
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

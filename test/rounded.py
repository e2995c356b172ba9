# SPDX-License-Identifier: MIT
"""Fractions, and their square roots, rounded once."""
import math
from fractions import Fraction


def rounded(f, root, narrow):
    """f, or its root with the sign of f, rounded once to even."""
    if not f:
        return 0.0
    a = abs(f)
    bits, least = (24, -149) if narrow else (53, -1074)
    guess = a.numerator.bit_length() - a.denominator.bit_length()  # 2^(guess - 1) < a < 2^(guess + 1)
    if root:
        guess //= 2
    unit = max(guess - bits - 1, least - 2)
    while True:  # the units of 2^unit in it, rounded down, and whether something is left
        scaled = a / Fraction(2) ** (2 * unit if root else unit)
        whole = math.isqrt(scaled.numerator // scaled.denominator) if root else scaled.numerator // scaled.denominator
        if unit >= least and whole < 2 ** bits:
            break
        unit += 1
    left = scaled - (whole * whole if root else whole)
    half = Fraction(whole) + Fraction(1, 4) if root else Fraction(1, 2)  # (whole + 1/2)^2 - whole^2
    if left > half or (left == half and whole % 2):
        whole += 1
    try:
        value = math.ldexp(whole, unit)
    except OverflowError:
        value = math.inf
    if narrow and value >= 2.0 ** 128:
        value = math.inf
    return -value if f < 0 and value else value  # never -0

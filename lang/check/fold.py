"""Arithmetic on constants. A value is a Python int in the range of its type; of an `Integer`, any int."""
from __future__ import annotations

from ..types import Bits, Bool, Type

MAX_SHIFT = 256                                 # of constants without a width


def fits(value: int, type_: Bits) -> bool:
    if type_.signed:
        return -(1 << type_.width - 1) <= value < 1 << type_.width - 1
    return 0 <= value < 1 << type_.width


def wrap(value: int, type_: Type | None) -> int:
    """The value modulo the width."""
    if isinstance(type_, Bits):
        value &= (1 << type_.width) - 1
        if type_.signed and value >> type_.width - 1:
            value -= 1 << type_.width
    elif isinstance(type_, Bool):
        return bool(value)
    return value


def unary(op: str, value: int, type_: Type | None) -> int:
    if op == "!":
        return not value
    return wrap(-value if op == "-" else ~value, type_)


def binary(op: str, left: int, right: int, type_: Type | None, right_width: int = 0) -> int | None:
    """`left op right` in `type_`, the operands' type (the result's, for `++`); None where it has no value.

    Division truncates; by zero it gives 0 and the dividend (RFC 9669, 4.1). Shifts by the width or more give 0."""
    match op:
        case "+" | "|+|":
            result = left + right
        case "-" | "|-|":
            result = left - right
        case "*":
            result = left * right
        case "/" | "%":
            if right == 0:
                return 0 if op == "/" else left
            quotient = abs(left) // abs(right) * (-1 if (left < 0) != (right < 0) else 1)
            result = quotient if op == "/" else left - quotient * right
        case "<<":
            if isinstance(type_, Bits):
                result = left << right if right < type_.width else 0
            elif not 0 <= right <= MAX_SHIFT:
                return None
            else:
                result = left << right
        case ">>":
            result = left >> min(max(right, 0), 1024)
        case "&":
            result = left & right
        case "|":
            result = left | right
        case "^":
            result = left ^ right
        case "++":
            result = (left << right_width) | (right & (1 << right_width) - 1)
        case "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "&&":
            return bool(left) and bool(right)
        case "||":
            return bool(left) or bool(right)
        case _:
            return None
    if op in ("|+|", "|-|") and isinstance(type_, Bits):
        low = -(1 << type_.width - 1) if type_.signed else 0
        high = (1 << type_.width - type_.signed) - 1
        return max(low, min(high, result))
    return wrap(result, type_)

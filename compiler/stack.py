"""What a container takes of the stack, and what is said of a module that takes too much of it."""
from __future__ import annotations

import re
import struct

from lpn.lang import ast
from lpn.lang.diagnostics import Diagnostic, DiagnosticError
from lpn.lang.instances import walk
from lpn.lang.source import Span
from lpn.lang.types import HeaderType, StructType, Type

from .bits import limb_count
from .forms import StackError
from .layout import RecordLayout
from .state import scalar_width

OCTETS = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "ptr": 8}
SHOWN = 3                                       # of what is largest


def stack_used(text: bytes) -> int:
    """Bytes below r10 that the code names: in loads and stores, and in addresses made as `rX = r10; rX += n`."""
    used, copy = 0, None
    for at in range(0, len(text), 8):
        opcode, registers, offset, imm = struct.unpack_from("<BBhi", text, at)
        dst, src = registers & 15, registers >> 4
        if opcode & 7 == 1 and src == 10 or opcode & 7 in (2, 3) and dst == 10:
            used = max(used, -offset)
        elif opcode == 0x07 and dst == copy:
            used = max(used, -imm)
        copy = dst if opcode == 0xBF and src == 10 else None
    return used


def variable_octets(ir: str) -> int:
    """At least what LLVM gives to the variables that it left in a function."""
    octets = (int(count or 1) * OCTETS[kind] for count, kind in re.findall(r" = alloca (?:\[(\d+) x )?(\w+)", ir))
    return sum((size + 7) // 8 * 8 for size in octets)


def too_large(module: ast.Module, least: StackError, record: RecordLayout) -> DiagnosticError:
    """What is said of a module that fits in no form; `least` is of the form that needs least."""
    found: dict[object, tuple[int, str, Span]] = {}
    for node in walk(module):
        if isinstance(node, ast.VarDecl):
            found[node] = octets(node.type, record), f"{node.name}, a variable,", node.span
        elif isinstance(node, ast.Member) and node.decl in record.by_field:
            for inst in record.by_field[node.decl]:
                found[inst] = inst.layout.image_size, f"header {inst.name}", inst.field.span
    largest = sorted(found.values(), key=lambda one: -one[0])[:SHOWN]
    return DiagnosticError([Diagnostic("error", str(least), module.span, ["make what is largest smaller, or divide the work between modules"],
                                       [(f"{what} has {size} bytes", span) for size, what, span in largest])])


def octets(t: Type, record: RecordLayout) -> int:
    """Of a variable of this type."""
    if isinstance(t, HeaderType):
        return record.header(t.decl).image_size
    if isinstance(t, StructType):
        return sum(octets(f.type, record) for f in t.decl.fields)
    return 4 * limb_count(scalar_width(t))

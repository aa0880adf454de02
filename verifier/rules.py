"""The rules a container must keep: number, name, one-line definition. Messages, tests and documentation read this table.

Rules 36 and 37 are kept by the worst-case time and the certificate; they are listed because a report may name them.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    number: int
    name: str
    text: str


_TABLE = """
 1 size              | The text is not empty, holds whole instructions and is under the limit.
 2 opcode            | Every opcode is known to the target.
 3 register          | Register numbers are at most 10.
 4 reserved field    | Fields an instruction does not use are zero.
 5 frame pointer     | r10 is never written.
 6 lddw              | lddw has its second slot, zero but for the immediate.
 7 lddw jump         | No jump leads into the second slot of lddw.
 8 jump target       | Calls lead to instructions inside the text, jumps to those of their own function.
 9 fall off          | Control never falls off the end of the text or of a function.
10 dead code         | Every instruction can be reached from the entry.
11 miscompiled form  | No form the target is known to execute wrongly.
12 sections          | Sections are disjoint and the text is read-only.
13 initialised       | A register is written before it is read.
14 result            | r0 is a number at exit.
15 clobbered         | r1-r5 are not read after a call before they are written again.
16 stack initialised | Stack bytes are written before they are read.
17 stack size        | The frames of the deepest call chain fit in the stack.
18 stack offset      | Variable stack offsets are bounded.
19 packet bounds     | Packet bytes are read within the proven length and the window, written within the proven length.
20 stale packet      | Packet pointers die when a call changes the packet.
21 context           | The context is used by its descriptor only; pointer slots are never written.
22 region            | Accesses lie inside their region and have its permission.
23 pointer arithmetic| Only a bounded number is added to or subtracted from a pointer.
24 pointer comparison| Pointers of different regions are not compared, and none is truncated.
25 pointer leak      | Pointers are kept in registers and on the stack, nowhere else.
26 nullable          | A pointer that may be null is tested before use.
27 alignment         | 8-byte accesses are 4-aligned, and atomic ones aligned to their size, where the target needs it.
28 divisor           | Divisors are proven not to be zero.
29 shift             | Shift counts are proven to be below the width.
30 halves            | Facts of the low 32 bits never bound the 64-bit value.
31 helper            | Helpers are known and allowed in this context, their arguments typed and their buffers in range.
32 call depth        | Calls do not recurse, are at most 8 deep, and call no more functions than the engine has room for.
33 loop              | Every loop has one entry and a counter that bounds it.
34 total             | Trip counts multiplied across nesting stay below the limit.
35 branch budget     | Taken branches stay below the stock engine's limit.
36 deadline          | The worst-case time is within the deadline.
37 certificate       | The certificate is well-formed.
38 analysis          | The analysis itself is bounded in time and memory.
"""

RULES: dict[int, Rule] = {}
for _line in _TABLE.strip().splitlines():
    _head, _text = _line.split("|", 1)
    _number, _name = _head.split(None, 1)
    RULES[int(_number)] = Rule(int(_number), _name.strip(), _text.strip())


class Violation(Exception):
    """A rule is broken at `slot`, or by the whole, of which `most` has the largest part. `detail` says what is known, `hint` what would make it provable, `example` what
    could happen."""

    def __init__(self, rule: int, slot: int | None, detail: str, hint: str = "", example: str = "", most: int | None = None):
        self.rule, self.slot, self.detail, self.hint, self.example, self.most = rule, slot, detail, hint, example, most
        super().__init__(self.message)

    @property
    def message(self) -> str:
        where = "" if self.slot is None else f"slot {self.slot}: "
        return f"rule {self.rule} ({RULES[self.rule].name}): {where}{self.detail}" + (f"; {self.hint}" if self.hint else "")

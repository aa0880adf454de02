"""Differences of pointers, which LLVM's optimiser must not take apart.

It knows a pointer as a number once it is subtracted, makes 32-bit halves of it, adds to them, and lets them meet on other paths
with whole pointers: right, and nothing that a verifier could follow. So a difference is a call of `lpn.distance(start, end)`, a
function without effects that nobody defines, until the optimiser has run; then it becomes a subtraction.
"""
from __future__ import annotations

import re

DISTANCE = "lpn.distance"

_CALL = re.compile(r"^  (%\S+) = (?:tail |notail |musttail )?call i32 @lpn\.distance(\.out)?\(ptr (?:\w+ )*?(\S+), ptr (?:\w+ )*?(\S+)\)(?: #\d+)?(.*)$", re.M)
_STEP = re.compile(r"^  (%\S+) = getelementptr (?:inbounds |nuw |nusw )*i8, ptr (\S+), (?:i32|i64) (-?\w[^,\n]*|%[^,\n]+)", re.M)
_KEPT = re.compile(r"^  (?:store i32 (%[^\s,]+),|\S+ = trunc (?:nuw |nsw )*i32 (%\S+) to) .*$", re.M)
_NAME = re.compile(r'%(?:"[^"]+"|[-\w.$]+)')
_DECLARED = re.compile(r"^declare i32 @lpn\.distance(?:\.out)?\(.*$\n?", re.M)


def subtractions(text: str, half_register: str) -> str:
    """The module's text with each call as a subtraction: of a place at a known distance, a constant."""
    steps = {m[1]: (m[2], m[3]) for m in _STEP.finditer(text)}
    used = set(_NAME.findall(_CALL.sub(lambda m: m[0].partition(" = ")[2], _KEPT.sub("", text))))    # by another instruction

    def root(pointer: str) -> tuple[str, int]:
        """(the pointer that this one is so many octets behind, how many)"""
        octets = 0
        while pointer in steps and re.fullmatch(r"-?\d+", steps[pointer][1]):
            octets += int(steps[pointer][1])
            pointer = steps[pointer][0]
        return pointer, octets

    #: Computed with: else than stored, or cut. The back end would compute with halves of the pointers instead.
    computed = {m[1] for m in _CALL.finditer(text) if m[1] in used and root(m[3])[0] != root(m[4])[0]}

    def written(m: re.Match[str]) -> str:
        name, out, start, end, rest = m.groups()
        (base, before), (same, behind) = root(start), root(end)
        if base == same:
            return f"  {name} = add i32 {behind - before & 0xFFFF_FFFF}, 0{rest}"
        lines, numbers = [], []
        for part, pointer in (("end", end), ("start", start)):
            number = _part(name, f"{part}.number")
            if pointer in steps:                # else the sum, too, would be computed with half of the pointer
                hidden = _part(name, part)
                lines.append(f'  {hidden} = call ptr asm "", "=r,0"(ptr {pointer}){rest}')
                pointer = hidden
            lines.append(f"  {number} = ptrtoint ptr {pointer} to i64{rest}")
            numbers.append(number)
        wide, narrow = _part(name, "wide"), _part(name, "narrow") if name in computed else name
        lines += [f"  {wide} = sub i64 {', '.join(numbers)}{rest}"]
        if out:                                 # whole: of the halves of such pointers a node's checker knows nothing
            whole, wide = wide, _part(name, "whole")
            lines.append(f'  {wide} = call i64 asm "", "=r,0"(i64 {whole}){rest}')
        lines.append(f"  {narrow} = trunc i64 {wide} to i32{rest}")
        if name in computed:
            lines.append(f'  {name} = call i32 asm "", "{half_register}"(i32 {narrow}){rest}')
        return "\n".join(lines)

    def kept(m: re.Match[str]) -> str:
        """What is stored or cut need not be the opaque number: LLVM keeps a register less."""
        name = m[1] or m[2]
        return m[0].replace(f"i32 {name}", f"i32 {_part(name, 'narrow')}", 1) if name in computed else m[0]

    return _DECLARED.sub("", _CALL.sub(written, _KEPT.sub(kept, text)))


def _part(name: str, part: str) -> str:
    return f'%"lpn.{name[1:].strip(chr(34))}.{part}"'

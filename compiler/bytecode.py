"""From a module in LLVM IR to bytecode: LLVM, the ELF object, the passes behind it. What was made is not made again.

A process keeps what it made last: where one container is refused, the others are asked for once more. Processes that work on the same programs, as those of the
tests do, share the folder that $LPN_BYTECODE names. What is kept there is called after the hash of all that it is made of, the compiler itself among it, so
nothing stale is ever taken.
"""
from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import cbor2
import llvmlite
import llvmlite.binding as llvm

from lpn.lang.files import Scratch

from .elf import Object, read_object
from .half_pointers import half_pointers, hidden_ends
from .llvm import emit_object, optimize, parse, slots
from .passes.peephole import improve
from .swaps import hidden_swaps, wide_swaps
from .target import Target

FOLDER = "LPN_BYTECODE"
KEPT = 64                                       # of a process


@dataclass(frozen=True)
class Bytecode:
    """`ir`: as optimised; `slots`: as llvm.slots counts them; `object`: ELF."""

    ir: str
    slots: int
    object: bytes
    text: bytes
    rodata: bytes
    data: bytes
    lines: tuple[tuple[int, str, int], ...]

    @property
    def code(self) -> Object:
        return Object(self.text, self.rodata, self.data, list(self.lines))


class TooFar(Exception):
    """A jump would reach too far, for which LLVM would end the process."""

    def __init__(self, ref: llvm.ModuleRef, slots: int) -> None:
        self.ref, self.slots = ref, slots


_kept: OrderedDict[bytes, Bytecode] = OrderedDict()


def forget() -> None:
    """What this process has made."""
    _kept.clear()


def bytecode(text: str, target: Target, level: int, fused: bool, small: bool, farthest: int) -> Bytecode:
    """Of a module's text. `fused`: it is of a whole chain; `small`: its code is to be short. Raises TooFar for more slots than `farthest`."""
    key = sha256(repr((target, level, fused, small)).encode() + text.encode()).digest()
    folder = os.environ.get(FOLDER)
    found = _kept.pop(key, None) or (read(Path(folder), key) if folder else None)
    if found is None or found.slots > farthest:
        found = make(text, target, level, fused, small, farthest)
        if folder:
            write(Path(folder), key, found)
    _kept[key] = found
    if len(_kept) > KEPT:
        _kept.popitem(last=False)
    return found


def make(text: str, target: Target, level: int, fused: bool, small: bool, farthest: int) -> Bytecode:
    ref = optimize(text, target, level, fused, small)
    made = translated(ref, target, small, farthest)
    if target.name == "lpn":
        for wrong, hidden in ((wide_swaps, partial(hidden_swaps, half_register=target.half_register)), (half_pointers, hidden_ends)):
            if wrong(made.text):
                apart = parse(hidden(made.ir))
                apart.data_layout = ref.data_layout
                with suppress(TooFar):
                    other = translated(apart, target, small, farthest)
                    made = made if wrong(other.text) else other
    return made


def translated(ref: llvm.ModuleRef, target: Target, small: bool, farthest: int) -> Bytecode:
    """What LLVM has optimised, as bytecode. Raises TooFar."""
    optimised = str(ref)
    if (count := slots(ref, target)) > farthest:
        raise TooFar(ref, count)
    obj = emit_object(ref, target)
    code = read_object(obj, "xdp" if target.name == "xdp" else "lpn")
    if target.name == "lpn":
        code.text, code.lines = improve(code.text, code.lines, small)
    return Bytecode(optimised, count, obj, code.text, code.rodata, code.data, tuple(code.lines))


# ---------------------------------------------------------------- the folder

@cache
def compiler() -> str:
    """A name for all that has a part in what is made."""
    h = sha256(repr((llvmlite.__version__, llvm.llvm_version_info)).encode())
    folder = Path(__file__).parent
    for path in sorted([*folder.glob("*.py"), *folder.glob("passes/*.py")]):
        content = path.read_bytes()
        h.update(path.name.encode() + len(content).to_bytes(8, "little") + content)
    return h.hexdigest()[:16]


def path_of(folder: Path, key: bytes) -> Path:
    return folder / compiler() / key.hex()[:2] / key.hex()


def read(folder: Path, key: bytes) -> Bytecode | None:
    """None: it is not there, or damaged."""
    try:
        *fields, lines = cbor2.loads(zlib.decompress(path_of(folder, key).read_bytes()))
        return Bytecode(*fields, tuple((slot, file, line) for slot, file, line in lines))
    except (OSError, zlib.error, cbor2.CBORDecodeError, TypeError, ValueError):
        return None


def write(folder: Path, key: bytes, made: Bytecode) -> None:
    """Under its name in one step, whoever else writes it; it need not succeed."""
    path = path_of(folder, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Scratch(path)
        try:
            scratch.stream.write(zlib.compress(cbor2.dumps([made.ir, made.slots, made.object, made.text, made.rodata, made.data, made.lines]), 1))
            scratch.keep()
        finally:
            scratch.discard()
    except OSError:
        pass


def drop_others(folder: Path) -> None:
    """What other states of the compiler made."""
    import shutil
    for other in folder.iterdir() if folder.is_dir() else ():
        if other.name != compiler():
            shutil.rmtree(other, ignore_errors=True)

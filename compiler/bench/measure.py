"""Instructions executed, sizes and stack of the programs of tests/bench, beside the hand-written C. All counts are exact."""
from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from lpn.lang import ast, tables as control
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.runtime.engines import EngineError, Result, get_engine

from ..build import Compiled, compile_program
from ..bundle import Bundle
from ..forms import MOST, SMALL
from ..judge import sealed
from . import peers
from .frames import FOLDER, Frame, Frames

PROGRAMS = ("decompress", "udp_rx", "udp_tx", "forward")
UNSUMMED = "decompress_unsummed"                # an elided checksum is left 0, as by the C
PAYLOADS = (10, 64)
#: Forms of the hand-written C: compiler flags.
C_FORMS = {"C": (), "C, 32-bit clean": ("-DLPN_CLEAN32",)}
#: Programs with loops over the payload or 64-bit sums: only there the second form differs.
SUMS = ("udp_rx", "udp_tx")


@dataclass
class Form:
    """One way to have the work done. `executed`: by frame, then by bytes of payload. `stack` is None for C."""

    instructions: int
    image: int | None = None
    stack: int | None = None
    clean32: bool | None = None
    executed: dict[str, dict[int, int]] = field(default_factory=dict)

    def common(self) -> int:
        """On the first frame with 10 bytes of payload."""
        return next(iter(self.executed.values()))[PAYLOADS[0]]


@dataclass
class Comparison:
    """All programs, in all forms. `absent`: why there is no C beside them; `published`: whether the C's counts are those
    that were published, which shows that both count the same way."""

    programs: dict[str, dict[str, Form]]
    absent: str | None = None
    clang: str | None = None
    published: bool | None = None

    def as_dict(self) -> dict:
        return asdict(self)


def measure(frames: Frames) -> Comparison:
    result = Comparison({name: own_forms(name, frames) for name in PROGRAMS})
    try:
        peers.sources(), peers.clang()
    except peers.Absent as e:
        result.absent = str(e)
        return result
    result.clang = peers.clang_version()
    result.published = True
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            for form, flags in C_FORMS.items():
                if flags and name not in SUMS:
                    continue
                code = peers.build(name, Path(folder), *flags)
                of = result.programs[name][form] = Form(len(code.text) // 8)
                executed(of, name, frames, lambda frame, code=code: peers.run(name, code, frames, frame))
            plain = result.programs[name]["C"]
            counts = tuple(by_payload[PAYLOADS[0]] for by_payload in plain.executed.values())
            result.published &= (plain.instructions, counts) == peers.PUBLISHED[name]
    return result


def executed(form: Form, name: str, frames: Frames, run: Callable[[Frame], int]) -> None:
    for payload in PAYLOADS:
        for frame in frames.of(name, payload):
            form.executed.setdefault(frame.name, {})[payload] = run(frame)


def program_of(name: str) -> ast.Program:
    return check(load(FOLDER / f"{name}.lpn"))


def own_forms(name: str, frames: Frames) -> dict[str, Form]:
    """Fused, for speed and for size, as a chain. Of `decompress`, as its C: with an elided checksum left alone, and where that stops at the header
    record the chain's parser alone."""
    forms = {}
    for form, fuse, level, modules, file in (("fused", True, MOST, None, name), ("fused, -Os", True, SMALL, None, name),
                                             ("fused, -Os, no sum", True, SMALL, None, UNSUMMED), ("chain", False, MOST, None, name),
                                             ("parser alone", False, MOST, 1, name)):
        if (modules or file is UNSUMMED) and name != "decompress":
            continue
        program = program_of(file)
        build = compile_program(program, fuse=fuse, level=level)
        judgements = sealed(build)[:modules]
        for container, report in judgements:
            if not report.accepted:
                raise EngineError(f"{name}: the verifier refuses {container.name}: {report.message}")
        of = forms[form] = Form(sum(report.slots for _, report in judgements),
                                sum(len(c.image.to_bytes()) for c, _ in judgements),
                                max(report.stack for _, report in judgements), all(r.clean32 for _, r in judgements))
        bundle = build.bundle
        if modules:
            [hook] = bundle.hooks
            bundle = replace(bundle, hooks=(replace(hook, chain=hook.chain[:modules]),), modules=bundle.modules[:modules])
        executed(of, name, frames, lambda frame: run(name, program, build, bundle, frames, frame, form))
    return forms


def run(name: str, program: ast.Program, build: Compiled, bundle: Bundle, frames: Frames, frame: Frame, form: str) -> int:
    """Instructions executed on a frame. Raises EngineError unless the program did its work."""
    given = control.from_json(frames.given(name, frame), program)
    loaded = get_engine("engine").load(bundle)
    loaded.set_state(build.initial_state(given))
    for table, entries in build.entries(given).items():
        loaded.set_entries(table, entries)
    result = loaded.run(frame.body if name == "udp_tx" else frame.data)
    if not right(name, frames, frame, result, form):
        raise EngineError(f"{name}, {form}, frame {frame.name}: {result.verdict} {result.reason or ''} "
                          f"{result.fault or ''} {(result.out or b'').hex()}")
    return result.insns or 0


def right(name: str, frames: Frames, frame: Frame, result: Result, form: str) -> bool:
    if name == "decompress":
        return result.verdict == "ACCEPT" and (form == "parser alone" or result.out == frame.header + frame.body)
    if name == "udp_rx":
        return result.verdict == "DELIVER" and result.port == int.from_bytes(frame.header[42:44], "big")
    if name == "udp_tx":
        return result.verdict == "TRANSMIT" and result.out == frame.data
    mac = int(frames.routes[0]["args"][0], 16).to_bytes(6, "big")
    return result.verdict == "TRANSMIT" and result.packet == peers.forwarded(frame.data, mac)

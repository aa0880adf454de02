"""What `build`, `verify`, `disasm` and others share: the containers of any input, and what is said of them."""
from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from lpn.lang import ast
from lpn.verifier.sections import CODE, TEXT, Section
from lpn.verifier.verify import Report, line_of, render

from .. import femto, judge
from ..build import BuildError, Compiled, compile_program
from ..bundle import Bundle
from ..compact import read_image
from ..elf import DAMAGE, ElfError, Program, programs, read_object
from ..forms import MOST, Level
from ..judge import Sealed, Unit, Units, of_compiled, of_image
from ..output import NoProgram, console, say, waiting
from .inputs import Input, need_source, shown, source_map, source_texts

#: Sections from whose names libbpf takes what the kernel runs a program for, beside xdp.
KERNELS = re.compile(r"(action|cgroup_skb|classifier|flow_dissector|lirc_mode2|netkit|perf_event|sk_lookup|sk_msg|sk_reuseport|sk_skb|socket|sockops|struct_ops|syscall|tc|tcx"
                     r"|(cgroup|f(entry|exit|mod_ret)|freplace|iter|k(ret)?(probe|syscall)|lsm(_cgroup)?|lwt_(in|out|seg6local|xmit)|raw_t(p|racepoint)|tp(_btf)?|tracepoint"
                     r"|u(ret)?probe|usdt))([./+].*)?")


def of_input(given: Input, target: str | None = None, fuse: bool = False, without: Iterable[str] = (), level: Level = MOST,
             sizes: dict[str, int] | None = None, known: bool = False) -> Units:
    """The containers of a source (compiled for `target`), image, bundle or object; `known`: of this those whose context is known."""
    if given.kind == "source":
        return of_compiled(compiled(given.program(without), target or "lpn", fuse, level))
    need_source(given.path)
    if given.kind == "object":
        return of_object(given, target, sizes or {}, known)
    maps = source_map(given.path)
    profile = target or "lpn"
    if femto.begins(given.data):
        name = given.stem
        return Units([Unit(name, given.decode(femto.text_of), target or "femto", "stock image", record_size=(sizes or {}).get("record_size", 0),
                           state_size=(sizes or {}).get("state_size", 0), lines=maps.get(name, []), foreign=True)], source_texts(maps.values()))
    if given.kind == "image":
        image = given.decode(read_image)
        items, bundle = [of_image(image, maps.get(image.name, []), profile)], None
    else:
        bundle = given.decode(Bundle.from_bytes)
        items = [of_image(image, maps.get(image.name, []), profile, bundle.contexts(image.name), bundle.helpers())
                 for image in bundle.modules]
    return Units(items, source_texts(maps.values()), bundle)


def of_object(given: Input, target: str | None, sizes: dict[str, int], known: bool) -> Units:
    """Each program of an eBPF ELF object; those of a section called `xdp` meet the kernel's context unless `target` differs. `known`: those of its other sections are
    left out then. Raises NoProgram where there is none that can be made a container."""
    units, unread = [], []
    try:
        elf = ELFFile(io.BytesIO(given.data))
        if elf["e_machine"] != "EM_BPF":
            raise NoProgram(f"{shown(given.path)}: an ELF file for {elf['e_machine']}, not for eBPF", given.path)
        for program in programs(elf):
            try:
                code = read_object(given.data, program.section, program.function)
            except ElfError as e:
                unread.append(f"{shown(given.path)}: {e}")
                continue
            profile = target or ("xdp" if program.section.startswith("xdp") else "lpn")
            if known and target is None and KERNELS.fullmatch(program.section):
                unread.append(f"{shown(given.path)}: section {program.section}: of the kernel's programs those for xdp are known; --profile says what else to judge it as")
                continue
            units.append(Unit(program.function or program.section, code.text, profile, "object", len(code.rodata), len(code.data),
                              sizes.get("record_size", 0), sizes.get("state_size", 0), code.lines,
                              sections=of_elf(elf, program, len(code.text)), foreign=True, constants=code.rodata))
    except ElfError as e:
        raise NoProgram(f"{shown(given.path)}: {e}", given.path, 1) from None
    except DAMAGE as e:
        raise NoProgram(f"{shown(given.path)}: this object is damaged: {e or type(e).__name__}", given.path) from None
    unread = list(dict.fromkeys(unread))        # what is wrong with the data is wrong for each
    if not units and unread:
        raise NoProgram(unread[0], given.path, 1)
    if not units:
        raise NoProgram(f"{shown(given.path)}: this object has no code", given.path)
    return Units(units, source_texts(unit.lines for unit in units), unread=unread)


def of_elf(elf: ELFFile, program: Program, size: int) -> list[Section]:
    """Where the object's code and data lie in its file, and what it wants written. `size`: of the program's text, which may be one section, or parts of several."""
    def name(section) -> str:
        if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR:
            return TEXT if section.name == program.section and section["sh_size"] == size else CODE
        return section.name.lstrip(".").split(".")[0] or "nameless"
    return [Section(name(s), s["sh_offset"], s["sh_size"], bool(s["sh_flags"] & SH_FLAGS.SHF_WRITE)) for s in elf.iter_sections()
            if s["sh_type"] == "SHT_PROGBITS" and s["sh_flags"] & SH_FLAGS.SHF_ALLOC]


def compiled(program: ast.Program, target: str = "lpn", fuse: bool = False, level: Level = MOST) -> Compiled:
    """Compiles, with a word to the waiting."""
    with told(program), waiting("compiling"):
        result = compile_program(program, target, fuse, level)
    tell(result)
    return result


@contextmanager
def told(program: ast.Program) -> Iterator[None]:
    """What cannot be built."""
    try:
        yield
    except BuildError as e:
        name = program.sources[-1].name
        raise NoProgram(f"{name}: {e}", name, 1) from None


def tell(result: Compiled) -> None:
    """What is not as it was asked for."""
    for text in result.notes:
        say(f"note: {text}", err=True)


def compiled_and_sealed(program: ast.Program, target: str = "lpn", fuse: bool = False, level: Level = MOST) -> Sealed:
    """As judge.sealed_form, and says what is not as it was asked for."""
    with told(program):
        done = judge.sealed_form(program, target, fuse, level)
    tell(done.compiled)
    return done


def made_to_run(program: ast.Program, engines: Iterable[str], fuse: bool = False, level: Level = MOST) -> Compiled:
    """As judge.made_to_run, the same way."""
    with told(program):
        result = judge.made_to_run(program, engines, fuse, level)
    tell(result)
    return result


def show_rejection(report: Report, name: str, sources: dict[str, list[str]], err: bool = False) -> None:
    """The rule that is violated and its line."""
    from rich.text import Text
    out = console(err)
    say(Text.from_ansi(render(report, out.is_terminal and not out.no_color, sources, name)), err=err)


def show_unread(units: Units) -> None:
    """Which programs of an object are no containers, and why."""
    for text in units.unread:
        say(f"lpnc: {text}", err=True)


def show_uncertified(units: Units) -> None:
    """Which containers have no certificate, and why."""
    for unit in units.items:
        if unit.uncertified:
            say(f"{unit.name}: no certificate, it runs with checks: {unit.uncertified}{shown_line(unit.uncertified.slot, unit, units)}")


def shown_line(slot: int | None, unit: Unit, units: Units) -> str:
    """The source line of a slot that a reason is about, on a line of its own."""
    line = line_of(unit.lines, slot) if slot is not None else None
    return f"\n  {place(line)[0]}  {source_line(line, units)}" if line is not None else ""


def source_line(line: object, units: Units) -> str:
    if not isinstance(line, tuple):
        return ""
    lines = units.sources.get(line[0], ())
    return lines[line[1] - 1].strip() if 0 < line[1] <= len(lines) else ""


def place(line: object) -> tuple[str]:
    return (f"{line[0]}:{line[1]}" if isinstance(line, tuple) else "" if line is None else f"line {line}",)


def as_json(unit: Unit, report: Report) -> dict:
    """The fields that `verify --json` and `build --json` promise for each module."""
    file, line = report.line if isinstance(report.line, tuple) else (None, report.line)
    return {
        "name": unit.name, "accepted": report.accepted, "rule": report.rule, "message": report.message or None, "file": file,
        "line": line, "insn": report.insn, "example": report.example or None, "help": report.help or None,
        "path": [{"insn": slot, "line": line_of(unit.lines, slot)} for slot in report.path],
        "stack": report.stack, "insns": report.insns, "max_insns": report.max_insns,
        "wcet_cycles": report.wcet_cycles, "certificate_bytes": len(unit.certificate), "uncertified": str(unit.uncertified) if unit.uncertified else None,
        "loops": [{"insn": b.head, "turns": b.bound} for b in report.loops], "together": report.together, "clean32": report.clean32, "note": unit.note,
    }

"""Containers and the verifier's opinion of them: what `build`, `verify`, `disasm` and the demo share."""
from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from elftools.elf.elffile import ELFFile

from lpn.lang import ast
from lpn.verifier.certify import NoCertificate, Sizes, certify, refusal
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.sections import TEXT, Section
from lpn.verifier.verify import Analysis, Report, analyse, line_of, render

from ..build import BuildError, Compiled, Container, compile_program
from ..bundle import Bundle
from ..compact import read_image
from ..elf import read_object
from ..forms import Forms, RefusedError, accepted
from ..helpers import HELPERS, Helper
from ..image import OUT_SIZE, Flag, Image
from ..output import Failure, console, say, waiting
from .inputs import Input, Lines, shown, source_map, source_texts


@dataclass
class Unit:
    """One container to judge or to show. Sizes in bytes; `image` None where there is none around the text."""

    name: str
    text: bytes
    profile: str = "lpn"
    kind: str = ""
    rodata: int = 0
    data: int = 0
    record_size: int = 0
    state_size: int = 0
    lines: Lines = field(default_factory=list)
    image: bytes | None = None
    certificate: bytes = b""
    contexts: tuple[str, ...] = ()              # where the hooks run that it belongs to; () where that is not known
    helpers: tuple[Helper, ...] = HELPERS       # what it may call
    sections: list[Section] = field(default_factory=list)       # of the file it is from (rule 12)
    stack_used: int = 0                         # as the image has it
    out_size: int = OUT_SIZE                    # the same; of one compiled just now, what was found
    fresh: bool = False                         # compiled just now: its certificate is yet to be written
    uncertified: str = ""                       # why there is no certificate
    note: str | None = None                     # what is not in the form that was asked for, and why

    def sizes(self, stack: int) -> Sizes:
        """What a certificate may rely on."""
        return Sizes(self.rodata, self.data, self.record_size, self.state_size, stack, self.out_size)

    def judge(self) -> Report:
        return self.analyse()[0]

    def analyse(self) -> tuple[Report, Analysis | None]:
        return analyse(self.text, PROFILES[self.profile], rodata=self.rodata, data=self.data, record_size=self.record_size,
                       state_size=self.state_size, out_size=self.out_size, line_map=self.lines, contexts=self.contexts, helpers=self.helpers,
                       sections=self.sections)


@dataclass
class Units:
    """The containers of one input, with the text of the source files their lines are from."""

    items: list[Unit]
    sources: dict[str, list[str]]
    bundle: Bundle | None = None                # what they belong to, where that is known


def of_image(image: Image, lines: Lines, profile: str = "lpn", contexts: tuple[str, ...] = (),
             helpers: tuple[Helper, ...] = HELPERS) -> Unit:
    return Unit(image.name, image.text, profile, image.kind.name.lower(), len(image.rodata), len(image.data), image.record_size,
                image.state_size, lines, image.to_bytes(), contexts=contexts, helpers=helpers, certificate=image.certificate, stack_used=image.stack_used, out_size=image.out_size,
                sections=[Section(*place) for place in image.places()])


def of_compiled(compiled: Compiled) -> Units:
    helpers = compiled.bundle.helpers()
    return Units([replace(of_image(c.image, c.code.lines, compiled.target.name, compiled.contexts(c.name), helpers), fresh=True, note=compiled.note(c.name))
                  for c in compiled.containers],
                 {source.name: source.lines for source in compiled.program.sources}, compiled.bundle)


def of_input(given: Input, target: str | None = None, fuse: bool = False, without: Iterable[str] = (), level: int = 2,
             sizes: dict[str, int] | None = None) -> Units:
    """The containers of a source (compiled for `target`), image, bundle or object."""
    if given.kind == "source":
        return of_compiled(compiled(given.program(without), target or "lpn", fuse, level))
    if fuse or tuple(without):
        raise Failure(f"{shown(given.path)}: --fuse and --without need the program's source")
    if given.kind == "object":
        return of_object(given, target, sizes or {})
    maps = source_map(given.path)
    profile = target or "lpn"
    if given.kind == "image":
        image = given.decode(read_image)
        items, bundle = [of_image(image, maps.get(image.name, []), profile)], None
    else:
        bundle = given.decode(Bundle.from_bytes)
        items = [of_image(image, maps.get(image.name, []), profile, bundle.contexts(image.name), bundle.helpers())
                 for image in bundle.modules]
    return Units(items, source_texts(maps.values()), bundle)


def of_object(given: Input, target: str | None, sizes: dict[str, int]) -> Units:
    """Each section with code of an eBPF ELF object; those called `xdp` meet the kernel's context unless `target` differs."""
    elf = ELFFile(io.BytesIO(given.data))
    if elf["e_machine"] != "EM_BPF":
        raise Failure(f"{shown(given.path)}: an ELF file for {elf['e_machine']}, not for eBPF")
    units = []
    for section in elf.iter_sections():
        if section["sh_type"] == "SHT_PROGBITS" and section["sh_flags"] & 4 and section["sh_size"]:
            code = read_object(given.data, section.name)
            profile = target or ("xdp" if section.name.startswith("xdp") else "lpn")
            units.append(Unit(section.name, code.text, profile, "object", len(code.rodata), len(code.data),
                              sizes.get("record_size", 0), sizes.get("state_size", 0), code.lines,
                              sections=of_elf(elf, section.name)))
    if not units:
        raise Failure(f"{shown(given.path)}: this object has no code")
    return Units(units, source_texts(unit.lines for unit in units))


def of_elf(elf: ELFFile, text: str) -> list[Section]:
    """Where the object's code and data lie in its file, and what it wants written: the section `text` is the container's."""
    return [Section(TEXT if s.name == text else s.name.lstrip(".").split(".")[0] or "nameless", s["sh_offset"], s["sh_size"], bool(s["sh_flags"] & 1))
            for s in elf.iter_sections() if s["sh_type"] == "SHT_PROGBITS" and s["sh_flags"] & 2]


def compiled(program: ast.Program, target: str = "lpn", fuse: bool = False, level: int = 2) -> Compiled:
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
        raise Failure(f"{program.sources[-1].name}: {e}", 1) from None


def tell(result: Compiled) -> None:
    """What is not as it was asked for."""
    for text in result.notes:
        say(f"note: {text}", err=True)


@dataclass
class Sealed:
    """What was compiled, with the verifier's opinion and what the proofs rest on."""

    compiled: Compiled
    units: Units
    found: list[tuple[Unit, Report, Analysis | None]]

    def refused(self) -> list[RefusedError]:
        return [RefusedError(unit.name, report) for unit, report, _ in self.found if not report.accepted]


def compiled_and_sealed(program: ast.Program, target: str = "lpn", fuse: bool = False, level: int = 2) -> Sealed:
    """In the form asked for, or in another one that the verifier takes."""
    def make(forms: Forms) -> Sealed:
        with waiting("compiling"):
            result = compile_program(program, target, fuse, level, forms=forms)
        return Sealed(result, *seal(result))

    with told(program):
        done = accepted(make, Sealed.refused)
    tell(done.compiled)
    return done


def made_to_run(program: ast.Program, engines: Iterable[str], fuse: bool = False, level: int = 2) -> Compiled:
    """As `build` makes it: the verifier is asked where a chain may not be taken as one container, and where an engine asks for proofs."""
    from ..runner import PROVED
    asked = fuse or not {*PROVED}.isdisjoint(engines)
    return compiled_and_sealed(program, "lpn", fuse, level).compiled if asked else compiled(program, "lpn", fuse, level)


def judged(units: Units) -> list[tuple[Unit, Report]]:
    return [(unit, report) for unit, report, _ in analysed(units)]


def analysed(units: Units) -> list[tuple[Unit, Report, Analysis | None]]:
    with waiting("verifying"):
        found = [(unit, *unit.analyse()) for unit in units.items]
        for unit, report, analysis in found:
            certificate_of(unit, report, analysis)
        return found


def certificate_of(unit: Unit, report: Report, analysis: Analysis | None) -> None:
    """Rule 37 for the certificate an image brings; one for an image that has none, or why not."""
    if not report.accepted or unit.profile != "lpn" or unit.image is None:
        return
    try:
        if unit.certificate:
            why = refusal(unit.text, unit.certificate, unit.sizes(unit.stack_used))
            if why is not None:
                report.accepted, report.rule, report.message = False, 37, f"rule 37 (certificate): {why}"
        elif unit.fresh:
            unit.out_size = report.output
            unit.certificate = certify(unit.text, report, analysis, unit.sizes(report.stack))
    except NoCertificate as e:
        unit.uncertified = str(e)


def sealed(result: Compiled) -> list[tuple[Container, Report]]:
    """Verifies what was compiled, and writes into the images what was found: stack in use, 32-bit clean."""
    return list(zip(result.containers, [report for _, report, _ in seal(result)[1]]))


def seal(result: Compiled) -> tuple[Units, list[tuple[Unit, Report, Analysis | None]]]:
    """As `sealed`, with what the proofs rest on."""
    units = of_compiled(result)
    found = analysed(units)
    result.reports = {unit.name: report for unit, report, _ in found}
    for container, (unit, report, _) in zip(result.containers, found):
        if report.accepted:
            flags = container.image.flags | (Flag.CLEAN32 if report.clean32 else Flag(0)) | (Flag.CERTIFIED if unit.certificate else Flag(0))
            container.image = replace(container.image, flags=flags, stack_used=report.stack, out_size=unit.out_size, certificate=unit.certificate)
    result.reseal()
    return units, found


def show_rejection(report: Report, name: str, sources: dict[str, list[str]], err: bool = False) -> None:
    """The rule that is violated and its line."""
    from rich.text import Text
    out = console(err)
    say(Text.from_ansi(render(report, out.is_terminal and not out.no_color, sources, name)), err=err)


def as_json(unit: Unit, report: Report) -> dict:
    """The fields that `verify --json` and `build --json` promise for each module."""
    file, line = report.line if isinstance(report.line, tuple) else (None, report.line)
    return {
        "name": unit.name, "accepted": report.accepted, "rule": report.rule, "message": report.message or None, "file": file,
        "line": line, "insn": report.insn, "example": report.example or None, "help": report.help or None,
        "path": [{"insn": slot, "line": line_of(unit.lines, slot)} for slot in report.path], "stack": report.stack, "insns": report.insns, "max_insns": report.max_insns,
        "wcet_cycles": report.wcet_cycles, "certificate_bytes": len(unit.certificate), "uncertified": unit.uncertified or None,
        "loops": [{"insn": b.head, "turns": b.bound} for b in report.loops], "clean32": report.clean32, "note": unit.note,
    }

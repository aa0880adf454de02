"""Containers and the verifier's opinion of them; what is compiled as `build` makes it, with certificates in the images."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from lpn.lang import ast
from lpn.lang.check.unsent import may_send
from lpn.lang.diagnostics import DiagnosticError
from lpn.verifier.certify import NoCertificate, Sizes, certify, refusal
from lpn.verifier.certify_labels import NotCounted, NotFollowed
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.sections import Section
from lpn.verifier.verify import Analysis, Report, analyse, line_of

from .build import Compiled, Container, compile_program
from .bundle import Bundle
from .excluded import without_excluded
from .forms import MOST, BuildError, Forms, Level, RefusedError, UncertifiedError, accepted, of_level
from .helpers import HELPERS, Helper
from .image import OUT_SIZE, Flag, Image, Kind
from .lower.modules import Lowerings
from .output import waiting
from .waits import Start, starts

Lines = list[tuple[int, str, int]]              # (slot, file, line)
PROVED = ("m3", "thumb2")                       #: engines that run containers as they were proved


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
    deparses: bool = True                       # it may end with a deparser
    fresh: bool = False                         # compiled just now: its certificate is yet to be written
    foreign: bool = False                       # of another compiler: what needs ways told apart is accepted, too
    constants: bytes | None = None              # what its read-only data hold, of one that is foreign
    uncertified: NoCertificate | None = None    # why there is none
    note: str | None = None                     # what is not in the form that was asked for, and why

    def sizes(self, stack: int) -> Sizes:
        """What a certificate may rely on."""
        return Sizes(self.rodata, self.data, self.record_size, self.state_size, stack, self.out_size)

    def judge(self) -> Report:
        return self.analyse()[0]

    def analyse(self) -> tuple[Report, Analysis | None]:
        return analyse(self.text, PROFILES[self.profile], rodata=self.rodata, data=self.data, record_size=self.record_size,
                       state_size=self.state_size, out_size=self.out_size, line_map=self.lines, contexts=self.contexts, helpers=self.helpers if self.profile == "lpn" else None,
                       sections=self.sections, apart=self.foreign, constants=self.constants)


Analyse = Callable[[Unit], tuple[Report, Analysis | None]]


@dataclass
class Units:
    """The containers of one input, with the text of the source files their lines are from."""

    items: list[Unit]
    sources: dict[str, list[str]]
    bundle: Bundle | None = None                # what they belong to, where that is known
    starts: list[Start | None] = field(default_factory=list)    # by hook, who starts it, where the source is known,
    sends: list[bool] = field(default_factory=list)             # and whether its packet may go to the radio when it has run
    unread: list[str] = field(default_factory=list)             # of an object's programs, why one cannot be read


def of_image(image: Image, lines: Lines, profile: str = "lpn", contexts: tuple[str, ...] = (),
             helpers: tuple[Helper, ...] = HELPERS) -> Unit:
    return Unit(image.name, image.text, profile, image.kind.name.lower(), len(image.rodata), len(image.data), image.record_size,
                image.state_size, lines, image.to_bytes(), contexts=contexts, helpers=helpers,
                certificate=image.certificate, stack_used=image.stack_used, out_size=image.out_size,
                deparses=image.kind == Kind.DEPARSER or Flag.DEPARSES in image.flags,
                sections=[Section(*place) for place in image.places()])


def of_compiled(compiled: Compiled) -> Units:
    return Units([unit_of(compiled, container) for container in compiled.containers],
                 {source.name: source.lines for source in compiled.program.sources}, compiled.bundle, starts([hook for hook, _ in compiled.hooks]),
                 [not hook.timed and may_send(hook.chain) for hook, _ in compiled.hooks])


def unit_of(compiled: Compiled, container: Container) -> Unit:
    unit = of_image(container.image, container.code.lines, compiled.target.name, compiled.contexts(container.name), compiled.bundle.helpers())
    return replace(unit, fresh=True, note=compiled.note(container.name))


@dataclass
class Sealed:
    """What was compiled, with the verifier's opinion and what the proofs rest on."""

    compiled: Compiled
    units: Units
    found: list[tuple[Unit, Report, Analysis | None]]

    def refused(self) -> list[RefusedError]:
        return [RefusedError(unit.name, report) for unit, report, _ in self.found if not report.accepted]

    def uncertified(self) -> dict[str, UncertifiedError]:
        """Of those accepted, by name, what LLVM may make so that it has a certificate."""
        return {unit.name: UncertifiedError(unit.name, str(why), line_of(unit.lines, why.slot) if why.slot is not None else None) for unit, report, _ in self.found
                if report.accepted and isinstance(why := unit.uncertified, NotFollowed | NotCounted)}


def sealed_form(program: ast.Program, target: str = "lpn", fuse: bool = False, level: Level = MOST) -> Sealed:
    """In the form asked for, or in another one that the verifier takes. Raises BuildError."""
    lowerings = Lowerings(program)

    def make(forms: Forms) -> Sealed:
        with waiting("compiling"):
            result = compile_program(program, target, fuse, level, forms=forms, lowerings=lowerings)
        return Sealed(result, *seal(result))
    made = accepted(make, Sealed.refused)
    for name in made.uncertified() if target == "lpn" and not made.refused() else ():
        made = with_certificate(name, make, made)
    return made


def with_certificate(name: str, make: Callable[[Forms], Sealed], made: Sealed) -> Sealed:
    """With this container in the first of its forms that has a certificate; as it was, if none has one that LLVM has optimised. Where no number counts a loop, first one in which
    the parser does."""
    other = made
    if isinstance({unit.name: unit.uncertified for unit in made.units.items}.get(name), NotCounted):
        with suppress(BuildError, DiagnosticError):
            counting = make(made.compiled.forms.where_it_counts(name))
            if not counting.refused() and any(unit.name == name for unit in counting.units.items):
                other = counting
    while (why := other.uncertified().get(name)) is not None:
        forms = other.compiled.forms
        try:
            other = make(forms.without({why: of_level(forms.taken[name])}))
        except (BuildError, DiagnosticError):
            return made
        if other.refused() or name not in other.compiled.forms.taken or not other.compiled.forms.taken[name].optimised:
            return made
    return other


def made_to_run(program: ast.Program, engines: Iterable[str], fuse: bool = False, level: Level = MOST) -> Compiled:
    """As `build` makes it: the verifier is asked where a chain may not be taken as one container, and where an engine asks for proofs. Raises BuildError."""
    if fuse or not {*PROVED}.isdisjoint(engines):
        return sealed_form(program, "lpn", fuse, level).compiled
    with waiting("compiling"):
        return compile_program(program, "lpn", fuse, level)


def judged(units: Units) -> list[tuple[Unit, Report]]:
    return [(unit, report) for unit, report, _ in analysed(units)]


def analysed(units: Units, whole: bool = False, analyse: Analyse | None = None) -> list[tuple[Unit, Report, Analysis | None]]:
    with waiting("verifying"):
        found = [(unit, *(analyse(unit) if analyse is not None else unit.analyse())) for unit in units.items]
        for unit, report, analysis in found:
            certificate_of(unit, report, analysis, whole)
        return found


def certificate_of(unit: Unit, report: Report, analysis: Analysis | None, whole: bool = False) -> None:
    """Rule 37 for the certificate an image brings; one for an image that has none, or why not. `whole`: it may address all of the output, not what the proof found alone."""
    if not report.accepted or unit.profile != "lpn" or unit.image is None:
        return
    try:
        if unit.certificate:
            why = refusal(unit.text, unit.certificate, unit.sizes(unit.stack_used))
            if why is not None:
                report.accepted, report.rule, report.message = False, 37, f"rule 37 (certificate): {why}"
        elif unit.fresh:
            unit.out_size = OUT_SIZE if whole else report.output
            unit.certificate = certify(unit.text, report, analysis, unit.sizes(report.stack))
    except NoCertificate as e:
        unit.uncertified = e.with_traceback(None)


def sealed(result: Compiled) -> list[tuple[Container, Report]]:
    """Verifies what was compiled, and writes into the images what was found: stack in use, 32-bit clean."""
    return list(zip(result.containers, [report for _, report, _ in seal(result)[1]]))


def seal(result: Compiled, analyse: Analyse | None = None) -> tuple[Units, list[tuple[Unit, Report, Analysis | None]]]:
    """As `sealed`, with what the proofs rest on. A container that has a certificate only in another way is made so."""
    units = of_compiled(result)
    found = analysed(units, analyse=analyse)
    for i, (container, (unit, _, analysis)) in enumerate(zip(result.containers, found)):
        if isinstance(unit.uncertified, NotFollowed) and analysis is not None and (other := certified_otherwise(result, container, analysis, units.sources)):
            result.containers[i], found[i] = other
            units.items[i] = found[i][0]
    result.reports = {unit.name: report for unit, report, _ in found}
    for container, (unit, report, _) in zip(result.containers, found):
        if report.accepted:
            flags = container.image.flags | (Flag.CLEAN32 if report.clean32 else Flag(0)) | (Flag.CERTIFIED if unit.certificate else Flag(0))
            container.image = replace(container.image, flags=flags, stack_used=report.stack, out_size=unit.out_size, certificate=unit.certificate)
    result.reseal()
    return units, found


def certified_otherwise(result: Compiled, container: Container, analysis: Analysis,
                        sources: dict[str, list[str]]) -> tuple[Container, tuple[Unit, Report, Analysis | None]] | None:
    """Without the ways that the proof excludes; with all of the output, which costs time: how far it goes may rest on what the checker does not know, such as how long a
    varbit is."""
    codes = [container.code, *(code for ends in (True, False) if (code := without_excluded(container.code, analysis, ends)) is not None)]
    for whole, code in [*((False, code) for code in codes[1:]), *((True, code) for code in codes)]:
        other = replace(container, code=code, image=replace(container.image, text=code.text))
        [better] = analysed(Units([unit_of(result, other)], sources), whole)
        if better[0].certificate:
            return other, better
    return None

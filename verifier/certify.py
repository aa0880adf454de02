"""From a proof to its certificate: the invariants of the fixpoint, said in the checker's words, and of these what it needs.

Nothing here is trusted: what is written has been accepted by the checker (runtime/engine/certificate.c), else there is no certificate
and a reason.
"""
from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

from .certificate import FIRST, Certificate
from .certify_labels import NoCertificate, Projection, Sizes
from .verify import Analysis, Report

ACCEPTED = 0


def certify(text: bytes, report: Report, analysis: Analysis | None, sizes: Sizes) -> bytes:
    """The certificate of an accepted container. Raises NoCertificate."""
    return certified(text, report, analysis, sizes)[1]


def certificate_of(text: bytes, report: Report, analysis: Analysis | None, sizes: Sizes) -> Certificate:
    """As `certify`, before it becomes bytes."""
    return certified(text, report, analysis, sizes)[0]


def certified(text: bytes, report: Report, analysis: Analysis | None, sizes: Sizes) -> tuple[Certificate, bytes]:
    if analysis is None:
        raise NoCertificate("it was not accepted")
    if analysis.graph.splits:
        raise NoCertificate("ways that meet in it had to be told apart to prove it")
    if any(region.holds is not None for region in analysis.regions.values()):
        raise NoCertificate("what its read-only data hold was used to prove it")
    if not report.clean32:
        raise NoCertificate(f"slot {report.wide[0]} may need more than 32 bits of a register", report.wide[0])
    if (slot := next((slot for slot, insn in analysis.graph.insns.items() if insn.is_local_call), None)) is not None:
        raise NoCertificate(f"it has local functions, slot {slot}", slot)
    from .certify_search import Search
    checker, projection = Checker(text, sizes), Projection(analysis, sizes)
    ways = [projection]                               # units are for loops that end with `!=`: others have smaller certificates without
    if any(counter.unit > 1 for counter in projection.counters.values()):
        ways.insert(0, projection.without_units())
    found: list[Search] = []
    try:
        unrelated = False
        for related, way in product((False, True), ways):
            if related and (found or not unrelated):
                break
            search = Search(way, checker, related)
            try:
                search.follow()
                found.append(search)
            except NoCertificate as e:
                refused, unrelated = e, unrelated or search.unrelated
                continue
            if way is not projection and not projection.turns_more(search.certificate):
                break
        if not found:
            raise refused
        search = min(found, key=lambda search: search.certificate.cost)
        search.shorten()
        return finish(search.certificate, checker)
    except ValueError as e:
        raise NoCertificate(str(e)) from None


def refusal(text: bytes, certificate: bytes, sizes: Sizes) -> str | None:
    """Why the engine refuses a certificate; None if it accepts it. Raises NoCertificate where there is no engine."""
    checker = Checker(text, sizes)
    found = checker.whole(certificate)
    return None if found == ACCEPTED else checker.name(found)


class Checker:
    """The engine's checker for one text."""

    def __init__(self, text: bytes, sizes: Sizes):
        from ..runtime.engine.build import BuildError, library
        try:
            self.ffi, self.lib = library()
        except (BuildError, OSError) as e:
            raise NoCertificate(f"the engine's checker cannot be built: {e}") from None
        self.text, self.length = self.ffi.from_buffer("uint8_t[]", text), len(text)
        self.sizes = self.ffi.new("uint32_t[]", [sizes.rodata, sizes.data, sizes.record, sizes.state, sizes.stack, sizes.output])
        self.work, self.room = self.ffi.new("uint64_t[]", 1024), 8192
        self.at, self.told = self.ffi.new("uint32_t *"), self.ffi.new("lpn_writer_state *")

    def block(self, certificate: Any, size: int, number: int, costs: bool = True, told: bool = False) -> int:
        """0, or why label `number`'s block is refused (-1: from the start); `told` has what the checker knew at its end."""
        return self.lib.lpn_writer_block(self.text, self.length, certificate, size, self.sizes, self.work, self.room, number, costs,
                                         self.told if told else self.ffi.NULL)

    def whole(self, certificate: bytes, room: int | None = None) -> int:
        """0, or why it is refused; `at` says where."""
        return self.lib.lpn_writer_check(self.text, self.length, self.ffi.from_buffer("uint8_t[]", certificate), len(certificate), self.sizes,
                                         self.work, self.room if room is None else room, self.at)

    def room_for(self, certificate: bytes) -> int:
        """Bytes of work area that are enough."""
        low, high = 0, self.room
        while low < high:                             # more room never makes a difference for the worse
            middle = (low + high) // 8 * 4
            if self.whole(certificate, middle) == ACCEPTED:
                high = middle
            else:
                low = middle + 4
        return high

    def name(self, refusal: int, slot: int | None = None) -> str:
        return f"{self.ffi.string(self.lib.lpn_refusal_name(refusal)).decode()}, slot {self.at[0] if slot is None else slot}"


def finish(certificate: Certificate, checker: Checker) -> tuple[Certificate, bytes]:
    """As the checker accepts it, and its bytes."""
    certificate = replace(certificate, shared=FIRST + max((len(label.shared) for label in certificate.labels), default=0))
    content = certificate.to_bytes()
    if (found := checker.whole(content)) != ACCEPTED:
        raise NoCertificate(f"the checker refuses it: {checker.name(found)}", checker.at[0])
    return certificate, content

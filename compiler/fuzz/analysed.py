"""Analyses of random programs, each made once."""
from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from lpn.verifier.descriptors import PROFILES
from lpn.verifier.sections import Section
from lpn.verifier.verify import Analysis, Report, analyse

from ..helpers import Helper
from ..judge import Unit

KEPT = 24                                       # of the last texts: those of one program


def once(unit: Unit) -> tuple[Report, Analysis | None]:
    """`Unit.analyse`. Short code is often the fast one once more, what is made again because one module was refused has the others as they were, and the bounds of runs rest on
    what was accepted before."""
    report, analysis = _analysed(unit.text, unit.profile, unit.rodata, unit.data, unit.record_size, unit.state_size, unit.out_size, tuple(unit.lines), unit.contexts,
                                 unit.helpers, tuple(unit.sections))
    return replace(report), analysis            # what is said of a certificate is said of one image


@lru_cache(KEPT)
def _analysed(text: bytes, profile: str, rodata: int, data: int, record: int, state: int, out: int, lines: tuple, contexts: tuple[str, ...],
              helpers: tuple[Helper, ...], sections: tuple[Section, ...]) -> tuple[Report, Analysis | None]:
    return analyse(text, PROFILES[profile], rodata=rodata, data=data, record_size=record, state_size=state, out_size=out, line_map=lines, contexts=contexts,
                   helpers=helpers, sections=sections)

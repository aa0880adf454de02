"""What became of a program's packets: what none of them reaches, no engine was compared in."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from lpn.lang import ast
from lpn.lang.reference import Result


KEPT = 200                                      # dropped packets for a hook, to say where


class Became(Counter[tuple[str, str, str]]):
    """How many packets, by the hook whose chain took them ("": a chain without a parser), the verdict and the reason. `lost`: by hook, some that were dropped;
    `handlers`: runs of hooks that no packet comes to."""

    def __init__(self) -> None:
        super().__init__()
        self.handlers = 0
        self.lost: dict[str, list[bytes]] = {}

    def note(self, program: ast.Program, hook: int | None, r: Result, frame: bytes = b"") -> None:
        if hook is not None and hook not in program.takers:
            self.handlers += 1
            return
        parses = any(isinstance(module, ast.Parser) for module in program.chain_of(program.hook(hook)))
        name = "" if not parses else "radio.rx_done" if hook is None else program.hooks[hook].name
        self[name, r.verdict, r.reason or ""] += 1
        if r.verdict == "DROP" and len(lost := self.lost.setdefault(name, [])) < KEPT:
            lost.append(frame)

    @property
    def verdicts(self) -> Counter[str]:
        return summed((verdict, number) for (_, verdict, _), number in self.items())

    @property
    def reasons(self) -> Counter[str]:
        return summed((reason, number) for (_, _, reason), number in self.items() if reason)

    def all_dropped(self) -> dict[str, Counter[str]]:
        """The hooks through whose chains nothing got, and for which reasons."""
        through = {name for name, verdict, _ in self if verdict != "DROP"}
        return {hook: summed((reason, number) for (name, _, reason), number in self.items() if name == hook)
                for hook in sorted({name for name, _, _ in self if name} - through)}

    def as_json(self) -> Mapping[str, object]:
        return {"verdicts": dict(sorted(self.verdicts.items())), "dropped": dict(sorted(self.reasons.items())), "all_dropped": sorted(self.all_dropped()),
                "handlers": self.handlers}


def summed(numbers: Iterable[tuple[str, int]]) -> Counter[str]:
    out: Counter[str] = Counter()
    for name, number in numbers:
        out[name] += number
    return out

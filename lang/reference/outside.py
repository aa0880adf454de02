"""What a program does beyond the node's memory: recorded, as lang/outside.py has it."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ast
from ..hooks import longest
from ..outside import SENDS, Answer, Effect, all_clear
from .packet import Packet
from .scope import Scope
from .values import unsigned

if TYPE_CHECKING:
    from .run import Run

class Outside:
    """The effects of one run."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.effects: list[Effect] = []
        self.answer: Answer = all_clear

    def call(self, expr: ast.Call, scope: Scope) -> object:
        """`radio.on()`, `radio.send(Tx(h))`, ...: what it does, and what it gives."""
        name = str(expr.target).replace(".", "_")
        if name in SENDS:
            return self.ask(name, self.frame(expr, scope))
        if name == "radio_cca":
            return self.ask(name)
        self.do(name, *(self.run.number(arg, scope) for arg in expr.args))
        return None

    def do(self, name: str, *given: object) -> None:
        """An effect that nobody answers."""
        self.effects.append((name, *given))

    def trace(self, *numbers: int) -> None:
        """`trace(a, b)`: nobody watches."""

    def clock(self) -> object:
        """What `clock_us()` gives."""
        return self.run.node["clock"]

    def ask(self, name: str, *given: object) -> int:
        answer = unsigned(self.answer(name, len(self.effects)), 8)
        self.effects.append((name, *given, answer))
        return answer

    def timer(self, after: ast.After, scope: Scope) -> None:
        hooks = self.run.program.hooks
        index = next(i for i, hook in enumerate(hooks) if after.handler in hook.chain)
        self.do("timer_start", index, min(self.run.number(after.delay, scope), longest(after)))

    def frame(self, expr: ast.Call, scope: Scope) -> bytes:
        """What the deparser emits, then the payload, or the part of it that is named; what lies beyond it is not there."""
        rest = self.run.packet.rest
        if len(expr.args) == 3:
            start, length = (self.run.number(arg, scope) for arg in expr.args[1:])
            rest = rest[start:start + length]
        return self.behind(expr.args[0], rest)

    def behind(self, made: ast.Expr, rest: bytes) -> bytes:
        """What `Tx(h)` emits, then `rest`."""
        from .modules import run_deparser
        assert isinstance(made, ast.Call) and isinstance(made.target, ast.Deparser)
        run = self.run
        whole, run.packet = run.packet, Packet(rest)        # the payload that the headers' equations count
        try:
            return (run_deparser(run, made.target).out or b"") + rest
        finally:
            run.packet = whole

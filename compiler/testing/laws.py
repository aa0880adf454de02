"""Laws of every header and codec of a file, each checked on what Hypothesis draws.

- A header is lossless: what was made of values that satisfy its description is taken, and emitted as it was, in the reference
  and in the engine; other bytes are rejected or emitted as they were.
- Its equations, computed anew, give what they gave.
- A codec expands what it compressed to an equal header, and compresses whatever it expanded.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import assume, given, note, settings, strategies as st

from lpn.compiler.runner import make_runner
from lpn.compiler.generate.looked_for import Interest, interest
from lpn.lang import ast, tables as control
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.reference import Reference, State
from lpn.lang.reference.codecs import Compress, Expand
from lpn.lang.reference.headers import Instance
from lpn.lang.reference.packet import Packet
from lpn.lang.reference.run import Run
from lpn.lang.reference.values import NotSupported, Rejected, Struct, copy, width_of, zero
from lpn.lang.source import Source
from lpn.lang.types import Bits, Bool, EnumType, HeaderType, StructType, Type

from .encodings import compressed
from .entries import given_tables
from .headers import fill, in_order
from .numbers import Draw, likely, one_of, payloads
from .packets import damaged
from .walk import Subject

EXAMPLES = 60                                   # of one law, unless Hypothesis is told otherwise


@dataclass(frozen=True)
class Law:
    """`law.check()` draws examples and raises AssertionError for one that breaks the law, as small as it gets."""

    name: str
    statement: str
    check: Callable[[], None] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name} {self.statement}"


def laws(*files: str | Path, engines: tuple[str, ...] = ("engine",), examples: int = EXAMPLES) -> list[Law]:
    """The laws of the headers and codecs that the files declare themselves. `engines`: beside the reference."""
    out: list[Law] = []
    for file in files:
        path = Path(file)
        program = _library(path)
        for decl in program.main:
            if isinstance(decl, ast.Header) and decl.items:
                out += list(of_header(path, program, decl, engines, examples))
            elif isinstance(decl, ast.Codec):
                out += list(of_codec(program, decl, examples))
    return out


@lru_cache
def _library(path: Path) -> ast.Program:
    return check(load(path))


def limited(examples: int) -> settings:
    """A search profile's greater number wins."""
    return settings(max_examples=examples if settings.default.max_examples <= 100 else settings.default.max_examples)


# ---------------------------------------------------------------- headers

def of_header(path: Path, program: ast.Program, header: ast.Header, engines: tuple[str, ...], examples: int) -> Iterable[Law]:
    text = lossless(program, header)

    @lru_cache
    def made(text: str) -> ast.Program:
        return check(among(load(path), load(Source(f"{path.stem}_law.lpn", text))))

    def round_trip(text: str, computed: bool) -> None:
        subject = made(text)
        reference = Reference(subject)
        runners = [make_runner(name, subject) for name in engines]
        good = in_order(subject)

        @limited(examples)
        @given(good if computed else st.one_of(good, damaged(good), st.binary(max_size=80)), st.just(computed))
        def holds(frame: bytes, must: bool) -> None:
            result = reference.run(frame)
            if must or result.verdict == "ACCEPT":
                assert result.out == frame, f"{frame.hex()} becomes {result.out.hex() if result.out is not None else result.reason}"
            for runner in runners:
                other = runner.run(frame)
                assert (other.verdict, other.reason, other.out) == (result.verdict, result.reason, result.out), \
                    f"{frame.hex()}: the reference says {result}, an engine {other}"

        holds()

    yield Law(header.name, "is emitted as it came", lambda: round_trip(text, False))
    yield Law(header.name, "takes what its description allows", lambda: round_trip(text, True))
    plain = next((item for item in header.fields() if item.equation is None and item.name != "_" and item.when is None
                  and isinstance(item.type, (Bits, EnumType, Bool))), None)
    if plain is not None and any(item.equation is not None for item in header.fields()):
        again = lossless(program, header, f"h.x.{plain.name} = h.x.{plain.name};")
        yield Law(header.name, "has equations that give what they gave", lambda: round_trip(again, True))


def lossless(program: ast.Program, header: ast.Header, between: str = "") -> str:
    """What takes the header, behind those that it looks at, and puts them back; `between`: statements. Its names are nobody else's in the program."""
    taken = {getattr(decl, "name", "") for decl in program.decls}
    headers, taking, same, putting = (next(f"{name}{n or ''}" for n in count() if f"{name}{n or ''}" not in taken)
                                      for name in ("LawHeaders", "LawTakes", "LawSame", "LawPuts"))
    fields, names = [], []
    for param in header.params:
        assert isinstance(param.type, HeaderType)
        names.append(f"for_{param.name}")
        fields.append(f"{param.type.decl.name} for_{param.name};")
    fields.append(f"{header.name}{'(' + ', '.join(names) + ')' if names else ''} x;")
    order = [*names, "x"]
    return "\n".join([f"struct {headers} {{ {' '.join(fields)} }}",
                      f"parser {taking}(packet pkt, out {headers} h) {{ state start {{ "
                      + " ".join(f"pkt.extract(h.{name});" for name in order) + " transition accept; } }",
                      *[f"processor {same}(inout {headers} h, inout meta m) {{ apply {{ {between} }} }}"][:bool(between)],
                      f"deparser {putting}(packet pkt, in {headers} h) {{ " + " ".join(f"pkt.emit(h.{name});" for name in order) + " }",
                      f"protocol Law version 1 {{ on radio.rx_done : {taking} -> {f'{same} -> ' * bool(between)}{putting}; }}"])


#: What a program makes of its headers. A law leaves it out: the modules of a program share one struct of headers, and the law has its own.
OF_ITS_OWN = (ast.Parser, ast.Processor, ast.Deparser, ast.Timing, ast.Protocol, ast.Migrate)


def among(program: ast.Program, law: ast.Program) -> ast.Program:
    """A law's declarations among those of the program that has the header."""
    def of_headers(decls: list[ast.Decl | ast.ErrorDecl]) -> list[ast.Decl | ast.ErrorDecl]:
        return [decl for decl in decls if not isinstance(decl, OF_ITS_OWN)]
    return ast.Program(law.span, program.imports, [*of_headers(program.decls), *law.decls], [*program.sources, *law.sources],
                       [*of_headers(program.main), *law.main])


# ---------------------------------------------------------------- codecs

@dataclass
class Bench:
    """A codec and what it is tried with, in front of a payload."""

    program: ast.Program
    codec: ast.Codec
    state: State
    args: list[object]
    payload: bytes = b""

    def instance(self, run: Run) -> Instance:
        header = self.codec.header
        assert header is not None
        others = []
        for param in header.params:
            assert isinstance(param.type, HeaderType)
            others.append(Instance(run, param.type.decl, param, param.name, [], equations(param.type.decl)))
        return Instance(run, header, self.codec, "h", others, frozenset())

    def run(self, data: bytes) -> Run:
        run = Run(self.program, lambda decl, item: False, data, {}, self.state)
        run.packet = Packet(data)
        return run

    def compress(self, instance: Instance, args: list[object]) -> bytes:
        return Compress(instance.run, self.codec, [copy(arg) for arg in args], instance).compress()

    def expand(self, data: bytes, like: Instance | None = None) -> tuple[Instance, list[object], bytes]:
        """The header, the arguments afterwards, and what is left. `like`: whose parameters to take."""
        run = self.run(data)
        instance = self.instance(run)
        if like is not None:
            instance.args = like.args
        args = [copy(arg) for arg in self.args]
        expand = Expand(run, self.codec, args, instance)
        expand.expand()
        back = expand.inout()
        return instance, [back.get(param, arg) for param, arg in zip(self.codec.params, args)], run.packet.rest


def equations(header: ast.Header) -> frozenset[ast.Field]:
    return frozenset(each for each in header.fields() if each.equation is not None)


def of_codec(program: ast.Program, codec: ast.Codec, examples: int) -> Iterable[Law]:
    wanted = interest(program.decls)
    sought = Subject(program, _no_parser(codec), lambda decl, item: False, wanted)

    def from_headers() -> None:
        @limited(examples)
        @given(st.data())
        def holds(data: Any) -> None:
            bench = drawn_bench(data.draw, program, codec, wanted)
            run = bench.run(bench.payload)
            instance = bench.instance(run)
            for other in instance.args:
                fill(data.draw, other, {}, wanted)
            instance.derived = equations(instance.header)
            fill(data.draw, instance, {}, wanted)
            run.packet = Packet(bench.payload)
            header = instance.emit()
            try:
                short = bench.compress(instance, bench.args)
            except Rejected:
                return                          # no row says this header: the packet is dropped, with a reason
            assert expands_to(bench, sought, short, instance), f"{header.hex()} is compressed to {short.hex()}, which expands to another header"

        holds()

    def from_encodings() -> None:
        @limited(2 * examples)
        @given(st.data())
        def holds(data: Any) -> None:
            bench = drawn_bench(data.draw, program, codec, wanted)
            encoding = compressed(data.draw, codec, {}, wanted).data + bench.payload
            try:
                instance, args, bench.payload = bench.expand(encoding)
            except Rejected:
                return
            for other in instance.args:
                fill(data.draw, other, {}, wanted)
            assume(sound(instance))
            note(f"expanded: {instance.emit().hex()}, payload {bench.payload.hex()}")
            try:
                short = bench.compress(instance, args)
            except Rejected as rejected:
                raise AssertionError(f"{encoding.hex()} is expanded, and what it says cannot be compressed: {rejected.reason}") from None
            assert expands_to(bench, sought, short, instance), f"{encoding.hex()} is compressed to {short.hex()}, which expands to another header"

        holds()

    yield Law(codec.name, "expands what it compressed", from_headers)
    yield Law(codec.name, "compresses what it expanded", from_encodings)


def _no_parser(codec: ast.Codec) -> ast.Parser:
    return ast.Parser(codec.span, "none", [], [], [])


def drawn_bench(draw: Draw, program: ast.Program, codec: ast.Codec, wanted: Interest) -> Bench:
    """Arguments and registers drawn."""
    state = State(program).load(control.from_json(draw(given_tables(program, wanted, True)), program))
    args = [argument(draw, param.type, tuple(wanted.get(param, ()))) for param in codec.params]
    return Bench(program, codec, state, args, draw(payloads))


def argument(draw: Draw, type_: Type | None, wanted: tuple[int, ...] = ()) -> object:
    if isinstance(type_, StructType):
        made = zero(type_)
        assert isinstance(made, Struct)
        for each in type_.decl.fields:
            made.fields[each.name] = argument(draw, each.type)
        return made
    if isinstance(type_, Bool):
        return draw(st.booleans())
    if isinstance(type_, EnumType):
        return draw(one_of(tuple(member.number for member in type_.decl.members)))
    if not isinstance(type_, Bits):
        raise NotSupported(f"no argument of type {type_} can be drawn")
    return draw(likely(width_of(type_), wanted))


def sound(instance: Instance) -> bool:
    """Whether an expanded header satisfies its own description."""
    try:
        instance.check({item: 8 * len(instance.received(item)) for item in instance.header.fields()     # type: ignore[arg-type]
                        if isinstance(instance.received(item), bytes)})
    except Rejected:
        return False
    return True


def expands_to(bench: Bench, sought: Subject, short: bytes, wanted: Instance) -> bool:
    """Whether an encoding means the header. Where a field follows from what comes behind, something comes that says it; a
    value that nothing can say is not compared."""
    behind, unsaid = [bench.payload], set()
    for item in sought.looking(bench.codec):
        decl = getattr(item.target, "decl", None)
        if isinstance(decl, ast.Field):
            octets = sought.followers(item, int(wanted.read(decl)))         # type: ignore[call-overload]
            behind += [bytes([octet]) + bench.payload[1:] for octet in octets[:1]]
            if not octets:
                unsaid.add(decl)
                behind.append(b"\0" + bench.payload)
    for payload in behind:
        try:
            found, _, rest = bench.expand(short + payload, wanted)
        except Rejected:
            continue
        if rest == payload and same(found, wanted, unsaid):
            return True
    return False


def same(found: Instance, wanted: Instance, unsaid: set[ast.Field]) -> bool:
    """Field by field, as read; equations about the payload are given by it."""
    for item in wanted.header.fields():
        if wanted.present(item) != found.present(item):
            return False
        if item.name != "_" and item not in unsaid and wanted.present(item) and item.equation is None and found.read(item) != wanted.read(item):
            return False
    return True

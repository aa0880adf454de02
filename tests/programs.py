"""Programs for tests: files of the project, or a few lines of text."""
from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.source import Source

ROOT = Path(__file__).resolve().parents[1]


@lru_cache
def example(name: str) -> ast.Program:
    """A checked program of `examples/`, by its path without `.lpn`."""
    return check(load(ROOT / "examples" / f"{name}.lpn"))


@lru_cache
def program(text: str) -> ast.Program:
    return check(load(Source("test.lpn", text)))


def chain(headers: str, states: str, emits: str = "", types: str = "", processor: str = "", imports: str = "") -> str:
    """The text of a program: parser Rx with `states`, processor P if there is one, deparser Tx if `emits` is given."""
    modules = ["Rx"] + ["P"] * bool(processor) + ["Tx"] * bool(emits)
    return "\n".join([
        *(f"import std.{each};" for each in imports.split()), types, f"struct headers {{ {headers} }}",
        f"parser Rx(packet pkt, out headers h) {{ {states} }}",
        f"processor P(inout headers h, inout meta m) {{ {processor} }}" if processor else "",
        f"deparser Tx(packet pkt, in headers h) {{ {emits} }}" if emits else "",
        f"protocol Test version 1 {{ on radio.rx_done : {' -> '.join(modules)}; }}"])


def lossless(headers: dict[str, str], imports: str = "", types: str = "") -> str:
    """A program that takes headers (by name, their type) one after the other and puts them back."""
    return chain("; ".join(f"{type_} {name}" for name, type_ in headers.items()) + ";",
                 "state start { " + " ".join(f"pkt.extract(h.{name});" for name in headers) + " transition accept; }",
                 " ".join(f"pkt.emit(h.{name});" for name in headers), types, imports=imports)


def declared_in(program: ast.Program, name: str) -> ast.Node:
    """The register or counter of this name, of the program or of one of its modules."""
    inner = [local for decl in program.decls for local in (*getattr(decl, "locals", []), *getattr(decl, "items", []))]
    return next(decl for decl in (*program.decls, *inner) if getattr(decl, "name", None) == name)

"""From a file name to a program: reads the source and everything it imports, each once, in dependency order."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from difflib import get_close_matches
from pathlib import Path

from . import ast
from .build import parse
from .diagnostics import Diagnostic, DiagnosticError, Diagnostics
from .files import octets
from .library import modules
from .source import Source, Span

STD = "std"                                     # `import std.udp;` is stdlib/udp.lpn


class Unreadable(DiagnosticError):
    """The file itself cannot be read; nothing is known about the program. `path`: as it was given."""

    def __init__(self, why: str, path: str) -> None:
        super().__init__([Diagnostic("error", why, None)])
        self.path = path


#: Files beside a program that are no programs: what they are, and who takes them.
NO_PROGRAM = {".test": ("what a program does with packets", "lpnc test {}"), ".events": ("what happens to a node", "lpnc run X.lpn --events {}")}


def load(main: str | Path | Source, search: Iterable[str | Path] = (), texts: Mapping[str, str] | None = None,
         asked: set[str] | None = None, mended: bool = False) -> ast.Program:
    """The program of a `.lpn` file (or of a Source, say of standard input).

    `import a.b;` is `a/b.lpn` beside the importing file, else in a folder of `search`. texts: by resolved path, what is read
    instead of an imported file (an editor's unsaved text). asked: takes in the resolved paths of all files that imports may be,
    those that are not there, too. mended: what is wrong with the syntax of a file is left out. Else raises DiagnosticError with
    everything that is wrong with it; Unreadable if `main` cannot be read.
    """
    source = main if isinstance(main, Source) else read_program(Path(main), str(main))
    loader = Loader([Path(folder) for folder in search], texts or {}, set() if asked is None else asked, mended)
    imports = loader.add(source, str(source.path.resolve()) if source.path else source.name)
    if not mended:
        loader.diagnostics.raise_errors()
    whole = Span(source, 1, 1, len(source.lines), len(source.lines[-1]) + 1)
    own = [decl for decl in loader.decls if decl.span.source is source]
    return ast.Program(whole, imports, loader.decls, loader.sources, own)


def read_program(path: Path, name: str) -> Source:
    """The source of a program; raises Unreadable."""
    refuse_others(path, name)
    return read_file(path, name)


def refuse_others(path: Path, name: str) -> None:
    """Raises Unreadable for a file that is no program but stands beside one."""
    if path.suffix in NO_PROGRAM:
        what, command = NO_PROGRAM[path.suffix]
        raise Unreadable(f"{name} is no program, it says {what}: {command.format(name)}", name)


def read_file(path: Path, name: str) -> Source:
    """The source of a file; raises Unreadable."""
    try:
        return Source(name, decode(octets(path)), path)
    except OSError as e:
        raise Unreadable(f"cannot read {name}: {e.strerror or e}", name) from None
    except UnicodeDecodeError as e:
        raise Unreadable(f"cannot read {name}: it is not UTF-8 text (byte {e.start})", name) from None


def decode(data: bytes) -> str:
    """UTF-8, with or without byte order mark."""
    return data.decode("utf-8-sig")


class Loader:
    def __init__(self, search: list[Path], texts: Mapping[str, str], asked: set[str], mended: bool):
        self.search, self.texts, self.asked, self.mended = search, texts, asked, mended
        self.diagnostics = Diagnostics()
        self.decls: list = []
        self.sources: list[Source] = []
        self.done: dict[str, ast.Imported | None] = {}        # None: it cannot be read
        self.open: list[tuple[str, str]] = []               # files being read: (key, name shown)

    def add(self, source: Source, key: str) -> list[ast.Import]:
        """Appends the source's declarations behind those of its imports."""
        self.open.append((key, source.name))
        imports, decls = parse(source, self.diagnostics, self.mended)
        for one in imports:
            self.follow(one, source)
        self.open.pop()
        self.done[key] = ast.Imported(imports, decls)
        self.sources.append(source)
        self.decls += decls
        return imports

    def follow(self, one: ast.Import, importer: Source) -> None:
        found = self.find(one, importer)
        if found is None:
            return
        key, name, path = found
        keys = [k for k, _ in self.open]
        if key in keys:
            circle = [shown for _, shown in self.open[keys.index(key):]] + [name]
            self.diagnostics.error("these files import each other in a circle", one.span,
                                   "move what both need to a third file",
                                   notes=[(" -> ".join(circle), None)])
        elif key not in self.done:
            if len(self.open) > 50:
                self.diagnostics.error("imports are nested too deeply", one.span)
                return
            try:
                text = self.texts[key] if key in self.texts else decode(octets(path))
                self.add(Source(name, text, Path(key)), key)
            except (OSError, UnicodeDecodeError) as e:
                why = f"it is not UTF-8 text (byte {e.start})" if isinstance(e, UnicodeDecodeError) else e.strerror or e
                self.diagnostics.error(f"cannot read {name}: {why}", one.span)
                self.done[key] = None
        one.module = self.done.get(key)

    def find(self, one: ast.Import, importer: Source) -> tuple[str, str, Traversable] | None:
        """(key that names the file, name shown, readable path)."""
        dotted = ".".join(one.path)
        if one.path[0] == STD:
            found, rest = modules(), ".".join(one.path[1:])
            if rest in found:
                return str(found[rest]), f"{STD}/{rest}.lpn", found[rest]
            close = get_close_matches(rest, found, 1)
            hint = f"did you mean {STD}.{close[0]}?" if close else f"there are {', '.join(f'{STD}.{n}' for n in found)}"
            self.diagnostics.error(f"there is no module {dotted}", one.span, hint)
            return None
        here, shown = (importer.path.parent, Path(importer.name).parent) if importer.path else (Path(), Path())
        relative = Path(*one.path).with_suffix(".lpn")
        for folder, called in [(here, shown), *((folder, folder) for folder in self.search)]:
            path = folder / relative
            key = str(path.resolve())
            self.asked.add(key)
            if key in self.texts or path.is_file():
                return key, str(called / relative), path
        if one.path[-1] == "lpn" and len(one.path) > 1:
            self.diagnostics.error(f"there is no module {dotted}", one.span, f"an import names no ending: import {dotted.removesuffix('.lpn')};")
            return None
        known = dotted in modules()
        self.diagnostics.error(f"there is no module {dotted}", one.span, f"did you mean {STD}.{dotted}?" if known else f"{shown / relative} does not exist")
        return None

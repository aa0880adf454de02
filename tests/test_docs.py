"""The documentation is true: its commands run, its outputs are what they print, its tables are the code's tables.

A fenced block says after its language what it is:

    ```sh run               is run from the project's folder; `exit=N`: with this status
    ```text output          is what the command before it prints (or that of a comment `<!-- run: ... -->`)
    ```text output shape    the same, numbers left aside
    ```text sample          is not compared; refreshed like the others
    ```lpn                  is a program without errors
    ```lpn excerpt=FILE     its lines stand in that file, in this order; any language
    ```lpn file=PATH        is written there first; any language
    ```lpn sketch           is not a whole program

A line `...` of an output stands for any lines. `python tests/test_docs.py` writes what the commands print now into the pages.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.source import Source

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")])
# Pages that follow their own conventions; only their links are looked at.
OTHERS = {"language.md", "benchmarks.md"}
OWN = [page for page in PAGES if page.name not in OTHERS]
TIMEOUT = 300                                   # seconds, of one command
PARTS = {"output", "shape", "sample", "run", "sketch"}


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


# ---------------------------------------------------------------- blocks

@dataclass
class Block:
    """A fenced block. `first`: the index of its first line in the page; `command`: that of a comment before it."""

    language: str
    words: set[str]
    options: dict[str, str]
    first: int
    lines: list[str] = field(default_factory=list)
    command: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    block: Block | None = None
    command: str | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines()):
        if line.startswith("```"):
            if block is None:
                language, *words = line[3:].split() or [""]
                block = Block(language, {w for w in words if "=" not in w}, dict(w.split("=", 1) for w in words if "=" in w),
                              number + 1, command=command)
                command = None
            else:
                found.append(block)
                block = None
        elif block is not None:
            block.lines.append(line)
        elif match := re.fullmatch(r"<!-- run: (.*) -->", line):
            command = match[1]
    assert block is None, f"{named(page)}: a block is not closed"
    return found


def environment() -> dict[str, str]:
    """The tools of this Python first; no colours, the width of a page."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}


def execute(command: str) -> tuple[int, str]:
    done = subprocess.run(["sh", "-ec", command], cwd=ROOT, env=environment(), timeout=TIMEOUT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def perform(page: Path):
    """Writes the page's files and runs its commands, in order. Yields (output block, what was printed)."""
    printed: str | None = None
    for block in blocks(page):
        assert block.words <= PARTS, f"{named(page)}:{block.first}: unknown word in {block.words}"
        if "file" in block.options:
            target = ROOT / block.options["file"]
            assert target.is_relative_to(ROOT / "build"), "documentation writes in build/ only"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.language == "sh" and "run" in block.words:
            status, printed = execute(block.text)
            expected = int(block.options.get("exit", 0))
            assert status == expected, f"{named(page)}:{block.first}: exit status {status}, not {expected}\n{printed}"
        elif block.words & {"output", "sample"}:
            if block.command is not None:
                status, printed = execute(block.command)
                assert status == 0, f"{named(page)}:{block.first}: {block.command}: exit status {status}\n{printed}"
            assert printed is not None, f"{named(page)}:{block.first}: an output without a command"
            yield block, printed


# ---------------------------------------------------------------- comparing

def shape(line: str) -> str:
    """The line without its numbers: what changes when the compiler gets better. Columns move with them."""
    return re.sub(r"\s+", " ", re.sub(r"(?<![\w.])\d[\d,.]*(?!\w)", "#", line)).strip()


def compared(lines: list[str], block: Block) -> list[str]:
    stripped = "\n".join(line.rstrip() for line in lines).rstrip("\n").split("\n")
    return [line if line == "..." else shape(line) for line in stripped] if "shape" in block.words else stripped


def agrees(written: list[str], printed: list[str]) -> bool:
    """Whether the page's lines are the printed ones; `...` is any number of lines."""
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in written)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def refreshed(block: Block, printed: list[str]) -> list[str]:
    """The block's lines as they should be: before the first `...` from the beginning, after the last one from the end;
    between two, the lines that look like those written."""
    if "..." not in block.lines:
        return printed
    parts: list[list[str]] = [[]]
    for line in block.lines:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    out = printed[:len(parts[0])]
    for part in parts[1:-1]:
        shapes = [shape(line) for line in printed]
        at = next((i for i in range(len(printed)) if shapes[i:i + len(part)] == [shape(line) for line in part]), None)
        out += ["...", *(part if at is None else printed[at:at + len(part)])]
    return [*out, "...", *(printed[-len(parts[-1]):] if parts[-1] else [])]


# ---------------------------------------------------------------- tests

@pytest.mark.parametrize("page", OWN, ids=named)
def test_commands_run_and_print_what_the_page_says(page):
    for block, printed in perform(page):
        if "output" in block.words and not agrees(compared(block.lines, block), compared(printed.split("\n"), block)):
            pytest.fail(f"{named(page)}:{block.first}: this is printed now:\n{printed}", pytrace=False)


@pytest.mark.parametrize("page", OWN, ids=named)
def test_programs_have_no_errors(page):
    for block in blocks(page):
        where = f"{named(page)}:{block.first}"
        if block.language == "json":
            json.loads(block.text)
        elif "excerpt" in block.options:
            rest = iter((ROOT / block.options["excerpt"]).read_text(encoding="utf-8").splitlines())
            for line in filter(str.strip, block.lines):
                if line.strip() != "...":
                    assert any(line.strip() == other.strip() for other in rest), f"{where}: not there: {line}"
        elif block.language == "lpn" and "sketch" not in block.words:
            check(load(Source(where, block.text)))


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    inside, found = False, set()
    for line in page.read_text(encoding="utf-8").splitlines():
        inside ^= line.startswith("```")
        if not inside and line.startswith("#"):
            words = re.sub(r"[^\w\s-]", "", line.lstrip("#").strip().lower().replace("`", ""))
            found.add(words.replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{named(page)}: {target} is not there"
        if anchor and there.suffix == ".md":
            assert anchor in headings(there), f"{named(page)}: {target}: no such heading"


def rows(page: str, head: str) -> list[list[str]]:
    """The cells of the table whose first heading is `head`; code marks are taken off."""
    lines = iter((ROOT / "docs" / page).read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line.startswith(f"| {head} |"):
            next(lines)
            break
    else:
        raise AssertionError(f"docs/{page} has no table '{head}'")
    out = []
    for line in lines:
        if not line.startswith("|"):
            return out
        out.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return out


#: Rules that are not the bytecode's alone.
BY_OTHERS = {12: "image", 36: "time", 37: "yes, by the engine's checker"}


def test_the_rules_are_the_verifiers():
    from lpn.verifier.rules import RULES
    tested = {int(path.name[:2]) for path in (ROOT / "tests/verifier/rules").glob("*.txt")}
    assert rows("verifier.md", "rule") == [
        [str(rule.number), rule.name, rule.text, "yes" if rule.number in tested else BY_OTHERS[rule.number]]
        for rule in RULES.values()]


def test_the_slots_of_the_context():
    from lpn.compiler import target
    from lpn.verifier.descriptors import LPN, MAX_PACKET, OUT_SIZE, WINDOW
    written = [(int(offset), int(width), name, word) for offset, width, name, word, _ in rows("context.md", "offset")]
    assert written == [(f.offset, f.width, f.name, "yes" if f.writable else "no") for f in LPN.fields]
    offsets = {name: offset for offset, _, name, _ in written}
    assert (offsets["pkt"], offsets["pkt_end"], offsets["rec"], offsets["state"], offsets["out"]) == (
        target.CTX_PKT, target.CTX_PKT_END, target.CTX_REC, target.CTX_STATE, target.CTX_OUT)
    assert (offsets["out_len"], offsets["payload"], offsets["port"]) == (target.CTX_OUT_LEN, target.CTX_PAYLOAD, target.CTX_PORT)
    for name, (offset, _) in target.META_SLOTS.items():
        assert offsets[name] == offset
    for name, (offset, _) in target.NODE_SLOTS.items():
        assert offsets["clock" if name == "clock" else "node_ext_low" if name == "ext" else f"node_{name}"] == offset
    text = (ROOT / "docs/context.md").read_text(encoding="utf-8")
    for size in (target.CTX_SIZE, WINDOW, OUT_SIZE, MAX_PACKET):
        assert re.search(rf"\b{size}\b", text), size


def test_the_verdicts_and_reasons():
    from lpn.compiler.target import VERDICTS
    from lpn.lang.builtins import REASONS
    from lpn.runtime.engines import REASON_ENGINE
    assert {name: int(number) for number, name, *_ in rows("context.md", "number")} == VERDICTS
    written = rows("context.md", "reason")
    assert [(int(number), name) for number, name, _ in written] == list(enumerate(REASONS, 1))
    assert f"`{REASON_ENGINE:#06x}`" in (ROOT / "docs/context.md").read_text(encoding="utf-8")


def test_the_helpers():
    from lpn.compiler.helpers import HELPERS
    assert [(int(row[0]), row[1], row[3]) for row in rows("context.md", "id")] == [
        (h.number, h.name, ", ".join(h.contexts)) for h in HELPERS]


def test_the_header_of_an_image():
    from lpn.compiler import image
    assert [(int(at), int(width)) for at, width, _ in rows("image.md", "byte")] == fields_of(image._HEADER.format)
    assert [(int(number), name) for number, name, *_ in rows("image.md", "kind")] == [(k.value, k.name.lower()) for k in image.Kind]
    assert [(int(bit), name) for bit, name, *_ in rows("image.md", "flag")] == [(f.value, f.name) for f in image.Flag]


def fields_of(form: str) -> list[tuple[int, int]]:
    """(offset, width) of each field of a struct format such as `<4sHHI`."""
    out, at = [], 0
    for code in re.findall(r"4s|[BHIQ]", form):
        width = {"4s": 4, "B": 1, "H": 2, "I": 4, "Q": 8}[code]
        out.append((at, width))
        at += width
    return out


def test_what_a_bundle_says():
    from lpn.compiler.bundle import Bundle, _content
    from lpn.compiler.image import Image, Kind
    module = Image("m", Kind.PROCESSOR, bytes(8))
    keys = [*_content(Bundle("p", 1, (module,))), "crc32"]
    assert [row[0] for row in rows("image.md", "key")] == keys


def test_the_engines():
    from lpn.compiler.runner import ENGINES
    assert [row[0] for row in rows("engines.md", "engine")] == list(ENGINES)


# ---------------------------------------------------------------- writing

def refresh(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    for block, printed in reversed(list(perform(page))):
        new = refreshed(block, [line.rstrip() for line in printed.rstrip("\n").split("\n")])
        lines[block.first:block.first + len(block.lines)] = new
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or OWN
    for one in chosen:
        refresh(one)
        print(named(one))

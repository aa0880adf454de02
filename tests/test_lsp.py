"""The language server, as an editor meets it: a process, spoken to over standard input and output by pygls' own client."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import TAG, lpnc
from lpn.lang import builtins
from lpn.lang.check.buffers import METHODS
from lpn.lang.format import format_source
from lpn.lang.source import Source

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'lpn[lsp]'")

from lsprotocol import types as lsp             # noqa: E402
from pygls.exceptions import JsonRpcException   # noqa: E402
from pygls.lsp.client import LanguageClient     # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
UDP = ROOT / "examples/udp/udp.lpn"
PATIENCE = 20


class Editor:
    """A client with one open document and the diagnostics that came for each."""

    def __init__(self, client: LanguageClient) -> None:
        self.client, self.versions, self.seen = client, {}, {}
        self.published: dict[str, list[list[lsp.Diagnostic]]] = {}
        self.fresh = asyncio.Event()

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.setdefault(params.uri, []).append(list(params.diagnostics))
            self.fresh.set()

    async def open(self, path: Path, text: str) -> tuple[str, list[lsp.Diagnostic]]:
        uri = path.as_uri()
        self.versions[uri] = 1
        self.look_away(uri)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "lpn", 1, text)))
        return uri, await self.told(uri)

    def change(self, uri: str, text: str, where: lsp.Range | None = None) -> None:
        self.versions[uri] += 1
        self.look_away(uri)
        change = lsp.TextDocumentContentChangePartial(where, text) if where else lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri), [change]))

    def look_away(self, uri: str) -> None:
        """What was told so far does not count."""
        self.seen[uri] = len(self.published.get(uri, []))

    async def told(self, uri: str) -> list[lsp.Diagnostic]:
        """The next diagnostics of a document."""
        async def wait() -> None:
            while len(self.published.get(uri, [])) <= self.seen[uri]:
                self.fresh.clear()
                await self.fresh.wait()
        await asyncio.wait_for(wait(), PATIENCE)
        return self.published[uri][-1]


class Session:
    """One server for the tests of this file."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("test", "1")
        self.editor = Editor(self.client)
        self.run(self.start())

    def run(self, work: Awaitable[None]) -> None:
        self.loop.run_until_complete(work)

    def __call__(self, work: Callable[[Editor], Awaitable[None]]) -> None:
        self.run(work(self.editor))

    async def start(self) -> None:
        env = {key: value for key, value in os.environ.items() if key != "LPN_DEBUG"}
        await self.client.start_io(sys.executable, "-m", "lpn.compiler.cli", "lsp", "--stdio", env=env)
        answer = await asyncio.wait_for(self.client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities())), PATIENCE)
        assert answer.server_info is not None and answer.server_info.name == "lpn"
        self.client.initialized(lsp.InitializedParams())

    async def stop(self) -> None:
        process = self.client._server
        assert process is not None
        try:
            await asyncio.wait_for(self.client.shutdown_async(None), PATIENCE)
            self.client.exit(None)
            assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        finally:
            if process.returncode is None:
                process.kill()
            await asyncio.wait_for(self.client.stop(), PATIENCE)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    opened = Session()
    yield opened
    opened.run(opened.stop())
    opened.loop.close()


def at(text: str, marked: str, name: str = "") -> lsp.Position:
    """Where `name` (else the end of `marked`) is in the first place that reads `marked`."""
    start = text.index(marked)
    start += marked.index(name) if name else len(marked)
    line = text.count("\n", 0, start)
    before = text[text.rfind("\n", 0, start) + 1:start]
    return lsp.Position(line, len(before.encode("utf-16-le")) // 2)


def cut(text: str, where: lsp.Range) -> str:
    line = text.split("\n")[where.start.line]
    assert where.start.line == where.end.line
    return line[where.start.character:where.end.character]


def here(uri: str, text: str, marked: str, name: str = "") -> dict[str, Any]:
    return {"text_document": lsp.TextDocumentIdentifier(uri), "position": at(text, marked, name)}


# ---------------------------------------------------------------- diagnostics

def test_diagnostics_come_and_go(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        uri, found = await editor.open(tmp_path / "tag.lpn", TAG)
        assert found == []
        bad = TAG.replace("h.tag.kind == 1", "h.tag.kind == true").replace("bit<16>>[2] base;", "bit<16>>[2] base; bit<8> base;")
        editor.change(uri, bad)
        found = await editor.told(uri)
        assert len(found) == 2 and all(one.severity == lsp.DiagnosticSeverity.Error and one.source == "lpn" for one in found)
        assert cut(bad, found[0].range) == "h.tag.kind == true"
        twice = found[1]
        assert twice.message == "'base' is declared twice" and twice.related_information is not None
        said = [(one.message, cut(bad, one.location.range)) for one in twice.related_information]
        assert said[0] == ("the first one is here", "register<bit<16>>[2] base;")
        assert said[1][0] == "help: rename one of the two"
        start = at(bad, "== true", "true")
        editor.change(uri, "1", lsp.Range(start, lsp.Position(start.line, start.character + 4)))
        found = await editor.told(uri)
        assert [one.message for one in found] == ["'base' is declared twice"]
        editor.change(uri, TAG[:55])
        found = await editor.told(uri)
        assert "is never closed" in found[0].message
        editor.look_away(uri)
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert await editor.told(uri) == []
    session(work)


def test_changes_in_a_row_are_analysed_once(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        uri, _ = await editor.open(tmp_path / "tag.lpn", TAG)
        for number in range(20):
            editor.change(uri, TAG.replace("h.tag.kind == 1", f"h.tag.kind == {300 + number}"))
        found = await editor.told(uri)
        assert "319" in found[0].message
        assert len(editor.published[uri]) == 2
    session(work)


def test_mistakes_of_an_imported_file(session: Session, tmp_path: Path) -> None:
    """They are told at the import, with the place; an unsaved text counts, and its importers hear of changes."""
    async def work(editor: Editor) -> None:
        part = tmp_path / "part.lpn"
        part.write_text("const bit<8> ONE = 1;\n")
        text = "import std.udp;\nimport part;\nconst bit<8> TWO = ONE + 1;\n"
        uri, found = await editor.open(tmp_path / "main.lpn", text)
        assert found == []
        other, found = await editor.open(part, "const bit<8> ONE = 256;\n")
        assert "256 does not fit" in found[0].message
        editor.change(uri, text + "\n")
        found = await editor.told(uri)
        assert found[0].message.endswith("256 does not fit bit<8>") and cut(text, found[0].range) == "import part;"
        assert found[0].related_information is not None and found[0].related_information[0].location.uri == other
        editor.change(other, "const bit<8> ONE = 1;\n")
        await editor.told(other)
        await asyncio.sleep(0.3)
        assert editor.published[uri][-1] == []
    session(work)


def test_importers_hear_of_what_becomes_of_a_file(session: Session, tmp_path: Path) -> None:
    """It is missing, opened, wrong, mended, closed without being saved, and written by others."""
    async def work(editor: Editor) -> None:
        client, part, main = editor.client, tmp_path / "part.lpn", "import part;\nconst bit<8> TWO = ONE + 1;\n"

        async def said(do: Callable[[], object]) -> list[str]:
            editor.look_away(uri)
            do()
            return [one.message for one in await editor.told(uri)]
        uri, found = await editor.open(tmp_path / "main.lpn", main)
        assert [one.message for one in found] == ["there is no module part"]
        editor.look_away(uri)
        other, found = await editor.open(part, "const bit<8> ONE = 1;\n")
        assert found == [] and await editor.told(uri) == []
        assert await said(lambda: editor.change(other, "const bit<8> ONE = ;\n")) == ["part.lpn: expected a name or a value before ';'"]
        assert await said(lambda: editor.change(uri, main + "\n")) == ["part.lpn: expected a name or a value before ';'"]
        assert await said(lambda: editor.change(other, "const bit<8> ONE = 1;\n")) == []
        assert await said(lambda: editor.change(other, "const bit<8> ON = 1;\n")) == ["there is no name 'ONE'"]
        part.write_text("const bit<8> ONE = 1;\n")
        assert await said(lambda: client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(other)))) == []
        part.write_text("const bit<8> ON = 1;\n")
        changed = lsp.DidChangeWatchedFilesParams([lsp.FileEvent(other, lsp.FileChangeType.Changed)])
        assert await said(lambda: client.workspace_did_change_watched_files(changed)) == ["there is no name 'ONE'"]
        part.write_text("const bit<8> ONE = 1;\n")
        assert await said(lambda: client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))) == []
        part.unlink()
        assert await said(lambda: client.workspace_did_change_watched_files(changed)) == ["there is no module part"]
    session(work)


def test_asks_to_be_told_of_files_where_an_editor_can() -> None:
    client, asked = LanguageClient("test", "1"), asyncio.Event()
    can = lsp.WorkspaceClientCapabilities(did_change_watched_files=lsp.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True))

    @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(params: lsp.RegistrationParams) -> None:
        assert [one.method for one in params.registrations] == [lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES]
        asked.set()

    async def work() -> None:
        await client.start_io(sys.executable, "-m", "lpn.compiler.cli", "lsp")
        await asyncio.wait_for(client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(workspace=can))), PATIENCE)
        client.initialized(lsp.InitializedParams())
        await asyncio.wait_for(asked.wait(), PATIENCE)
        await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
        client.exit(None)
        await asyncio.wait_for(client.stop(), PATIENCE)
    asyncio.run(work())


# ---------------------------------------------------------------- names

def test_definition_hover_and_references(session: Session) -> None:
    text = UDP.read_text()

    async def work(editor: Editor) -> None:
        client = editor.client
        uri, found = await editor.open(UDP, text)
        assert found == []

        async def defined(marked: str, name: str) -> tuple[str, int] | None:
            place = await client.text_document_definition_async(lsp.DefinitionParams(**here(uri, text, marked, name)))
            return (Path(place.uri).name, place.range.start.line) if place else None

        def line(path: str, marked: str) -> tuple[str, int]:
            return Path(path).name, (ROOT / path).read_text().split(marked)[0].count("\n")
        assert await defined("verify(h.mac.frame_type", "frame_type") == line("stdlib/ieee802154.lpn", "FrameType frame_type in")
        assert await defined("Iphc(mac_link(h.mac), nhc));", "mac_link") == line("stdlib/sixlowpan.lpn", "function Link mac_link")
        assert await defined("via Iphc(", "Iphc") == line("stdlib/sixlowpan.lpn", "codec Iphc(")
        assert await defined("(1, UDP): udp_nhc;", "udp_nhc") == line("examples/udp/udp.lpn", "    state udp_nhc")
        assert await defined("Rx -> Checksum", "Checksum") == line("examples/udp/udp.lpn", "processor Checksum")
        assert await defined("struct headers { Mhr", "Mhr") == line("stdlib/ieee802154.lpn", "header Mhr")
        assert await defined("error.BadChecksum", "BadChecksum") == line("examples/udp/udp.lpn", "error { NotUdp")
        assert await defined("echoed.count()", "echoed") == line("examples/udp/udp.lpn", "    counter<bit<32>> echoed")
        assert await defined("import std.ipv6", "ipv6") == ("ipv6.lpn", 0)
        assert await defined("processor Serve", "processor") is None

        async def shown(marked: str, name: str) -> str:
            answer = await client.text_document_hover_async(lsp.HoverParams(**here(uri, text, marked, name)))
            assert answer is not None and isinstance(answer.contents, lsp.MarkupContent)
            return answer.contents.value
        said = await shown("h.ip.hop_limit = 64", "hop_limit")
        assert "field of header `Ipv6`: `bit<8>`, 8 bits" in said and "at byte 7" in said
        said = await shown("if (h.udp.dst == ECHO)", "dst")
        assert "at bytes 2 to 3" in said
        said = await shown("h.mac.security == 0", "security")
        assert "bit 3 of the little-endian 16-bit word at bytes 0 to 1" in said
        assert "constant of type `bit<16>` = 7 (0x7)" in await shown("== ECHO)", "ECHO")
        assert "second representation of header `Ipv6`" in await shown("via Iphc(", "Iphc")
        assert "what becomes of the packet, of type `bit<8>`" in await shown("m.verdict = DROP", "verdict")
        assert "deferred equations" in await shown("h.udp.holds()", "holds")
        said = await shown("echoed.count()", "echoed")
        assert "counter, one cell of type `bit<32>` of processor `Serve`" in said

        params = lsp.ReferenceParams(**here(uri, text, "counter<bit<32>> echoed", "echoed"), context=lsp.ReferenceContext(True))
        places = await client.text_document_references_async(params)
        assert places is not None and [cut(text, one.range) for one in places] == ["echoed", "echoed"]
    session(work)


def test_what_a_call_takes_and_where_else_a_name_stands(session: Session) -> None:
    text = UDP.read_text()

    async def work(editor: Editor) -> None:
        uri, _ = await editor.open(UDP, text)
        asked = "        if (h.udp.dst == ECHO"

        async def taken(written: str) -> tuple[str, str] | None:
            """The signature at the end of `written`, and the parameter that is being written."""
            new = text.replace(asked, f"{written}\n{asked}", 1) if "\n" not in written else text.replace(asked, written + asked, 1)
            editor.change(uri, new)
            place = at(new, written)
            found = await editor.client.text_document_signature_help_async(lsp.SignatureHelpParams(lsp.TextDocumentIdentifier(uri), place))
            if found is None:
                return None
            assert found.active_parameter is not None and found.signatures[0].parameters is not None
            params = [str(one.label) for one in found.signatures[0].parameters]
            return found.signatures[0].label, params[found.active_parameter] if params else ""
        assert await taken("x = mac_link(") == ("Link mac_link(Mhr m)", "Mhr m")
        assert await taken("pkt.extract(h.ip via Iphc(a[1, 2], (b), ") == ("Iphc(Link l2, inout bit<1> nhc) <-> Ipv6", "inout bit<1> nhc")
        assert await taken("x = mac_link(f(a, b), ") == ("Link mac_link(Mhr m)", "Mhr m")
        assert await taken("verify(a == (b), ") == ("verify(condition, reason)", "reason")
        assert await taken("verify(a == (b),\n    // why, and (\n    ") == ("verify(condition, reason)", "reason")
        assert await taken("radio.channel(") == ("radio.channel(bit<8>)", "bit<8>")
        assert await taken("radio.send(Tx(h), 0, ") == ("radio.send(deparser(headers), offset, size)", "size")
        assert await taken("x = pkt.lookahead<bit<8>>(") == ("pkt.lookahead()", "")
        assert await taken("Serve.apply(") == ("Serve.apply(inout headers h, inout meta m)", "inout headers h")
        assert await taken("x = mac_link(a); (") is None
        assert await taken("x = nothing_like_it(") is None
        assert await taken("// mac_link(") is None
        editor.change(uri, text)
        marks = await editor.client.text_document_document_highlight_async(lsp.DocumentHighlightParams(**here(uri, text, "counter<bit<32>> echoed", "echoed")))
        assert marks is not None and [cut(text, one.range) for one in marks] == ["echoed", "echoed"]
        marks = await editor.client.text_document_document_highlight_async(lsp.DocumentHighlightParams(**here(uri, text, "processor Serve", "processor")))
        assert not marks
    session(work)


def test_what_a_hint_says_can_be_written(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        uri, _ = await editor.open(tmp_path / "tag.lpn", TAG)

        async def mended(new: str, marked: str) -> list[tuple[str, str]]:
            """The title and the text of each fix that is offered at a place."""
            editor.change(uri, new)
            place = at(new, marked, marked)
            offered = await editor.client.text_document_code_action_async(lsp.CodeActionParams(
                lsp.TextDocumentIdentifier(uri), lsp.Range(place, place), lsp.CodeActionContext([])))
            out = []
            for one in offered or []:
                assert isinstance(one, lsp.CodeAction) and one.edit is not None and one.edit.changes is not None and one.diagnostics
                edit, = one.edit.changes[uri]
                lines = new.split("\n")
                start, end = edit.range.start, edit.range.end
                assert start.line == end.line
                line = lines[start.line]
                lines[start.line] = line[:start.character] + edit.new_text + line[end.character:]
                out.append((one.title, "\n".join(lines)))
            return out
        wrong = TAG.replace("h.tag.port = base[1];", "h.tag.prot = base[1];")
        assert await mended(wrong, "prot") == [("write port", TAG)]
        assert await mended(wrong, "error {") == []
        wrong = TAG.replace("h.tag.port = base[1];", "h.tag.port = bsae[1];")
        assert await mended(wrong, "bsae") == [("write base", TAG)]
        wrong = TAG.replace("struct headers {", "struct headers { Mhr _mac;")
        (title, text), = await mended(wrong, "Mhr")
        assert title == "add import std.ieee802154;" and text == "import std.ieee802154;\n" + wrong
        editor.change(uri, text)
        await editor.told(uri)
        await asyncio.sleep(0.3)
        assert editor.published[uri][-1] == []
        (title, text), = await mended("// a comment\nimport std.ipv6;\n" + wrong, "Mhr")
        assert text == "// a comment\nimport std.ipv6;\nimport std.ieee802154;\n" + wrong
        assert await mended(TAG, "port") == []
    session(work)


def test_hover_in_the_library(session: Session) -> None:
    path = ROOT / "stdlib/sixlowpan.lpn"
    text = path.read_text()

    async def work(editor: Editor) -> None:
        uri, _ = await editor.open(path, text)

        async def shown(marked: str, name: str = "") -> str:
            answer = await editor.client.text_document_hover_async(lsp.HoverParams(**here(uri, text, marked, name)))
            return answer.contents.value if answer and isinstance(answer.contents, lsp.MarkupContent) else ""
        said = await shown("0, 2: src = LINK_LOCAL", "0, 2:")
        assert "row of codec `Iphc` where sac = 0, sam = 2" in said and "`inline:16`" in said
        assert "tag variable of codec `Iphc`, 2 bits, 4 rows" in await shown("tf:2,", "tf")
        assert "register, 16 cells of type `Context`" in await shown("[16] contexts", "contexts")
        said = await shown("deep_hops when", "deep_hops")
        assert "present when `(hops_left == 15)`" in said or "present when `hops_left == 15`" in said
        said = await shown("} destination;", "destination")
        assert "its width follows from `f`" in said and "plus what `deep_hops`, `originator` take" in said
        assert await shown("// RFC 4944 and", "RFC") == ""
    session(work)


def test_symbols(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        uri, _ = await editor.open(tmp_path / "tag.lpn", TAG)
        found = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(uri)))
        assert found is not None
        tree = {one.name: [child.name for child in one.children or []] for one in found if isinstance(one, lsp.DocumentSymbol)}
        assert tree == {"error": ["BadKind"], "Tag": ["kind", "port"], "headers": ["tag"], "Rx": ["start"], "Guard": [],
                        "Work": ["base"], "Tx": [], "TagProtocol": []}
        assert cut(TAG, next(one for one in found if one.name == "Work").selection_range) == "Work"
    session(work)


def test_completion(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        known = TAG.replace("struct headers", "struct Pair { bit<8> low; bit<8> high; }\nstruct headers", 1).replace(
            "register<bit<16>>[2] base;", "register<bit<16>>[2] base; counter<bit<16>> tagged; meter<bit<8>> rate(1 s, 2); action none() { } table choice_of { key = { h.tag.kind : exact; } actions = { none; } size = 2; }")
        uri, _ = await editor.open(tmp_path / "tag.lpn", known)

        async def offered(old: str, new: str) -> set[str]:
            """What is offered at the end of `new`, written in the place of `old`."""
            text = known.replace(old, new)
            editor.change(uri, text)
            params = lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), at(text, new))
            found = await editor.client.text_document_completion_async(params)
            assert isinstance(found, lsp.CompletionList)
            return {one.label for one in found.items}
        assert await offered("h.tag.port = base[1];", "h.tag.") == {"kind", "port", "isValid", "setValid", "setInvalid", "holds"}
        assert await offered("h.tag.port = base[1];", "h.") == {"tag"}
        assert {"verdict", "port", "lqi"} <= await offered("m.verdict = TRANSMIT;", "m.")
        assert {"BadKind", "PacketTooShort"} <= await offered("error.BadKind);", "error.")
        assert {"extract", "lookahead"} <= await offered("pkt.extract(h.tag);", "pkt.")
        assert await offered("m.verdict = TRANSMIT;", "node.") == set(builtins.NODE)
        assert {"on", "cca", "send"} <= await offered("m.verdict = TRANSMIT;", "radio.")
        assert {"start", "accept", "reject", "select"} == await offered("transition accept;", "transition ")
        found = await offered("h.tag.port = base[1];", "h.tag.port = ")
        assert {"base", "h", "m", "node", "Tag", "DROP", "sizeof"} <= found
        assert {"udp", "ipv6", "ieee802154"} <= await offered("error { BadKind }", "import std.")
        assert await offered("error { BadKind }", "// import std.") == set()
        found = await offered("h.tag.port = base[1];", "h . tag .")
        assert found == await offered("h.tag.port = base[1];", "h.tag.") != set()
        assert await offered("h.tag.port = base[1];", "h.tag.port = base[h . tag.") == found
        assert await offered("h.tag.port = base[1];", "/* h.") == await offered("h.tag.port = base[1];", "/* h.tag. */ // h.") == set()
        assert await offered("h.tag.port = base[1];", "/* h. */ h.") == {"tag"}
        assert await offered("h.tag.port = base[1];", "Pair one; one.") == {"low", "high"}
        assert await offered("h.tag.port = base[1];", "choice_of.") == {"apply"}
        assert await offered("h.tag.port = base[1];", "tagged.") == {"count", "reset"}
        assert await offered("h.tag.port = base[1];", "rate.") == {"execute", "reset"}
        assert await offered("h.tag.port = base[1];", "if (choice_of.apply().") == {"hit", "miss", "action_run"}
        assert await offered("h.tag.port = base[1];", "base.apply().") == await offered("h.tag.port = base[1];", "(h.tag).") == set()
    session(work)


BOUND = {"radio.rx_start", "radio.rx_done", "radio.tx_start", "radio.tx_done", "radio.ack_timeout", "net.rx", "net.tx", "app.tx", "Keep.partial.complete"}


def test_completion_of_events_and_what_is_said_of_the_radio(session: Session, tmp_path: Path) -> None:
    """Behind `on` stand events: behind `on radio.` no methods of the radio."""
    text = """header H { bit<8> a; } struct headers { H h; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor Keep(inout headers h, inout meta m) { buffer<64>[2] partial; apply { partial.hold(h.h.a); net.send(Tx(h)); m.verdict = CONSUMED; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
timing Beat {
    every 1 s within 5 ms { radio.on(); }
}
protocol P version 1 {
    on radio.rx_done : Rx -> Keep;
    timing : Beat;
}
"""

    async def work(editor: Editor) -> None:
        uri, found = await editor.open(tmp_path / "beat.lpn", text)
        assert found == []

        async def offered(behind: str, new: str) -> set[str]:
            changed = text.replace(behind, f"{behind}\n    {new}", 1)
            editor.change(uri, changed)
            found = await editor.client.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), at(changed, f"{behind}\n    {new}")))
            assert isinstance(found, lsp.CompletionList)
            return {one.label for one in found.items}
        handled = {name.removeprefix("radio.") for name in BOUND if name.startswith("radio.")}
        assert await offered("radio.on(); }", "on ") == {f"radio.{name}" for name in handled}
        assert await offered("radio.on(); }", "on radio.") == handled
        assert await offered("-> Keep;", "on ") == await offered("-> Keep;", "on ra") == BOUND
        assert await offered("-> Keep;", "on net.") == {"rx", "tx"}
        assert await offered("-> Keep;", "on Keep.partial.") == {"complete"}
        assert "cca" in await offered("radio.on();", "radio.")

        editor.change(uri, text)
        for marked, said in (("radio.on()", "turns the receiver on"), ("net.send(", "hands a packet to the network stack")):
            answer = await editor.client.text_document_hover_async(lsp.HoverParams(**here(uri, text, marked, marked.rstrip("()").partition(".")[2])))
            assert answer is not None and isinstance(answer.contents, lsp.MarkupContent) and said in answer.contents.value
    session(work)


def test_completion_of_imports(session: Session, tmp_path: Path) -> None:
    for name in ("part.lpn", "notes.txt", "two-words.lpn", "header.lpn", "radio/one.lpn", "radio/deep/two.lpn", "empty/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")

    async def work(editor: Editor) -> None:
        uri, _ = await editor.open(tmp_path / "main.lpn", TAG)
        for written, expected in (("import ", {"std", "part", "radio"}), ("import pa", {"std", "part", "radio"}), ("import radio.", {"one", "deep"}),
                                  ("import radio.deep.", {"two"}), ("import empty.", set()), ("import none.", set())):
            editor.change(uri, f"{written}\n{TAG}")
            found = await editor.client.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, len(written))))
            assert isinstance(found, lsp.CompletionList) and {one.label for one in found.items} == expected, written
    session(work)


def test_completion_of_enums_choices_and_stacks(session: Session) -> None:
    path = ROOT / "examples/decompress/decompress.lpn"
    text = path.read_text()

    async def work(editor: Editor) -> None:
        uri, _ = await editor.open(path, text)
        for new, expected in (("verify(FrameType.", {"DATA", "ACK"}), ("h.mac.dst.", {"short", "ext"}), ("h.ext.", {"next", "last", "push_front"}),
                              ("h.ext[1].", {"next_header", "data", "isValid"}), ("h.ext.last.", {"pad1", "length"}),
                              ("link.", {"has_src", "dst"}), ("h.", {"mac", "ip", "inner_udp"}), ("x = contexts[2].", {"prefix", "length"})):
            changed = text.replace("link = mac_link(h.mac);", new)
            editor.change(uri, changed)
            found = await editor.client.text_document_completion_async(
                lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), at(changed, "error.Secured);\n        " + new)))
            assert isinstance(found, lsp.CompletionList)
            labels = {one.label for one in found.items}
            assert expected <= labels and "parser" not in labels, new
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    session(work)


def test_completion_in_a_file_that_never_was_a_program(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        text = TAG.replace("h.tag.port = base[1];", "h.tag.")
        uri, found = await editor.open(tmp_path / "tag.lpn", text)
        assert found
        answer = await editor.client.text_document_completion_async(
            lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), at(text, "    h.tag.")))
        assert isinstance(answer, lsp.CompletionList) and {"kind", "port"} <= {one.label for one in answer.items}
        text = TAG.replace("struct headers { Tag tag; }", "struct headers { Tag tag }").replace("h.tag.port = base[1];", "bit<8> seen = 1; h.tag.port = se")
        uri, found = await editor.open(tmp_path / "wrong.lpn", text)        # in another place, too
        answer = await editor.client.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), at(text, "port = se")))
        assert len(found) > 1 and isinstance(answer, lsp.CompletionList) and {"seen", "base"} <= {one.label for one in answer.items}
    session(work)


# ---------------------------------------------------------------- edits

def test_formatting(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        messy = TAG.replace("    ", "\t")
        uri, _ = await editor.open(tmp_path / "tag.lpn", messy)
        params = lsp.DocumentFormattingParams(lsp.TextDocumentIdentifier(uri), lsp.FormattingOptions(4, True))
        edits = await editor.client.text_document_formatting_async(params)
        assert edits is not None and [edit.new_text for edit in edits] == [format_source(Source("tag.lpn", TAG))]
        assert edits[0].range.end.line == messy.count("\n")
        editor.change(uri, edits[0].new_text)
        assert await editor.client.text_document_formatting_async(params) == ()
        editor.change(uri, messy + "header")
        assert await editor.client.text_document_formatting_async(params) is None
    session(work)


def test_what_is_never_used_is_faded(session: Session, tmp_path: Path) -> None:
    text = "const bit<8> MOST = 1;\n" + TAG

    async def work(editor: Editor) -> None:
        _, found = await editor.open(tmp_path / "tag.lpn", text)
        [one] = found
        assert (one.message, one.severity, [*(one.tags or ())]) == ("constant 'MOST' is never used", lsp.DiagnosticSeverity.Warning, [lsp.DiagnosticTag.Unnecessary])
        assert cut(text, one.range) == "const bit<8> MOST = 1;"
    session(work)


def test_rename(session: Session, tmp_path: Path) -> None:
    text = 'const bit<64> _LAST = 1; // "\U0001f4e1"\n' + TAG.replace("tag.kind", "tag.sort").replace("kind", "sort")
    text = text.replace("apply { if", "apply { /* \U0001f4e1 */ if")

    async def work(editor: Editor) -> None:
        uri, found = await editor.open(tmp_path / "tag.lpn", text)
        assert found == []

        async def renamed(marked: str, name: str, new: str) -> str:
            edit = await editor.client.text_document_rename_async(lsp.RenameParams(**here(uri, text, marked, name), new_name=new))
            assert edit is not None and edit.changes is not None
            lines = [line.encode("utf-16-le") for line in text.split("\n")]
            for one in sorted(edit.changes[uri], key=lambda one: -one.range.start.character):
                line = lines[one.range.start.line]
                lines[one.range.start.line] = (line[:2 * one.range.start.character] + one.new_text.encode("utf-16-le")
                                               + line[2 * one.range.end.character:])
            return "\n".join(line.decode("utf-16-le") for line in lines)
        assert await renamed("bit<8> sort", "sort", "kind") == text.replace("sort", "kind")
        assert await renamed("struct headers", "headers", "all") == text.replace("headers", "all")
        assert await renamed("error.BadKind", "BadKind", "Odd") == text.replace("BadKind", "Odd")
        for marked, name, new, said in (("bit<8> sort", "sort", "in", "a word of the language"), ("bit<8> sort", "sort", "a b", "cannot be a name"),
                                        ("m.verdict", "verdict", "x", "built in"), ("state start", "start", "begin", "begins in the state of this name")):
            with pytest.raises(JsonRpcException, match=said):
                await editor.client.text_document_rename_async(lsp.RenameParams(**here(uri, text, marked, name), new_name=new))
    session(work)


def test_rename_where_a_loop_is_written_out(session: Session, tmp_path: Path) -> None:
    text = TAG.replace("Tag tag;", "Tag tag; Tag[3] tags;").replace("apply {", """apply {       // in both processors
        bit<8> sum;
        for (turn in 0..3) { if (h.tags[turn].isValid()) { bit<8> one = h.tags[turn].kind; sum = sum + one; } }""")

    async def work(editor: Editor) -> None:
        uri, found = await editor.open(tmp_path / "tag.lpn", text)
        assert found == []
        for marked, name, count in (("turn in", "turn", 3), ("[turn].kind", "turn", 3), ("bit<8> sum", "sum", 3), ("bit<8> one", "one", 2), ("Tag[3] tags", "tags", 5)):
            edit = await editor.client.text_document_rename_async(lsp.RenameParams(**here(uri, text, marked, name), new_name="other"))
            assert edit is not None and edit.changes is not None
            places = {(one.range.start.line, one.range.start.character) for one in edit.changes[uri]}
            assert len(places) == len(edit.changes[uri]) == count, (marked, name)
    session(work)


def test_something_is_said_of_every_built_in_name() -> None:
    from lpn.lang.server import known
    for table, said in ((builtins.HEADER_METHODS, known.HEADER), (builtins.STACK_METHODS, known.STACK), (METHODS, known.BUFFER), (builtins.OUTSIDE, known.OUTSIDE),
                        (builtins.META, known.META), (builtins.NODE, known.NODE), (builtins.VERDICTS, known.VERDICTS)):
        assert set(table) <= set(said)


def test_without_pygls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpn.compiler.commands.lsp.find_spec", lambda name: None)
    result = lpnc("lsp")
    assert result.exit_code == 2 and "pip install 'lpn[lsp]'" in result.stderr


# ---------------------------------------------------------------- anything

@pytest.mark.parametrize("seed", range(4))
def test_no_question_about_any_text_is_an_error(session: Session, tmp_path: Path, seed: int) -> None:
    """Texts as they are while somebody types, asked about anywhere."""
    draw = random.Random(seed)
    text = (ROOT / draw.choice(["stdlib/sixlowpan.lpn", "stdlib/ieee802154.lpn", "examples/udp/udp.lpn"])).read_text()

    def typed(text: str) -> str:
        lines = text.split("\n")
        at = draw.randrange(len(lines))
        match draw.randrange(5):
            case 0:
                lines[at] = lines[at][:draw.randint(0, len(lines[at]))]
            case 1:
                del lines[at:at + draw.randint(1, 8)]
            case 2:
                lines.insert(at, draw.choice(["h.", "x.y[3].", "import std.", "\U0001f4e1 via ", "transition ", "/*", "}", "error."]))
            case 3:
                lines[at] = lines[at].replace(draw.choice(";(){}.<>"), draw.choice(["", ";", ".", "{"]), 1)
        return "\n".join(lines)

    async def work(editor: Editor) -> None:
        nonlocal text
        uri, _ = await editor.open(tmp_path / "any.lpn", text)
        document, client = lsp.TextDocumentIdentifier(uri), editor.client
        for _ in range(3):
            text = typed(text)
            editor.change(uri, text)
            lines = text.split("\n")
            line = draw.randrange(len(lines))
            place = lsp.Position(line, draw.randint(0, len(lines[line]) + 2))
            await client.text_document_completion_async(lsp.CompletionParams(document, place))
            await client.text_document_hover_async(lsp.HoverParams(document, place))
            await client.text_document_definition_async(lsp.DefinitionParams(document, place))
            await client.text_document_references_async(lsp.ReferenceParams(lsp.ReferenceContext(True), document, place))
            await client.text_document_prepare_rename_async(lsp.PrepareRenameParams(document, place))
            await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
            await client.text_document_formatting_async(lsp.DocumentFormattingParams(document, lsp.FormattingOptions(4, True)))
        await editor.told(uri)
    session(work)

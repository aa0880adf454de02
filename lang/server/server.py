"""The protocol's side of the server: documents come and change, questions are answered from their last analysis."""
from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument

from ..diagnostics import Diagnostic, DiagnosticError
from ..format import format_source
from ..source import Source, Span
from .analysis import Analysis, analyse
from .call import signature
from .complete import complete
from .describe import hover, row_hover
from .fixes import fixes
from .index import Mention
from .places import Point, column, in_comment, meet, position, range_of
from .protocol import Protocol
from .rename import clash, no_name, places, refusal
from .symbols import symbols

DELAY = 0.2                                     # seconds without a change before a text is analysed
SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
WATCHED = "**/*.lpn"                          # files of which the editor says when they change

server = LanguageServer("lpn", version("lpn"), text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental, protocol_cls=Protocol)


@dataclass
class Document:
    """`now` is the analysis of the text of `version`, `good` the last one that had a program; `stale`: a file that it imports has changed since."""

    now: Analysis
    version: int | None
    good: Analysis | None = None
    stale: bool = False


documents: dict[str, Document] = {}
waiting: dict[str, asyncio.Task] = {}


def path_of(uri: str) -> Path | None:
    name = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(name) if name else None


def uri_of(source: Source, main: str) -> str:
    """main: the uri of the document in which the source appeared, which it is if it has no file."""
    document = documents.get(main)
    if document is not None and source is document.now.source or source.path is None:
        return main
    return from_fs_path(str(source.path)) or main


def text_of(uri: str) -> TextDocument:
    """The document as the editor has it; one that is not open is read."""
    document = server.workspace.get_text_document(uri)
    try:
        document.source
    except (OSError, UnicodeDecodeError, ValueError) as e:
        raise JsonRpcInvalidParams(f"{uri} is not open, and cannot be read: {getattr(e, 'strerror', None) or e}") from None
    return document


def refresh(uri: str) -> Document:
    """The document, its analysis brought up to date."""
    text = text_of(uri)
    old = documents.get(uri)
    if old is not None and not old.stale and old.version == text.version and old.now.source.written == text.source:
        return old
    path = path_of(uri)
    now = analyse(path.name if path else uri, text.source, path, texts_beside(uri))
    good = now if now.index is not None else old.good if old else None
    documents[uri] = Document(now, text.version, good)
    return documents[uri]


def texts_beside(uri: str) -> dict[str, str]:
    """The other open texts, by resolved path."""
    return {str(path.resolve()): one.source for other, one in server.workspace.text_documents.items()
            if other != uri and (path := path_of(other)) is not None}


# ---------------------------------------------------------------- diagnostics

def publish(uri: str) -> None:
    document = refresh(uri)
    found = [diagnostic(one, document.now, uri) for one in document.now.diagnostics]
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, document.version))


def diagnostic(one: Diagnostic, analysis: Analysis, uri: str) -> lsp.Diagnostic:
    """Notes and hints are related information; what is wrong with an imported file is told at the import."""
    span, message = one.span, one.message
    related = [lsp.DiagnosticRelatedInformation(location(at, uri), text) for text, at in one.notes if at is not None]
    message = "\n".join([message, *(text for text, at in one.notes if at is None)])
    if span is not None and span.source is not analysis.source:
        related.insert(0, lsp.DiagnosticRelatedInformation(location(span, uri), one.message))
        message = f"{span.source.name}: {message}"
        span = import_of(analysis, span.source)
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    range_ = range_of(span) if span is not None else whole
    related += [lsp.DiagnosticRelatedInformation(lsp.Location(uri, range_), f"help: {hint}") for hint in one.hints]
    tags = [lsp.DiagnosticTag.Unnecessary] if one.unused else None          # editors show it faded
    return lsp.Diagnostic(range_, message, SEVERITIES[one.severity], source="lpn", tags=tags, related_information=related or None)


def import_of(analysis: Analysis, source: Source) -> Span | None:
    """The import through which a source came; the first one if it came through another file."""
    stem = source.name.removesuffix(".lpn").replace("/", ".")
    lines = [(number, line) for number, line in enumerate(analysis.source.lines, 1) if line.startswith("import ")]
    best = next(((number, line) for number, line in lines if stem.endswith(line[7:].strip(" ;"))), lines[0] if lines else None)
    return Span(analysis.source, best[0], 1, best[0], len(best[1]) + 1) if best else None


def location(span: Span, uri: str) -> lsp.Location:
    return lsp.Location(uri_of(span.source, uri), range_of(span))


def publish_importers(uri: str) -> None:
    """Of the open documents that ask for this file, whatever became of it when they did."""
    path = path_of(uri)
    for other in [*documents] if path is not None else []:
        if other != uri and str(path.resolve()) in documents[other].now.asked:
            documents[other].stale = True
            publish(other)


@server.feature(lsp.INITIALIZED)
async def on_initialized(ls: LanguageServer, params: lsp.InitializedParams) -> None:
    """Asks to be told of files that change outside of the editor, where it can."""
    workspace = ls.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace else None
    if watching is not None and watching.dynamic_registration:
        options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(WATCHED)])
        await ls.client_register_capability_async(lsp.RegistrationParams([lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)]))


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def did_open(ls: LanguageServer, params: lsp.DidOpenTextDocumentParams) -> None:
    publish(params.text_document.uri)
    publish_importers(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
async def did_change(ls: LanguageServer, params: lsp.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    if uri in waiting:
        waiting[uri].cancel()
    waiting[uri] = asyncio.create_task(later(uri))


async def later(uri: str) -> None:
    """Publishes once nothing has changed for a while; documents that import this one are told too."""
    await asyncio.sleep(DELAY)
    waiting.pop(uri, None)
    publish(uri)
    publish_importers(uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
def did_save(ls: LanguageServer, params: lsp.DidSaveTextDocumentParams) -> None:
    """What it imports is read again: it may have changed, too."""
    uri = params.text_document.uri
    if uri in documents:
        documents[uri].stale = True
    publish(uri)
    publish_importers(uri)


@server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
def did_change_files(ls: LanguageServer, params: lsp.DidChangeWatchedFilesParams) -> None:
    for one in params.changes:
        if one.uri not in ls.workspace.text_documents:      # else its text is the editor's
            publish_importers(one.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def did_close(ls: LanguageServer, params: lsp.DidCloseTextDocumentParams) -> None:
    """From now on its text is the file's."""
    uri = params.text_document.uri
    if uri in waiting:
        waiting.pop(uri).cancel()
    documents.pop(uri, None)
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))
    publish_importers(uri)


# ---------------------------------------------------------------- names

def spot(uri: str, place: lsp.Position) -> tuple[Analysis | None, Point]:
    """The last analysis with a program, and the place in it."""
    document = refresh(uri)
    lines = document.now.source.lines
    line = lines[place.line] if place.line < len(lines) else ""
    return document.good, Point(place.line + 1, column(line, place.character))


def mention(uri: str, place: lsp.Position) -> tuple[Analysis | None, Mention | None]:
    analysis, point = spot(uri, place)
    return analysis, analysis.index.at(analysis.source, point) if analysis and analysis.index else None


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def definition(ls: LanguageServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    uri = params.text_document.uri
    analysis, found = mention(uri, params.position)
    if analysis is None or analysis.index is None:
        return None
    if found is None:
        return imported(analysis, uri, params.position.line + 1)
    own = analysis.index.declaration(found.decl)
    return location(own.span, uri) if own else None


def imported(analysis: Analysis, uri: str, line: int) -> lsp.Location | None:
    """The file that the import in a line names."""
    assert analysis.program is not None
    for one in analysis.program.imports:
        if one.span.line == line:
            name = "/".join(one.path) + ".lpn"
            for source in analysis.program.sources:
                if source.path is not None and (source.name == name or source.path.as_posix().endswith("/" + name)):
                    return lsp.Location(uri_of(source, uri), lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)))
    return None


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def on_hover(ls: LanguageServer, params: lsp.HoverParams) -> lsp.Hover | None:
    analysis, point = spot(params.text_document.uri, params.position)
    if analysis is None or analysis.index is None:
        return None
    found = analysis.index.at(analysis.source, point)
    text = hover(analysis.index, found.decl) if found else row_hover(analysis.index.program, analysis.source, point)
    if not text:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), range_of(found.span) if found else None)


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def references(ls: LanguageServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    analysis, found = mention(uri, params.position)
    if analysis is None or analysis.index is None or found is None or isinstance(found.decl, str):
        return []
    return [location(one.span, uri) for one in analysis.index.of(found.decl) if params.context.include_declaration or not one.declares]


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
def highlight(ls: LanguageServer, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    analysis, found = mention(params.text_document.uri, params.position)
    if analysis is None or analysis.index is None or found is None:
        return []
    return [lsp.DocumentHighlight(range_of(one.span)) for one in analysis.index.of(found.decl) if one.span.source is analysis.source]


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def prepare_rename(ls: LanguageServer, params: lsp.PrepareRenameParams) -> lsp.Range | None:
    uri = params.text_document.uri
    analysis, found = mention(uri, params.position)
    return range_of(found.span) if analysis and found and not (mistaken(uri) or refusal(analysis, found)) else None


@server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def rename(ls: LanguageServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    """In this file only: what other files declare or might use under this name is not touched."""
    uri, new = params.text_document.uri, params.new_name
    analysis, found = mention(uri, params.position)
    if analysis is None or analysis.index is None or found is None:
        raise JsonRpcInvalidParams("there is no name here that is declared in this file")
    why = mistaken(uri) or refusal(analysis, found) or no_name(new) or clash(analysis, found, new, path_of(uri), texts_beside(uri))
    if why:
        raise JsonRpcInvalidParams(why)
    return lsp.WorkspaceEdit(changes={uri: [lsp.TextEdit(range_of(span), new) for span in places(analysis, found.decl)]})


def mistaken(uri: str) -> str:
    """What is in the way of a change of names where the last text is no program."""
    return "" if refresh(uri).now.index is not None else "the text has a syntax error; mend it first"


# ---------------------------------------------------------------- the rest

@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def document_symbols(ls: LanguageServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    good = refresh(params.text_document.uri).good
    return symbols(good.source, good.program.main) if good and good.program else []


@server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
def completion(ls: LanguageServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    uri = params.text_document.uri
    text = text_of(uri)
    source = Source(uri, text.source)
    line = source.lines[params.position.line] if params.position.line < len(source.lines) else ""
    point = Point(params.position.line + 1, column(line, params.position.character))
    if in_comment(source, point):
        return lsp.CompletionList(False, [])
    before, path = source.code[point.line - 1][:point.column - 1] if line else "", path_of(uri)
    found = next((items for one in programs(uri, point) if (items := complete(one.index, before, point, path))), None)
    return lsp.CompletionList(False, complete(None, before, point, path) if found is None else found)


def programs(uri: str, point: Point) -> Iterator[Analysis]:
    """What is known of a text that is being written at a place: as it was when it last was a program, without its mistakes, and without the line."""
    document = documents.get(uri) or refresh(uri)
    if document.good is not None:
        yield document.good
    text, path = text_of(uri).source, path_of(uri)
    mended = analyse(path.name if path else uri, text, path, texts_beside(uri), mended=True)
    if mended.index is not None:
        yield mended
    if (without := without_line(uri, point.line - 1)) is not None:
        yield without


def without_line(uri: str, line: int) -> Analysis | None:
    """The analysis of a text that never was a program, without the line that is being written."""
    text = text_of(uri)
    lines = text.source.split("\n")
    lines[line:line + 1] = [""]
    path = path_of(uri)
    found = analyse(path.name if path else uri, "\n".join(lines), path, texts_beside(uri))
    return found if found.index is not None else None


@server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", ","]))
def signature_help(ls: LanguageServer, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    uri = params.text_document.uri
    lines = text_of(uri).source.split("\n")
    line = lines[params.position.line] if params.position.line < len(lines) else ""
    point = Point(params.position.line + 1, column(line, params.position.character))
    known = next(programs(uri, point), None)
    return signature(known.index if known else None, lines, point)


@server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
def code_actions(ls: LanguageServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    uri = params.text_document.uri
    now = refresh(uri).now
    out = []
    for one in now.diagnostics:
        if one.span is not None and one.span.source is now.source and meet(range_of(one.span), params.range):
            out += [lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [diagnostic(one, now, uri)], is_preferred=True, edit=lsp.WorkspaceEdit(changes={uri: [edit]}))
                    for title, edit in fixes(one)]
    return out


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def formatting(ls: LanguageServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    """The whole text, as `lpnc fmt` writes it; nothing where it cannot be parsed."""
    source = Source(params.text_document.uri, text_of(params.text_document.uri).source)
    try:
        new = format_source(source)
    except DiagnosticError:
        return None
    if new == source.written:
        return []
    end = position(source, len(source.lines), len(source.lines[-1]) + 1)
    return [lsp.TextEdit(lsp.Range(lsp.Position(0, 0), end), new)]

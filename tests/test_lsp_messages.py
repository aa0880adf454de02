"""What the language server takes for a message, and what it says of anything else."""
from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from lpn.lang.server.messages import MOST, MOST_LINE, MessageError, Messages

WRONG = {
    "too long": (b"Content-Length: 100000000000\r\n\r\n{}", "too long: its Content-Length is 100000000000, and at most 67108864 octets are taken"),
    "one too long": (b"Content-Length: %d\r\n\r\n" % (MOST + 1), f"its Content-Length is {MOST + 1}"),
    "many digits": (b"Content-Length: %s\r\n\r\n" % (b"9" * 4000), "too long: its Content-Length is 9999"),
    "negative": (b"Content-Length: -5\r\n\r\n{}", "no number of octets: -5"),
    "no number": (b"Content-Length: five\r\n\r\n{}", "no number of octets: five"),
    "nothing": (b"Content-Length:\r\n\r\n{}", "no number of octets: "),
    "no octets": (b"Content-Length: 0\r\n\r\n", "no number of octets: 0"),
    "twice": (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "two Content-Lengths"),
    "missing": (b"Content-Type: x\r\n\r\n{}", "no Content-Length"),
    "no header": (b"hello\r\n\r\n{}", "no ':': hello"),
    "not text": (b"\xff\x00\r\n\r\n{}", r"no ':': \xff"),
    "a line without end": (b"x" * 10_000, f"more than {MOST_LINE} octets: xxxx"),
    "a line cut off": (b"Content-Length: 5", "ends inside a message's header"),
    "a header cut off": (b"Content-Length: 5\r\n", "ends inside a message's header"),
    "a body cut off": (b"Content-Length: 50\r\n\r\n{}", "ends inside a message: 2 of 50 octets"),
}
SHUTDOWN = b'{"jsonrpc":"2.0","id":1,"method":"shutdown","params":null}'
EXIT = b'{"jsonrpc":"2.0","method":"exit"}'
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}'


def bodies(data: bytes) -> list[bytes]:
    """All messages, read as pygls does: it knows a length by this spelling alone."""
    messages, out, length = Messages(io.BytesIO(data)), [], 0
    while line := messages.readline():
        if line.startswith(b"Content-Length: "):
            length = int(line[16:])
        elif line == b"\r\n" and length:
            out.append(messages.read(length))
            length = 0
    return out


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_message(name: str) -> None:
    data, said = WRONG[name]
    with pytest.raises(MessageError) as e:
        bodies(b"Content-Length: 2\r\n\r\n[]" + data)
    assert said in str(e.value) and len(str(e.value)) < 150 and "\n" not in str(e.value)


def test_messages_in_any_spelling() -> None:
    assert bodies(b"\r\ncontent-length:2\n\n[]Content-Type: x\r\nCONTENT-LENGTH:  003 \r\n\r\n{ }\r\nContent-Length: 1\r\n\r\n1") == [b"[]", b"{ }", b"1"]
    assert bodies(b"") == bodies(b"\r\n\r\n") == []


@pytest.mark.parametrize("data,status,said", [
    (WRONG["too long"][0], 2, "lpnc: a message is too long: its Content-Length is 100000000000, and at most 67108864 octets are taken; the language server ends\n"),
    (b"Content-Length: 2\r\n\r\n[]content-length:%d\r\n\r\n%sContent-Length: %d\r\n\r\n%s" % (len(SHUTDOWN), SHUTDOWN, len(EXIT), EXIT), 0, None),
], ids=("ends", "goes on"))
def test_the_server_ends_or_goes_on(data: bytes, status: int, said: str | None) -> None:
    """What is no JSON-RPC is answered with an error; where a message's end is unknown, there is nothing to go on with."""
    pytest.importorskip("pygls", reason="pygls is not installed: pip install 'lpn[lsp]'")
    result = subprocess.run([sys.executable, "-m", "lpn.compiler.cli", "lsp"], input=data, capture_output=True, timeout=60)
    assert result.returncode == status
    if said is not None:
        assert result.stderr.decode() == said and not result.stdout
    else:
        assert b'"id": 1, "jsonrpc": "2.0", "result": null' in result.stdout


def talk(*said: bytes, status: int = 0) -> dict[int, dict]:
    """The answers, by number. Nothing but a line a message is said beside them."""
    pytest.importorskip("pygls", reason="pygls is not installed: pip install 'lpn[lsp]'")
    data = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(one), one) for one in said)
    result = subprocess.run([sys.executable, "-m", "lpn.compiler.cli", "lsp"], input=data, capture_output=True, timeout=60)
    assert result.returncode == status and b"Traceback" not in result.stderr, result.stderr.decode()
    answers = [json.loads(part[:part.rindex(b"}") + 1]) for part in result.stdout.split(b"\r\n\r\n")[1:]]
    return {one["id"]: one for one in answers if "id" in one}


def request(number: int, method: str, params: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"textDocument/%s","params":%s}' % (number, method.encode(), params.encode())


HERE = '"textDocument":{"uri":"file:///nowhere/x.lpn"}'


def test_every_request_is_answered() -> None:
    asked = {1: ("hover", "{}"), 2: ("hover", "null"), 3: ("hover", f'{{{HERE},"position":{{"line":-1,"character":0}}}}'), 4: ("definition", '{"textDocument":5}')}
    closed = {5: ("hover", f'{{{HERE},"position":{{"line":0,"character":0}}}}'), 6: ("completion", f'{{{HERE},"position":{{"line":0,"character":0}}}}'),
              7: ("formatting", f'{{{HERE},"options":{{"tabSize":4,"insertSpaces":true}}}}')}
    answers = talk(request(8, *closed[5]), INITIALIZE, *(request(number, *one) for number, one in (asked | closed).items()),
                   b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}', SHUTDOWN.replace(b'"id":1', b'"id":9'), request(10, *closed[5]), EXIT)
    assert {number: answers[number]["error"]["message"] for number in asked} == {
        number: f"these are no parameters of textDocument/{method}" for number, (method, _) in asked.items()}
    assert all(answers[number]["error"]["message"] == "file:///nowhere/x.lpn is not open, and cannot be read: No such file or directory" for number in closed)
    assert {answers[number]["error"]["code"] for number in (*asked, *closed)} == {-32602}
    assert answers[8]["error"] == {"code": -32002, "message": "textDocument/hover comes before initialize"}
    assert answers[9]["result"] is None and answers[10]["error"] == {"code": -32600, "message": "textDocument/hover comes after shutdown"}


def test_what_is_refused_is_no_fault(tmp_path) -> None:
    uri = (tmp_path / "x.lpn").as_uri()
    opened = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {
        "uri": uri, "languageId": "lpn", "version": 1, "text": "const bit<8> A = 1;\n"}}}).encode()
    rename = request(1, "rename", json.dumps({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 13}, "newName": "1"}))
    assert talk(INITIALIZE, opened, rename, SHUTDOWN.replace(b'"id":1', b'"id":2'), EXIT)[1]["error"]["message"] == "'1' cannot be a name: these are letters, digits and _, and do not begin with a digit"


def test_exit_without_shutdown() -> None:
    talk(INITIALIZE, EXIT, status=1)

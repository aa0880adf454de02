"""Where declarations stand, and what has their place in other languages."""
from __future__ import annotations

from collections.abc import Collection

#: What begins a declaration in other languages, or stands inside another one, and what to write.
DECLARATIONS = {
    **dict.fromkeys(("bit", "int", "bool", "void", "fn", "func", "fun", "def"), "a function is written like this: function bit<8> f(bit<8> x) { ... }"),
    **dict.fromkeys(("class", "record", "message", "union", "header_union"), "there are header, for what lies in the packet, and struct"),
    **dict.fromkeys(("from", "use", "using", "include", "require"), "it is written like this: import std.ipv6;"),
    **dict.fromkeys(("static", "let", "var"), "there are const, for what stays the same, and register"),
    **dict.fromkeys(("V1Switch", "package", "main", "pipeline", "chain", "program", "module"),
                    "it is written like this: protocol Hop version 1 { on radio.rx_done : Rx -> Forward -> Tx; }"),
    **dict.fromkeys(("packet", "frame", "pdu", "format", "layout"), "there is header, for what lies in the packet"),
    "on": "it stands in the protocol: protocol Hop version 1 { on radio.rx_done : Rx -> Forward -> Tx; }",
    **dict.fromkeys(("state", "transition"), "a state stands in a parser: parser Rx(packet pkt, out headers h) { state start { transition accept; } }"),
    **dict.fromkeys(("every", "after", "slot", "energy"), "it stands in a timing block: timing Clock { every 1 s { ... } }"),
    "table": "it stands in a processor: processor P(inout headers h, inout meta m) { table routes { ... } apply { routes.apply(); } }",
    **dict.fromkeys(("apply", "if", "for"), "it stands in a processor: processor P(inout headers h, inout meta m) { apply { ... } }"),
    **dict.fromkeys(("key", "actions", "entries"), "it stands in a table, and that in a processor: table routes { key = { h.dst: exact; } actions = { drop; } }"),
    "value_set": "it stands in a parser: parser Rx(packet pkt, out headers h) { value_set<bit<16>>[8] ports; ... }",
}
#: What is declared outside of modules alone.
OUTSIDE = ("function", "header", "struct", "enum", "typedef", "codec", "extern", "import", "protocol")
#: The declarations that have parameters.
TAKING = ("functionDecl", "externDecl", "actionDecl", "headerDecl", "codecDecl", "parserDecl", "processorDecl", "deparserDecl")
#: What a program keeps between packets.
KEPT = ("register", "counter", "meter", "buffer")


def declared_elsewhere(word: str, rules: Collection[str]) -> tuple[str, str]:
    """What is said of a declaration among statements, and what to do. `rules`: of the grammar, that it stands in."""
    if "migrateDecl" in rules:
        return "the registers of a migration come before its statements", "move it in front of them"
    place = "apply" if "processorDecl" in rules or word in ("table", "action") else "handlers" if "handler" in rules else "modules"
    there = {"apply": "in front of apply", "handlers": "in front of them", "modules": "there"}[place]
    return f"{'an' if word == 'action' else 'a'} {word} is declared outside of {place}", f"move it {there}"

"""What is said of the names that the language brings along."""
from __future__ import annotations

from .. import builtins

# Members of what has no declaration, in words.
PACKET = {"extract": "takes a header from the front of the packet", "emit": "writes a header, if it is valid", "advance": "skips bits",
          "lookahead": "looks at the next bits, and takes nothing: `lookahead<bit<8>>()`"}
HEADER = {"isValid": "whether the header is there", "setValid": "makes the header valid", "setInvalid": "takes the header away",
          "holds": "whether the header's deferred equations hold"}
STACK = {"next": "the first element that is not valid yet", "last": "the last element that is valid",
         "push_front": "moves the elements back by n", "pop_front": "moves the elements forward by n"}
BUFFER = {"put": "keeps a part of the payload under a key: put(key, offset, size)", "hold": "keeps the payload under a key",
          "take": "gives the content of a key to its chain", "drop": "forgets a key"}
RESULT = {"hit": "whether an entry was found", "miss": "whether none was found", "action_run": "which action ran: `switch (t.apply().action_run)`"}
PAYLOAD = {"truncate": "keeps the first n bytes of the payload"}
OUTSIDE = {"radio.on": "turns the receiver on", "radio.off": "turns the radio off", "radio.cca": "listens: CLEAR or BUSY",
           "radio.channel": "chooses the channel", "radio.power": "sets the transmit power, in dBm",
           "radio.send": "sends a frame: the headers that a deparser emits, then the payload",
           "net.send": "hands a packet to the network stack: the headers that a deparser emits, then the payload"}
META = {"iface": "the interface the packet came in by", "rssi": "received signal strength", "lqi": "link quality",
        "time": "when the packet came, in microseconds", "verdict": "what becomes of the packet", "port": "whom DELIVER gives it to",
        "reason": "why DROP drops it"}
NODE = {"short": "this node's short address", "ext": "this node's extended address", "pan": "this node's PAN", "clock": "microseconds"}
OTHER = {"verify": "rejects the packet with the reason, unless the condition holds", "inet_sum": "the Internet checksum's sum (RFC 1071)",
         "count": "counts", "reset": "begins anew: a counter with 0, a meter full", "apply": "looks the keys up and runs the action", "payload": "what the parser left",
         "node": "this node: its addresses and its clock", "error": "the reasons to drop a packet"}
VERDICTS = {"ACCEPT": "the packet goes on", "DROP": "the packet is dropped, and the reason counted", "DELIVER": "the packet goes to `m.port`",
            "TRANSMIT": "the packet is sent", "CONSUMED": "the packet ends here, and nothing is counted"}
# What calls take that no declaration says: methods begin with a dot.
TAKES = {"verify": ("condition", "reason"), "inet_sum": ("value", "..."), "radio.send": ("deparser(headers)", "offset", "size"),
         "net.send": ("deparser(headers)", "offset", "size"), ".extract": ("header",), ".emit": ("header",), ".advance": ("bits",), ".lookahead": (),
         ".push_front": ("n",), ".pop_front": ("n",), ".truncate": ("octets",)}
CONSTANTS = (*builtins.VERDICTS, *builtins.RADIO_RESULTS, *builtins.COLOURS, *builtins.PUT_RESULTS)


def about(name: str) -> str:
    """Markdown about a built-in name; empty if there is nothing to say."""
    types = {**builtins.META, **builtins.NODE}
    for table in (VERDICTS, PACKET, HEADER, STACK, BUFFER, RESULT, PAYLOAD, OUTSIDE, META, NODE, OTHER):
        if name in table:
            shown = f"```lpn\n{name}\n```\n\n{table[name]}"
            return f"{shown}, of type `{types[name]}`" if table in (META, NODE) else shown
    return f"```lpn\n{name}\n```\n\nbuilt in" if name in CONSTANTS else ""

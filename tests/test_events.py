"""Event files: what they say, and what is said about those that are none."""

import pytest
from hypothesis import given, settings, strategies as st

from lpn.runtime.capture import Writer
from lpn.runtime.events import EventsError, read_events
from lpn.runtime.linktype import IEEE802154_WITHFCS


class Recorder:
    """Takes the place of a node: what it is told, in order."""

    def __init__(self):
        self.told = []
        self.radio_state = self

    def __getattr__(self, name):
        return lambda *args, **named: self.told.append((name, *args, *([named] if named else [])))


def told(text, folder=None):
    script = read_events(text, "x.events", folder)
    recorder = Recorder()
    script.apply(recorder)
    return recorder.told, script


@pytest.mark.parametrize("line,expected", [
    ("air 01fF", ("hear", 0, b"\x01\xff")),
    ("air 0102 03 rssi=1", ("hear", 0, b"\1\2\3", {"rssi": 1})),
    ("10 ms air 00 rssi=-60 lqi=0xff", ("hear", 10_000, b"\0", {"rssi": -60, "lqi": 255})),
    ("1.5s air 00", ("hear", 1_500_000, b"\0")),
    ("2 min air \"a // b\"   // a comment", ("hear", 120_000_000, b"a // b")),
    ("air 0102 \"hello\" 03 \"x\" lqi=1", ("hear", 0, b"\1\2hello\3x", {"lqi": 1})),
    ("250us radio.rx_done 00 rssi=-1", ("post", 250, "radio.rx_done", (), b"\0", {"rssi": -1})),
    ("radio.rx_start lqi=3", ("post", 0, "radio.rx_start", (), None, {"lqi": 3})),
    ("radio.tx_start", ("post", 0, "radio.tx_start", (), None)),
    ("radio.ack_timeout", ("post", 0, "radio.ack_timeout", (), None)),
    ("radio.tx_done NOACK", ("post", 0, "radio.tx_done", (2,), None)),
    ("app.tx port=5683 00", ("post", 0, "app.tx", (5683,), b"\0")),
    ("app.tx 00 port=5683", ("post", 0, "app.tx", (5683,), b"\0")),
    ("net.rx layer=41 selector=7 \"\"", ("post", 0, "net.rx", (41, 7), b"")),
    ("net.tx layer=41 00 selector=7", ("post", 0, "net.tx", (41, 7), b"\0")),
    ("net.rx layer=41 00", ("post", 0, "net.rx", (41, 0), b"\0")),
    ("5 us radio off", ("switch", 5, False)),
    ("5 us cca BUSY for 2 ms", ("occupy", 5, 2005)),
    ("5 us cca CLEAR", ("release", 5)),
    ("tx NOACK", ("plan", 0, [("NOACK", 0)])),
    ("tx OK delay 3 ms", ("plan", 0, [("OK", 3000)])),
    ("tx BUSY x3", ("plan", 0, [("BUSY", 0)] * 3)),
    ("tx BUSY delay 1 us always", ("plan", 0, [], ("BUSY", 1))),
])
def test_lines(line, expected):
    def plain(item):
        return (item.result, item.delay) if hasattr(item, "delay") else [plain(i) for i in item] if isinstance(item, list) else item
    got, _ = told(line)
    assert [tuple(plain(i) for i in each) for each in got] == [expected]


def test_what_is_said_of_the_whole():
    _, script = told("node short=0x12 ext=02:4c:50:4e:00:00:00:02\nnode pan=0x23 clock=4294967295\nradio off\nuntil 2 s\n")
    assert script.node == {"node_short": 0x12, "node_ext": 0x024C504E00000002, "node_pan": 0x23}
    assert (script.clock, script.radio_on, script.until) == (2**32 - 1, False, 2_000_000)
    assert told("")[1].until == 1_000_000
    assert told("7 s radio on")[1].until == 8_000_000


def test_times_go_on_from_the_line_before_and_are_played_in_order():
    got, _ = told("10 ms air 01\nair 02\n+5 ms air 03\n+1 us air 04\n2 ms air 05\n+1 ms air 06\n")
    assert [(t, f[0]) for _, t, f in got] == [(2000, 5), (3000, 6), (10_000, 1), (10_000, 2), (15_000, 3), (15_001, 4)]


def test_repeat():
    got, script = told("1 s repeat 3 every 100 ms {\n  air 01\n  +10 ms air 02\n  5 ms air 03\n}\n+1 ms air 04\n")
    assert [(t // 1000, f[0]) for _, t, f in got] == [
        (1000, 1), (1005, 3), (1010, 2), (1100, 1), (1105, 3), (1110, 2), (1200, 1), (1205, 3), (1210, 2), (1301, 4)]
    assert script.until == 2_301_000


@pytest.fixture
def capture(tmp_path):
    with Writer(tmp_path / "a b.pcap", IEEE802154_WITHFCS) as writer:
        for i, time in enumerate((5_000_000, 5_010_000, 5_030_000)):
            writer.add(bytes([i] * 4), time)
        writer.add_verbatim(b"\1\2\3\4\5\6", 5_040_000)
    (tmp_path / "c.pcap").write_bytes((tmp_path / "a b.pcap").read_bytes())
    return tmp_path


def test_captures_play_at_their_own_times_without_what_is_damaged(capture):
    got, script = told('1 s capture "a b.pcap"', capture)
    assert [(t, f) for _, t, f, *_ in got] == [(1_000_000, b"\0" * 4), (1_010_000, b"\1" * 4), (1_030_000, b"\2" * 4)]
    assert script.skipped == 1
    got, script = told("capture c.pcap 2..3", capture)
    assert [each[1] for each in got] == [0, 20_000] and script.skipped == 0
    got, _ = told("radio.rx_done c.pcap#2", capture)
    assert got[0][4] == b"\1" * 4


# ---------------------------------------------------------------- mistakes

@pytest.mark.parametrize("text,place,message", [
    ("ear 00", "1:1", "there is no event 'ear'"),
    ("\n  5 ms aire 00", "2:8", "there is no event 'aire'"),
    ("5 air 00", "1:1", "5 has no unit"),
    ("5 hours air 00", "1:1", "5 has no unit"),
    ("1.5 us air 00", None, "1.5 us is not a whole number of microseconds"),
    ("99999999999 min air 00", None, "99999999999 min is too far away"),
    ("5 ms", "1:5", "what happens is missing"),
    ("air", "1:4", "a frame is missing"),
    ("air 0", "1:5", "0 is no frame"),
    ("air xyz", "1:5", "xyz is no frame"),
    ("air " + "00" * 126, "1:5", "a frame of 126 octets is too long"),
    ("radio.rx_done " + "00" * 2049, "1:15", "a frame of 2049 octets is too long"),
    ("air 00 rssi=x", "1:8", "x is no number"),
    ("air 00 rssi=-129", "1:8", "rssi=-129 is out of range"),
    ("air 00 rss=1", "1:8", "there is no 'rss' here"),
    ("air 00 rssi=1 rssi=1", "1:15", "rssi is given twice"),
    ("air 00 000", "1:8", "000 ends with half an octet"),
    ('air "abc', "1:5", "this text has no end"),
    ("app.tx 00", "1:1", "app.tx has no port="),
    ("net.rx selector=1 00", "1:1", "net.rx has no layer="),
    ("radio.tx_done MAYBE", "1:15", "MAYBE is no result"),
    ("radio sleep", "1:7", "sleep is no state"),
    ("cca MAYBE", "1:5", "MAYBE is no answer"),
    ("cca BUSY for", "1:13", "time is missing"),
    ("cca BUSY for ever", "1:14", "ever is no time"),
    ("tx OK x", "1:7", "x is not expected here"),
    ("node", "1:1", "nothing is said of the node"),
    ("node short=0x10000", "1:6", "short=0x10000 is out of range"),
    ("until +5 s", "1:1", "the end is counted from the start"),
    ("until 1 s\nuntil 2 s", "2:1", "the end is given twice"),
    ("repeat 2 every 5 ms {\n air 00", "1:1", "this block has no end"),
    ("repeat 2 every 5 ms { air 00 }", "1:23", "what is repeated begins on the next line"),
    ("}", "1:1", "there is no block to close"),
    ("repeat 0 every 5 ms {\n}", "1:8", "0 is no number of times"),
    ("repeat ² every 5 ms {\n}", "1:8", "² is no number of times"),
    (f"repeat {'9' * 5000} every 5 ms {{\n}}", "1:8", f"{'9' * 5000} is no number of times"),
    (f"+{'9' * 5000} us air 00", "1:1", f"+{'9' * 5000} is no time"),
    (f"air x.pcap#{'9' * 5000}", "1:5", f"x.pcap#{'9' * 5000} is no frame"),
    ("repeat 2 every 5 ms {\nuntil 5 s\n}", "2:1", "'until' cannot be repeated"),
    ("repeat 2 every 5 ms {\nrepeat 2 every 1 ms {\n}\n", "2:1", "'repeat' cannot be repeated"),
    ("repeat 1000000 every 5 ms {\nair 00\nair 00\n}\n", "1:1", "there are more than 1,000,000 events"),
    ("every 5 ms", "1:1", "there is no event 'every'"),
    ("capture nothing.pcap", "1:9", "nothing.pcap: No such file or directory"),
    ("air nothing.pcap#1", "1:5", "nothing.pcap: No such file or directory"),
    ("air 41 8", "1:8", "8 ends with half an octet"),
    ("-5 ms air 41", "1:1", "-5 is no time: nothing happens before 0"),
    ("capture no\0thing.pcap", "1:9", "unexpected character U+0000"),
    ("replace no\0thing.lpn", "1:9", "unexpected character U+0000"),
])
def test_mistakes_have_a_place_and_are_told_once(text, place, message):
    with pytest.raises(EventsError) as e:
        read_events(text, "x.events")
    first = e.value.diagnostics[0]
    assert first.message == message
    if place is not None:
        assert str(first.span) == f"x.events:{place}"
    assert sum(d.message == message for d in e.value.diagnostics) == 1


def test_all_mistakes_are_told_at_once():
    with pytest.raises(EventsError) as e:
        read_events("ear 00\n5 ms air 00\nair zz\n", "x.events")
    assert [str(d.span) for d in e.value.diagnostics] == ["x.events:1:1", "x.events:3:5"]
    assert "did you mean air?" in str(e.value)


@pytest.mark.parametrize("part", ["0..2", "2..9", "3..2", "2", "x..y"])
def test_parts_of_captures_lie_in_them(capture, part):
    with pytest.raises(EventsError, match="is no part of c.pcap"):
        read_events(f"capture c.pcap {part}", "x.events", capture)
    with pytest.raises(EventsError, match="c.pcap has no frame 9"):
        read_events("air c.pcap#9", "x.events", capture)


words = st.sampled_from(["air", "00", "5", "ms", "+5", "us", "cca", "BUSY", "for", "tx", "OK", "x3", "always", "repeat", "2", "every", "{", "}", "\n", "node", "short=1",
                         "until", "1 s", "app.tx", "port=7", '"t"', '"', "capture", "radio", "on", "radio.tx_done", "rssi=-5", "//", "\n", "é", "\0", "layer=", "net.rx"])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.one_of(st.lists(words, max_size=25).map(" ".join), st.text(max_size=60)))
def test_any_text_is_read_or_refused_with_a_place(text):
    try:
        script = read_events(text, "x.events")
    except EventsError as e:
        assert all(d.span is not None and d.message for d in e.diagnostics) and str(e)
    else:
        assert all(time >= 0 for time, _ in script.actions)

"""Event files for programs with hooks: what happens to a node, when."""
from __future__ import annotations

from hypothesis import strategies as st

from lpn.lang import ast

from .numbers import Draw, numbers

RESULTS = ("OK", "BUSY", "NOACK")
#: Delays that matter: at once, within a frame, about a timer's period, long.
delays = st.one_of(st.just(0), st.integers(0, 2000), st.integers(0, 300_000), st.sampled_from([1000, 10_000, 125_000, 1_000_000]))


def scripts(program: ast.Program, frames: st.SearchStrategy[bytes], most: int) -> st.SearchStrategy[str]:
    """Up to `most` events, each some time after the one before; the text of an event file."""
    bound = {hook.event for hook in program.hooks}
    kinds = ["air", "cca", "tx", "radio"]
    kinds += [name for name in ("app.tx", "net.rx", "net.tx", "radio.ack_timeout", "radio.tx_start") if name in bound]

    @st.composite
    def one(draw: Draw) -> str:
        kind = draw(st.sampled_from(kinds))
        after = f"+{draw(delays)} us "
        if kind == "air":
            frame = draw(frames)[:125]
            return f"{after}air {frame.hex() or '00'} rssi={-draw(st.integers(0, 100))} lqi={draw(numbers(8))}"
        if kind == "cca":
            return f"{after}cca BUSY for {1 + draw(delays)} us"
        if kind == "tx":
            return f"{after}tx {draw(st.sampled_from(RESULTS))} x{draw(st.integers(1, 3))}"
        if kind == "radio":
            return f"{after}radio {draw(st.sampled_from(['on', 'off']))}"
        if kind == "app.tx":
            return f"{after}app.tx port={draw(numbers(16))} {draw(frames).hex() or '00'}"
        if kind in ("net.rx", "net.tx"):
            return f"{after}{kind} layer={draw(numbers(8))} selector={draw(numbers(8))} {draw(frames).hex() or '00'}"
        return f"{after}{kind}"

    @st.composite
    def script(draw: Draw) -> str:
        start = [f"node clock={draw(st.sampled_from([0, (1 << 32) - 1000]))}", f"radio {draw(st.sampled_from(['on', 'off']))}"]
        return "\n".join([*start, *draw(st.lists(one(), max_size=most))])

    return script()

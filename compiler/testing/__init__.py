"""Property tests of protocols: packets drawn from a program's own descriptions, ready properties, laws of headers and codecs.

    from hypothesis import given
    from lpn.testing import protocol

    p = protocol("udp.lpn")

    @given(p.packets())
    def test_engines_agree(packet):
        p.engines_agree(packet)

docs/testing.md has the rest. Needs Hypothesis: `pip install 'lpn[test]'`.
"""
try:
    import hypothesis  # noqa: F401
except ImportError as error:
    raise ImportError("lpn.testing needs Hypothesis: install lpn[test], or hypothesis itself") from error

from .headers import in_order
from .laws import Law, laws
from .nothing import NothingValid
from .numbers import numbers, payloads
from .packets import damaged
from .protocol import Protocol, protocol

__all__ = ["Law", "NothingValid", "Protocol", "damaged", "in_order", "laws", "numbers", "payloads", "protocol"]

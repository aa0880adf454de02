"""Work done with less: in a child process that keeps only some of Linux's capabilities (capabilities(7)) and is nobody.

The kernel's verifier asks more of a program the fewer capabilities its loader has: with CAP_BPF and CAP_NET_ADMIN alone it
refuses uninitialised stack and leaked addresses, which it lets root (CAP_PERFMON) do.
"""
from __future__ import annotations

import ctypes
import json
import os
import struct
from collections.abc import Callable, Collection
from typing import Any

from lpn.runtime.engines import EngineUnavailable

CAP_NET_ADMIN, CAP_BPF = 12, 39
NOBODY = 65534
_PR_SET_KEEPCAPS = 8
_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def keep_only(capabilities: Collection[int], user: int = NOBODY) -> None:
    """This process becomes `user` with these capabilities and no others; there is no way back. Raises OSError."""
    _done(_libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    bits = sum(1 << capability for capability in capabilities)
    header = ctypes.create_string_buffer(struct.pack("<Ii", _VERSION_3, 0))
    low, high = bits & 0xFFFFFFFF, bits >> 32
    data = ctypes.create_string_buffer(struct.pack("<6I", low, low, 0, high, high, 0))
    _done(_libc.capset(header, data))


def _done(result: int) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def in_child(capabilities: Collection[int], work: Callable[[], Any]) -> Any:
    """What `work` returns (as JSON carries it) in a child with these capabilities only. EngineUnavailable if that cannot be."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        status = 1
        try:
            try:
                keep_only(capabilities)
                answer = {"done": work()}
            except (OSError, EngineUnavailable) as e:
                answer = {"unavailable": str(e)}
            with os.fdopen(writing, "w", encoding="utf-8") as out:
                json.dump(answer, out)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as answers:
        text = answers.read()
    status = os.waitpid(child, 0)[1]
    if status or not text:
        raise EngineUnavailable(f"the child with fewer capabilities ended with status {status}")
    answer = json.loads(text)
    if "unavailable" in answer:
        raise EngineUnavailable(f"no child with fewer capabilities: {answer['unavailable']}")
    return answer["done"]

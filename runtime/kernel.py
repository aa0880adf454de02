"""The Linux kernel as an engine for XDP programs: bpf(2) by hand, no library needed.

The kernel judges the bytecode with its own verifier (a rejection carries its log) and runs it on given packets with
BPF_PROG_TEST_RUN, without any network device. It needs CAP_BPF and CAP_NET_ADMIN, or root; where bpf(2) is not
permitted or not there, EngineUnavailable says so.

Layouts of `union bpf_attr`: include/uapi/linux/bpf.h; see bpf(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from lpn.runtime.engines import EngineError, EngineUnavailable

_SYSCALL = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "i386": 357, "i686": 357, "armv7l": 386}

MAP_CREATE, MAP_LOOKUP, MAP_UPDATE, PROG_LOAD, PROG_TEST_RUN = 0, 1, 2, 5, 10
MAP_TYPE_ARRAY = 2
MAP_READ_ONLY = 1 << 7  #: BPF_F_RDONLY_PROG
PROG_TYPE_XDP = 6
PSEUDO_MAP_FD, PSEUDO_MAP_VALUE = 1, 2

#: struct xdp_md's actions, the program's return values.
XDP_ACTIONS = ("ABORTED", "DROP", "PASS", "TX", "REDIRECT")

MIN_PACKET = 14         #: BPF_PROG_TEST_RUN of XDP wants an Ethernet header (ETH_HLEN)
_HEADROOM = 256         #: XDP_PACKET_HEADROOM, what a program may prepend
_LOG_SIZE = 1 << 20
_STEPS, _RESULT = 1, 4  #: BPF_LOG_LEVEL1: each instruction that the verifier looks at; BPF_LOG_STATS: what it ends with alone
_COUNTS = "processed ", "verification time ", "stack depth "     #: what both end with
_TOO_MUCH = errno.E2BIG, errno.EFAULT   # more instructions, or more ways, than the verifier follows
_ATTR_SIZE = 144        #: of union bpf_attr here: zero beyond what is filled in, so older kernels take it

_libc = ctypes.CDLL(None, use_errno=True)
INTERRUPTED = errno.EAGAIN, errno.EINTR         # of the verifier: by a signal
ATTEMPTS = 5                                    # as libbpf's


class KernelRejected(EngineError):
    """The kernel's verifier refused a program. `log` is what it said; of a program that is too much for it, what it ended with."""

    def __init__(self, log: str, error: int) -> None:
        lines = [line for line in log.strip().splitlines() if line and not line.startswith(_COUNTS)]
        last = lines[-1] if lines else os.strerror(error)
        super().__init__(f"the kernel's verifier rejects the program: {last}")
        self.log = log
        self.error = error


@dataclass(frozen=True)
class KernelRun:
    """One run of an XDP program."""

    retval: int             #: r0: an index of XDP_ACTIONS, if the program keeps to them
    data: bytes             #: the packet afterwards
    duration_ns: int        #: mean over the repeats


def _bpf(command: int, attr: bytearray) -> int:
    """bpf(2): what it returns; `attr` receives what the kernel writes into it.

    EngineUnavailable when it is not there or not permitted, OSError for every other refusal.
    """
    number = _SYSCALL.get(platform.machine())
    if platform.system() != "Linux" or number is None:
        raise EngineUnavailable(f"engine kernel needs Linux's bpf(2); this is {platform.system()} on "
                                f"{platform.machine()}")
    raw = (ctypes.c_char * len(attr)).from_buffer(attr)
    for _ in range(ATTEMPTS):
        ctypes.set_errno(0)
        result = _libc.syscall(ctypes.c_long(number), ctypes.c_int(command), raw, ctypes.c_uint(len(attr)))
        if result >= 0:
            return result
        error = ctypes.get_errno()
        if error not in INTERRUPTED:
            break
    if error == errno.ENOSYS:
        raise EngineUnavailable("engine kernel needs bpf(2), which this kernel does not have")
    if error == errno.EPERM:
        raise EngineUnavailable("engine kernel may not call bpf(2): it needs root, or CAP_BPF and CAP_NET_ADMIN")
    raise OSError(error, os.strerror(error))


def _attr(fmt: str, *values: int | bytes) -> bytearray:
    """`union bpf_attr`, zero behind the given fields."""
    return bytearray(struct.pack("<" + fmt, *values).ljust(_ATTR_SIZE, b"\0"))


def _address(buffer: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.addressof(buffer)


class _Owner:
    """Holds a file descriptor of the kernel's."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def close(self) -> None:
        """Give the object back to the kernel; further use is an error."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class ArrayMap(_Owner):
    """An array map: `entries` values of `value_size` bytes, zeroed. `constant`: programs may not write it."""

    def __init__(self, value_size: int, entries: int = 1, constant: bool = False) -> None:
        super().__init__(-1)
        try:
            self.fd = _bpf(MAP_CREATE, _attr("IIIII", MAP_TYPE_ARRAY, 4, value_size, entries, MAP_READ_ONLY if constant else 0))
        except OSError as e:
            raise EngineError(f"no array map of {entries} x {value_size} bytes: {e.strerror}") from None
        self.value_size = value_size
        self.entries = entries

    def lookup(self, index: int = 0) -> bytes:
        """The value at `index`."""
        room = (self.value_size + 7) // 8 * 8       # what the kernel copies
        value = ctypes.create_string_buffer(room)
        self._element(MAP_LOOKUP, index, value)
        return value.raw[:self.value_size]

    def update(self, value: bytes, index: int = 0) -> None:
        """Replace the value at `index`."""
        if len(value) != self.value_size:
            raise EngineError(f"{len(value)} bytes for a map value of {self.value_size}")
        room = (self.value_size + 7) // 8 * 8
        self._element(MAP_UPDATE, index, ctypes.create_string_buffer(value, room))

    def _element(self, command: int, index: int, value: ctypes.Array[ctypes.c_char]) -> None:
        key = ctypes.create_string_buffer(index.to_bytes(4, "little"), 4)
        try:
            _bpf(command, _attr("IIQQQ", self.fd, 0, _address(key), _address(value), 0))
        except OSError as e:
            raise EngineError(f"map element {index}: {e.strerror}") from None


class XdpProgram(_Owner):
    """A program of type XDP in the kernel."""

    def run(self, data: bytes, repeat: int = 1) -> KernelRun:
        """Run it over a packet of at least 14 bytes; EngineError when the kernel takes no such packet."""
        if len(data) < MIN_PACKET:
            raise EngineError(f"{len(data)} bytes of packet, the kernel runs XDP on {MIN_PACKET} or more")
        source = ctypes.create_string_buffer(data, len(data))
        room = len(data) + _HEADROOM
        target = ctypes.create_string_buffer(room)
        attr = _attr("IIIIQQII", self.fd, 0, len(data), room, _address(source), _address(target), repeat, 0)
        try:
            _bpf(PROG_TEST_RUN, attr)
        except OSError as e:
            raise EngineError(f"test run of {len(data)} bytes: {e.strerror}") from None
        _, retval, _, size, _, _, _, duration = struct.unpack_from("<IIIIQQII", attr)
        return KernelRun(retval, target.raw[:size], duration)


def load_xdp(text: bytes, *, maps: Mapping[int, ArrayMap] | None = None,
             values: Mapping[int, tuple[ArrayMap, int]] | None = None, name: str = "lpn",
             license_: str = "GPL") -> XdpProgram:
    """Load bare bytecode as an XDP program; KernelRejected with the verifier's log when it is refused.

    `maps`: slot of an lddw -> map whose handle it loads (for the kernel's map helpers). `values`: slot of an lddw ->
    (map, offset): it loads the address of that byte of the map's first value, so one array map can hold what a
    program reads and writes beside the packet.
    """
    code = bytearray(text)
    for slot, map_ in (maps or {}).items():
        _relocate(code, slot, PSEUDO_MAP_FD, map_.fd, 0)
    for slot, (map_, offset) in (values or {}).items():
        _relocate(code, slot, PSEUDO_MAP_VALUE, map_.fd, offset)
    insns = ctypes.create_string_buffer(bytes(code), max(len(code), 1))
    license_text = ctypes.create_string_buffer(license_.encode())

    log = ctypes.create_string_buffer(_LOG_SIZE)

    def load(level: int) -> int:
        return _bpf(PROG_LOAD, _attr(
            "IIQQIIQII16s", PROG_TYPE_XDP, len(code) // 8, _address(insns), _address(license_text), level,
            len(log), _address(log), 0, 0, name.encode()[:15]))

    if not code or len(code) % 8:
        raise EngineError(f"{len(code)} bytes are not one or more whole instructions")
    try:
        return XdpProgram(load(_RESULT))
    except OSError as e:
        if e.errno in _TOO_MUCH:                # a million lines say no more, and are written for ten seconds
            raise KernelRejected(log.value.decode(errors="replace"), e.errno) from None
        try:
            return XdpProgram(load(_STEPS))
        except OSError as e:
            if e.errno in INTERRUPTED:          # it has not said no: what the log ends with is where it was
                raise EngineError(f"signals interrupted the kernel's verifier {ATTEMPTS} times") from None
            raise KernelRejected(log.value.decode(errors="replace"), e.errno) from None


def _relocate(code: bytearray, slot: int, kind: int, fd: int, offset: int) -> None:
    """Point the lddw at `slot` to a map: RFC 9669 section 5.4, source field 1 or 2."""
    at = 8 * slot
    if not 0 <= at <= len(code) - 16 or code[at] != 0x18:
        raise EngineError(f"instruction {slot} is no lddw to relocate")
    struct.pack_into("<Bhi", code, at + 1, code[at + 1] & 15 | kind << 4, 0, fd)
    struct.pack_into("<i", code, at + 12, offset)


def check_available() -> None:
    """EngineUnavailable unless this process may use bpf(2)."""
    ArrayMap(8).close()

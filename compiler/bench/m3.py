"""The programs of tests/bench on an emulated Cortex-M3, beside native C for the same work, compiled by the same compiler and run on
the same core. Counts are exact; cycles are those of Arm's manual, without wait states of the flash."""
from __future__ import annotations

import itertools
import random
import struct
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lpn.lang import tables as control
from lpn.runtime.engines import EngineError, get_engine
from lpn.runtime.variants import OPTIONS, SMALLEST

from ..asm import assemble
from ..build import compile_program
from ..judge import sealed
from . import peers
from .frames import FOLDER, Frame, Frames
from .measure import PAYLOADS, PROGRAMS, program_of, right

NATIVE = FOLDER / "native"
LEVEL = "-O2"                   #: of native C; the engine itself is -Os
ENGINES = ("m3", "thumb2")


@dataclass
class Spent:
    """One run."""

    thumb: int
    cycles: int
    flash_cycles: int
    insns: int | None = None                    # eBPF


@dataclass
class Loading:
    """A chain's containers, loaded: cycles of parsing and checking the code, the certificate, of the interpreter's plan, of translating; bytes."""

    insns: int                                  # slots of eBPF
    image: int
    code: int
    check: int
    certificate: int
    plan: int
    translate: int


@dataclass
class OnM3:
    """`micro`: by program, then native, checked, certified, in the smallest interpreter, translated. `packets`: by program, then native or `form, engine`,
    then by frame; 10 bytes of payload. `text`: bytes of flash of the engine's parts, `memory`: of RAM. `loading`: by program. `absent`: why there is nothing."""

    micro: dict[str, dict[str, Spent]] = field(default_factory=dict)
    packets: dict[str, dict[str, dict[str, Spent]]] = field(default_factory=dict)
    text: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    loading: dict[str, Loading] = field(default_factory=dict)
    compiler: str = ""
    absent: str | None = None

    def as_dict(self) -> dict:
        return asdict(self)


def measure(frames: Frames) -> OnM3:
    """Raises EngineError where a program does not do its work."""
    from lpn.runtime.m3.core import check_available
    try:
        check_available()
    except EngineError as e:
        return OnM3(absent=str(e))
    from lpn.runtime.m3 import firmware
    out = OnM3(compiler=firmware.version(), text=text_sizes(), memory=memory_sizes())
    for name, data in INPUTS.items():
        out.micro[name] = micro(name, data)
    for name in PROGRAMS:
        forms = out.packets[name] = {}
        native = natively(name, frames)
        if native is not None:
            forms["native C"] = native
        for fuse in (True, False):
            program = program_of(name)
            build = compile_program(program, fuse=fuse)
            sealed(build)
            if not fuse:
                out.loading[name] = loading(build.bundle)
            for engine in ENGINES:
                forms[f"{'fused' if fuse else 'chain'}, {engine}"] = {
                    frame.name: packet(name, program, build, engine, frames, frame) for frame in frames.of(name, PAYLOADS[0])}
    return out


# ---------------------------------------------------------------- small programs

def _inputs() -> dict[str, bytes]:
    draw = random.Random(42)                    # so that figures compare with those of others on the same octets
    words, payload = (bytes(draw.randrange(256) for _ in range(n)) for n in (360, 64))
    udp = struct.pack(">HHHH", 0xF0B1, 0x1633, 72, 0) + payload
    addresses = bytes.fromhex("fe80000000000000021122fffe334455fe80000000000000021122fffe334466")
    frame = bytes.fromhex("61dc05cdab") + bytes(range(0x10, 0x18)) + bytes(range(0x20, 0x28)) + bytes.fromhex("7e33f0f0b116331234") + payload
    return {"fletcher32": words, "hdrparse": frame, "inetck": addresses + udp}


INPUTS = _inputs()


def micro(name: str, data: bytes) -> dict[str, Spent]:
    """The same C function natively and, compiled by clang -O2 -mcpu=v3, in the interpreter. Its eBPF is kept as text."""
    from lpn.runtime.m3 import firmware
    from lpn.runtime.m3.raw import CERTIFIED, CLEAN32, RawRunner
    result, spent = call(NATIVE / f"{name}.c", name, data, len(data))
    out = {"native C": spent}
    text = assemble((NATIVE / f"{name}.s").read_text("utf-8"))
    usual, smallest = RawRunner(counting=True), RawRunner(counting=True, firmware=firmware.engine(*OPTIONS[SMALLEST]))
    stack = 16 << 16                            # they use none; the interpreter zeroes as much as a container needs
    for form, runner, modes in (("checked", usual, CLEAN32), ("certified", usual, CLEAN32 | CERTIFIED),
                                ("certified, smallest", smallest, CLEAN32 | CERTIFIED), ("64-bit registers", usual, 0)):
        ran = runner.run(text, ctx=data, modes=modes | stack)
        if ran.error != "ok" or ran.r0 != result:
            raise EngineError(f"{name}, {form}: {ran.error}, {ran.r0} instead of {result}")
        out[form] = Spent(runner.count.thumb, runner.count.cycles, runner.count.flash_cycles, ran.insns)
    out["translated"] = translated(name, assemble(f"r2 = {len(data)}") + text, data, result, out["checked"].insns)
    return out


def translated(name: str, text: bytes, data: bytes, want: int, insns: int | None) -> Spent:
    """The eBPF as Thumb-2. What it is given beside the context is in its text."""
    from lpn.runtime.engine.thumb2 import translate
    from lpn.runtime.m3.core import CODE, Core
    core = Core()
    code = translate(text, clean32=True).code
    core.write(CODE, code)
    core.learn(CODE, len(code))
    result = core.call(CODE, core.allocate(len(data), data), 0)
    if result != want:
        raise EngineError(f"{name}, translated: {result} instead of {want}")
    count = core.count()
    return Spent(count.thumb, count.cycles, count.flash_cycles, insns)


def call(source: Path, name: str, data: bytes, *more: int | bytes, include: Path | None = None) -> tuple[int, Spent]:
    """Run a native C function on `data`; arguments of bytes are handed over by address."""
    from lpn.runtime.m3.core import Core
    core = Core(native_firmware(source, include))
    arguments = [core.allocate(len(a), a) if isinstance(a, bytes) else a for a in (data, *more)]
    result = core.call(name, *arguments)
    count = core.count()
    return result, Spent(count.thumb, count.cycles, count.flash_cycles)


def native_firmware(source: Path, include: Path | None = None):
    from lpn.runtime.m3 import firmware
    headers = sorted(include.glob("*.h")) if include else None
    return firmware.read(firmware.build(source.stem, [source, firmware.HERE / "support.c"], headers=headers, optimise=LEVEL,
                                        include=tuple(filter(None, (include, firmware.HERE / "libc"))), flags=("-Wno-unknown-pragmas",)))


# ---------------------------------------------------------------- packets

def packet(name: str, program, build, engine: str, frames: Frames, frame: Frame) -> Spent:
    """One frame through LPN's program, its chain as a whole. Raises EngineError unless it did its work."""
    given = control.from_json(frames.given(name, frame), program)
    loaded = get_engine(engine).load(build.bundle)
    loaded.set_state(build.initial_state(given))
    for table, entries in build.entries(given).items():
        loaded.set_entries(table, entries)
    result = loaded.run(frame.body if name == "udp_tx" else frame.data)
    if not right(name, frames, frame, result, "fused") or result.thumb is None:
        raise EngineError(f"{name}, {engine}, frame {frame.name}: {result.verdict} {result.reason or ''} {result.fault or ''}")
    return Spent(result.thumb, result.cycles or 0, result.flash_cycles or 0, result.insns)


def natively(name: str, frames: Frames) -> dict[str, Spent] | None:
    """`forward` by our own C; the others by the hand-written C where it is found."""
    if name == "forward":
        mac = int(frames.routes[0]["args"][0], 16).to_bytes(6, "big")
        out = {}
        for frame in frames.of(name, PAYLOADS[0]):
            result, out[frame.name] = call(NATIVE / "forward.c", "forward", frame.data, len(frame.data), mac)
            if result != 1:
                raise EngineError(f"native C: forward does not do its work on frame {frame.name}")
        return out
    try:
        folder = peers.sources()
    except peers.Absent:
        return None
    return {frame.name: by_hand(folder, name, frames, frame) for frame in frames.of(name, PAYLOADS[0])}


def by_hand(folder: Path, name: str, frames: Frames, frame: Frame) -> Spent:
    """The hand-written C on the memory it expects (peers.py)."""
    from lpn.runtime.m3.core import Core
    core = Core(native_firmware(folder / f"{name}.c", folder))
    data = frame.body if name == "udp_tx" else frame.data
    at = core.allocate(peers.HEADROOM + len(data) + 64, bytes(peers.HEADROOM) + data) + peers.HEADROOM
    rec = core.allocate(peers.RECORD, peers.record_of(frame) if name == "udp_tx" else b"")
    state = core.allocate(len(peers.state_of(frames)), peers.state_of(frames))
    ctx = core.allocate(peers.CONTEXT, b"".join(p.to_bytes(8, "little") for p in (at, at + len(data), rec, state)))
    result = core.call("f", ctx)                # as lpn_ctx.h calls all of them
    count = core.count()
    written = int.from_bytes(core.read(ctx + peers.HDR_LEN, 4), "little")
    if name == "udp_tx":
        good = result == peers.TRANSMIT and core.read(at - written, written + len(data)) == frame.data
    else:
        good = result == (peers.DELIVER if name == "udp_rx" else len(frame.header)) and core.read(rec, len(frame.header)) == frame.header
    if not good:
        raise EngineError(f"hand-written C: {name} does not do its work on frame {frame.name} on the core: it returns {result:#x}")
    return Spent(count.thumb, count.cycles, count.flash_cycles)


# ---------------------------------------------------------------- sizes

#: Files of the engine by part; the node's own and what all share are not counted.
TEXT: dict[str, tuple[str, ...]] = {
    "interpreter, 32 bits": ("vm32.c", "vm32_plan.c", "vm32_thumb2.S", "vm32_smallest.S"),
    "interpreter, 64 bits, and helpers": ("vm.c", "env.c", "env_smallest.S"),
    "images and their check": ("image.c", "load.c", "load_thumb2.S"),
    "certificates": ("certificate.c", "certificate_thumb2.S"),
    "translator": ("thumb2.c", "thumb2_clean.S"),
    "what translated code calls": ("native.c",),
    "chains": ("chain.c",),
    "tables": ("tables.c",),
    "buffers": ("buffers.c",),
    "state of another version": ("state.c",),
    "names of errors": ("names.c", "certificate_names.c"),
}


#: What is smaller in the smallest engine.
LESS = {"smallest: interpreter, 32 bits": TEXT["interpreter, 32 bits"], "smallest: helpers": TEXT["interpreter, 64 bits, and helpers"],
        "smallest: translator": TEXT["translator"]}


def text_sizes() -> dict[str, int]:
    from lpn.runtime.m3 import firmware
    return ({part: firmware.text_of(*names) for part, names in TEXT.items()}
            | {part: firmware.text_of(*names, options=OPTIONS[SMALLEST]) for part, names in LESS.items()})


#: Types of the engine: a loaded container with one function, beside its image and data; what a chain runs in; of that, the stack.
MEMORY = {"a loaded container": ("lpn_container", "lpn_func"), "an execution context": ("lpn_chain",), "of it, the interpreter's run": ("lpn_run",)}


def memory_sizes() -> dict[str, int]:
    from lpn.runtime.m3 import firmware
    sizes = firmware.struct_sizes(*itertools.chain(*MEMORY.values()))
    return {what: sum(-(-sizes[name] // 4) * 4 for name in names) for what, names in MEMORY.items()}


# ---------------------------------------------------------------- loading

def translating(bundle, *options: str):
    """A loaded program whose containers the core has translated; its engine was built with `options`."""
    from lpn.runtime.engines import DEFAULT_FUEL
    from lpn.runtime.m3 import firmware
    from lpn.runtime.m3.core import Core
    from lpn.runtime.m3.engine import Thumb2Program
    return Thumb2Program(bundle, DEFAULT_FUEL, core=Core(firmware.engine(*options), window="lpn_container_translate"))


def loading(bundle) -> Loading:
    """What a node does once with a chain's images: it checks them, and translates them."""
    from lpn.runtime.engines import DEFAULT_FUEL
    from lpn.runtime.m3.core import Core
    from lpn.runtime.m3.engine import M3Program
    steps = []
    for step in ("lpn_container_init", "lpn_container_certify", "lpn_plan32"):
        core = Core(window=step)
        M3Program(bundle, DEFAULT_FUEL, core=core)
        steps.append(core.count().cycles)
    program = translating(bundle)
    images = bundle.chained()
    return Loading(sum(len(image.text) // 8 for image in images), sum(len(image.to_bytes()) for image in images),
                   sum(len(each.code) for each in program.translated), *steps, sum(each.cycles for each in program.loading))

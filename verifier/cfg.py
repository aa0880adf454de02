"""From bytes to a control-flow graph: the rules that need no data (1-10, 32), basic blocks, functions, natural loops.

Local functions are inlined: each call site has its own copy of the callee's blocks, so that the analysis knows the caller's
facts in it. A node is a block in the context of its call chain.
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..compiler import isa
from ..compiler.isa import Instruction
from .descriptors import ContextDescriptor
from .frames import Frames, frames
from .rules import Violation

MAX_DEPTH = 8
MAX_NESTING, MAX_LOOP_NODES = 32, 400_000             # loops in loops; nodes of all loops' bodies (rule 38)
MAX_EXPANDED = 32_768                                 # instructions after inlining (rule 38)


# Rules 1-8 and 11: the text as a table -------------------------------------------------------------
def check_text(text: bytes, profile: ContextDescriptor) -> dict[int, Instruction]:
    """Instructions by slot index. Raises Violation."""
    if not text:
        raise Violation(1, None, "the text is empty", "a container is at least r0 = 0 and exit", "the engine would run whatever lies behind it")
    if len(text) % 8:
        raise Violation(1, len(text) // 8, f"a text of {len(text)} bytes ends inside an instruction",
                        "give all of it: an instruction has 8 bytes", "the engine would take bytes behind the text for the rest of the instruction")
    if len(text) // 8 > profile.max_text:
        raise Violation(1, None, f"the text has {len(text) // 8} instructions, the limit is {profile.max_text}",
                        "divide the container in two", "a node has no room for more")
    raw, out, slot = isa.raw_slots(text), {}, 0
    while slot < len(raw):
        insn = raw[slot]
        if not isa.known_to(insn, profile.target):
            row = isa.OPCODES.get(insn.op)
            form = row.name if row else "no instruction"
            if row and profile.target in row.targets:
                form += " with an offset" if insn.is_alu else " to a local function"
            raise Violation(2, slot, f"opcode 0x{insn.op:02x} ({form}) is unknown to target {profile.target}",
                            _instead(insn, profile.target), "the engine would stop there, or do what another instruction says")
        for what, reg in (("destination", insn.dst), ("source", insn.src)):
            if reg > 10 and not (insn.is_lddw or insn.is_call):
                raise Violation(3, slot, f"{what} register {reg} does not exist", "use r0 to r10",
                                f"the engine would use memory behind its {isa.REGISTERS} registers")
        if insn.dst > 10:
            raise Violation(3, slot, f"destination register {insn.dst} does not exist", "use r0 to r10",
                            f"the engine would use memory behind its {isa.REGISTERS} registers")
        if insn.is_lddw:
            if slot + 1 >= len(raw):
                raise Violation(6, slot, "lddw is the last slot: its second half is missing", "give both halves",
                                "the engine would take what lies behind the text for the upper half")
            second = raw[slot + 1]
            if second != Instruction(0, imm=second.imm):
                raise Violation(6, slot + 1, "the second half of lddw has fields other than the immediate",
                                "set opcode, registers and offset of it to zero", "an engine that reads it as an instruction would do something else")
            insn = Instruction(insn.op, insn.dst, insn.src, insn.off, insn.imm & 0xFFFFFFFF | (second.imm & 0xFFFFFFFF) << 32)
        if (why := _reserved(insn)):
            raise Violation(4, slot, why, "set it to zero" if why.startswith("unused") else "use a form of RFC 9669",
                            "an engine that gives the field a meaning would do something else")
        if insn.dst == 10 and (insn.is_alu or insn.is_lddw or insn.is_load) or (
                insn.is_atomic and insn.imm & isa.FETCH and insn.src == 10):
            raise Violation(5, slot, "r10 is written", "copy r10 to another register and change that", "the stack would begin somewhere else")
        if profile.target == "femto":
            _miscompiled(insn, slot)
        out[slot] = insn
        slot += insn.slots
    for slot, insn in out.items():
        if insn.is_jump or insn.is_local_call:
            target = insn.target(slot)
            if target in out:
                continue
            if 0 <= target < len(raw):
                raise Violation(7, slot, f"the target, slot {target}, is the second half of lddw", "jump to its first half, or behind it",
                                "the engine would execute the upper half of a constant as an instruction")
            raise Violation(8, slot, f"the target, slot {target}, is outside the text of {len(raw)} slots",
                            f"jump to a slot from 0 to {len(raw) - 1}", "the engine would execute whatever lies there")
    return out


def _reserved(insn: Instruction) -> str | None:
    """What an unused field holds (RFC 9669: unused fields SHALL be cleared to zero)."""
    used = set()
    if insn.is_alu:
        name = isa.ALU_NAMES[insn.code]
        used = {"dst", "src" if insn.uses_reg else "imm"}
        if name == "NEG":
            used = {"dst"}
        elif name == "END":
            used = {"dst", "imm"}
            if insn.imm not in (16, 32, 64):
                return f"byte swap of {insn.imm} bits"
        if insn.off:
            allowed = {"DIV": (1,), "MOD": (1,), "MOV": (8, 16, 32) if insn.is_wide else (8, 16)}.get(name, ())
            if name == "MOV" and not insn.uses_reg:
                allowed = ()
            if insn.off not in allowed:
                return f"offset {insn.off} in an arithmetic instruction"
            used.add("off")
    elif insn.is_lddw:
        used = {"dst", "imm", "src"}
        if insn.src not in (0, isa.LDDW_RODATA, isa.LDDW_DATA) or insn.src and insn.op != isa.LDDW:
            return f"lddw of unknown kind {insn.src}"
    elif insn.is_load:
        used = {"dst", "src", "off"}
    elif insn.is_atomic:
        used = {"dst", "src", "off", "imm"}
        if insn.imm not in isa.ATOMIC_OPS.values() and (insn.imm & ~isa.FETCH not in (0x00, 0x40, 0x50, 0xA0)):
            return f"unknown atomic operation 0x{insn.imm & 0xFFFFFFFF:x}"
    elif insn.is_store:
        used = {"dst", "off", "src" if insn.cls == isa.STX else "imm"}
    elif insn.is_branch:
        used = {"dst", "off", "src" if insn.uses_reg else "imm"}
    elif insn.is_goto:
        used = {"off"} if insn.op == isa.JA else {"imm"}
    elif insn.is_call:
        used = {"imm", "src"}
        if insn.src not in (isa.CALL_HELPER, isa.CALL_LOCAL):
            return f"call of unknown kind {insn.src}"
    for name in ("dst", "src", "off", "imm"):
        if name not in used and getattr(insn, name):
            return f"unused field {name} is {getattr(insn, name)}"
    return None


def _instead(insn: Instruction, target: str) -> str:
    """What to write for an opcode that the target does not have."""
    if insn.cls == isa.LD:
        return "load by a pointer into the packet"
    if target == "femto":
        return "compile for an older instruction set (-mcpu=v2) and without what that engine lacks"
    return "call a helper by its number" if insn.op == 0x8D else "use an instruction of RFC 9669"


def _miscompiled(insn: Instruction, slot: int) -> None:
    """Forms the stock Femto-Container engine executes otherwise than RFC 9669 says (its src/jumptable.c)."""
    if insn.op == isa.LDDW and insn.imm & 1 << 31 and insn.imm >> 32 != 0xFFFFFFFF:
        raise Violation(11, slot, "this engine sign-extends the low word of lddw over the high one",
                        "build the constant from values below 2^31",
                        f"r{insn.dst} would be {0xFFFFFFFF00000000 | insn.imm & 0xFFFFFFFF:#x} instead of {insn.imm:#x}")
    if insn.is_alu and insn.code == isa.ALU_OPS["MOV"] and not insn.uses_reg and insn.imm < 0:
        raise Violation(11, slot, "this engine zero-extends the immediate of a 64-bit move", "subtract from 0 instead",
                        f"r{insn.dst} would be {insn.imm & 0xFFFFFFFF:#x} instead of {insn.imm & 0xFFFFFFFFFFFFFFFF:#x}")


# Blocks and functions ----------------------------------------------------------------------------
@dataclass(eq=False, slots=True)
class Node:
    """A basic block within a call chain. `succs`: (node, "next" | "taken"), in that order."""
    id: int
    code: list[tuple[int, Instruction]]
    chain: tuple[int, ...]                            # the functions that are running, by their entries; the first one's is 0
    succs: list[tuple[Node, str]] = field(default_factory=list)
    preds: list[Node] = field(default_factory=list)
    loop: Loop | None = None                          # the innermost one it lies in
    order: int = 0                                    # position in reverse post-order

    @property
    def first(self) -> int:
        return self.code[0][0]

    @property
    def last(self) -> tuple[int, Instruction]:
        return self.code[-1]

    @property
    def depth(self) -> int:
        return len(self.chain) - 1

    def __repr__(self):
        return f"node {self.id} (slots {self.first}..{self.last[0]})"


@dataclass(eq=False, slots=True)
class Loop:
    """A natural loop: every way in leads through `head`; `body` includes it."""
    head: Node
    body: set[Node]
    parent: Loop | None = None
    depth: int = 1                                    # 1: not nested

    def back_edges(self):
        return [(n, i) for n in sorted(self.body, key=lambda n: n.order) for i, (s, _) in enumerate(n.succs)
                if s is self.head]


@dataclass(frozen=True, slots=True)
class Unrolled:
    """The loop with the head of that number begins with copies of so many turns."""
    head: int
    turns: int


# The number of a node that has a copy for each way to it (apart.py); with a slot, so has all that lies between it and that instruction.
Split = int | tuple[int, int] | Unrolled


@dataclass(eq=False, slots=True)
class Graph:
    insns: dict[int, Instruction]
    frames: Frames
    nodes: list[Node]                                 # in reverse post-order, the entry first
    loops: list[Loop]                                 # outer before inner
    splits: list[Split]

    @property
    def expanded(self) -> int:
        return sum(len(n.code) for n in self.nodes)


def _after(slot: int, insn: Instruction) -> list[tuple[int, str]]:
    """Where control goes inside the function: (slot, kind)."""
    if insn.is_exit:
        return []
    if insn.is_goto:
        return [(insn.target(slot), "taken")]
    out = [(slot + insn.slots, "next")]
    if insn.is_branch:
        out.append((insn.target(slot), "taken"))
    return out


def _functions(insns: dict[int, Instruction]) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Entry slot -> slots reachable inside it, and -> entries of what it calls. Raises Violation for rules 8, 9, 10, 32."""
    entries, out, calls = [0], {}, {}
    while entries:
        entry = entries.pop()
        if entry in out:
            continue
        seen, todo, called = set(), [entry], []
        while todo:
            slot = todo.pop()
            if slot in seen:
                continue
            seen.add(slot)
            insn = insns[slot]
            if insn.is_local_call:
                called.append((slot, insn.target(slot)))
            for target, _ in _after(slot, insn):
                if target not in insns:
                    raise Violation(9, slot, "control falls off the end of the text behind this instruction",
                                    "end every path with exit", "the engine would execute whatever lies behind the text")
                todo.append(target)
        out[entry], calls[entry] = seen, called
        entries += [target for _, target in called]
    _disjoint(insns, out)
    reached = set().union(*out.values())
    for slot in insns:
        if slot not in reached:
            raise Violation(10, slot, "this instruction can never be reached", "remove it, or jump to it",
                            "code that is never run cannot be checked, and a fault could lead there")

    heights: dict[int, int] = {}

    def height(entry: int, chain: tuple) -> int:
        """How many calls deep the function goes; each function is looked at once."""
        if entry not in heights:
            top = 0
            for slot, target in calls[entry]:
                if target in chain:
                    raise Violation(32, slot, f"the function at slot {target} calls itself", "use a loop with a counter",
                                    f"on the way {' -> '.join(map(str, chain[chain.index(target):]))} -> {target} every call takes more stack")
                if len(chain) > 4 * MAX_DEPTH:
                    raise Violation(32, slot, f"calls are more than {MAX_DEPTH} deep", "call fewer functions from one another",
                                    "the engine has room for no more frames")
                top = max(top, 1 + height(target, chain + (target,)))
            heights[entry] = top
        return heights[entry]
    if height(0, (0,)) >= MAX_DEPTH:
        raise Violation(32, None, f"calls are {heights[0] + 1} functions deep, the limit is {MAX_DEPTH}",
                        "call fewer functions from one another", "the engine has room for no more frames")
    return out, {entry: {target for _, target in called} for entry, called in calls.items()}


def _disjoint(insns: dict[int, Instruction], functions: dict[int, set[int]]) -> None:
    """A function is left by exit alone, and entered by calls: it ends where the next one begins."""
    entries = sorted(functions)
    for entry in entries:
        at = bisect_right(entries, entry)
        end = entries[at] if at < len(entries) else max(insns) + 1
        for slot in sorted(slot for slot in functions[entry] if entry <= slot < end):
            for target, kind in _after(slot, insns[slot]):
                if entry <= target < end:
                    continue
                other = entries[bisect_right(entries, target) - 1]
                if kind == "next":
                    raise Violation(9, slot, f"control falls into the function at slot {other} behind this instruction",
                                    "end every path of a function with exit", "that function would run on the stack of this one")
                raise Violation(8, slot, f"the target, slot {target}, is in another function, the one at slot {other}",
                                "jump inside the function, or call the other one", "that function would run on the stack of this one")


def _blocks(insns: dict[int, Instruction], slots: set[int], entry: int):
    """Block start -> its instructions; blocks end at jumps, exits, local calls and before leaders."""
    leaders = {entry}
    for slot in slots:
        insn = insns[slot]
        if insn.is_jump or insn.is_local_call:
            leaders |= {target for target, _ in _after(slot, insn)}
    out = {}
    for leader in leaders:
        code, slot = [], leader
        while True:
            insn = insns[slot]
            code.append((slot, insn))
            if insn.is_jump or insn.is_exit or insn.is_local_call:
                break
            slot += insn.slots
            if slot in leaders:
                break
        out[leader] = code
    return out


def build(text: bytes, profile: ContextDescriptor, splits: Sequence[Split] = ()) -> Graph:
    """The graph of a text section, with loops. Raises Violation (rules 1-11, 32, 33, 38). `splits`: in the order in which they are copied."""
    insns = check_text(text, profile)
    functions, calls = _functions(insns)
    blocks = {entry: _blocks(insns, slots, entry) for entry, slots in functions.items()}
    nodes: list[Node] = []
    size = 0

    def inline(entry: int, chain: tuple[int, ...]) -> tuple[Node, list[Node]]:
        """The callee's entry node and its exit nodes."""
        nonlocal size
        made, exits = {}, []
        for start, code in blocks[entry].items():
            size += len(code)
            if size > MAX_EXPANDED:
                raise Violation(38, None, f"more than {MAX_EXPANDED} instructions after inlining local calls", "call large functions from fewer places",
                                "each call is analysed with what its caller knows, so each needs a copy")
            made[start] = Node(len(nodes), code, chain)
            nodes.append(made[start])
        for node in list(made.values()):
            slot, insn = node.last
            if insn.is_exit:
                exits.append(node)
            elif insn.is_local_call:
                callee, returns = inline(insn.target(slot), (*chain, insn.target(slot)))
                node.succs.append((callee, "next"))
                for last in returns:
                    last.succs.append((made[slot + 1], "next"))
            else:
                node.succs = [(made[target], kind) for target, kind in _after(slot, insn)]
        return made[entry], exits

    entry, _ = inline(0, (0,))
    for each in splits:
        if isinstance(each, int):
            split(nodes, each)
        elif isinstance(each, Unrolled):
            unroll(nodes, entry, each)
        else:
            _reverse_post_order(entry)
            split_down(nodes, *each)
    graph = Graph(insns, frames(insns, calls, profile.target), _reverse_post_order(entry), [], list(splits))
    for node in graph.nodes:
        for succ, _ in node.succs:
            succ.preds.append(node)
    _find_loops(graph)
    return graph


def split(nodes: list[Node], number: int) -> None:
    """The node of that number is copied for each edge that leads to it but the first; copies are appended. Predecessors and loops are not known yet."""
    node = nodes[number]
    edges = [(n, i) for n in nodes for i, (succ, _) in enumerate(n.succs) if succ is node]
    for before, i in edges[1:]:
        copy = Node(len(nodes), node.code, node.chain, list(node.succs))
        before.succs[i] = copy, before.succs[i][1]
        nodes.append(copy)


def between(node: Node, slot: int) -> list[Node]:
    """The node, and what lies behind it on the ways to an instruction. Loops among these are whole. Nodes have their order."""
    before: dict[Node, list[Node]] = {node: []}       # what lies behind it, and where that is reached from
    todo = [node]
    while todo:
        n = todo.pop()
        for succ, _ in n.succs:
            if succ.order > n.order and succ not in before:
                before[succ] = []
                todo.append(succ)
            if succ in before:
                before[succ].append(n)
    found = {n: None for n in before if any(at == slot for at, _ in n.code)}
    todo = [*found]
    while todo:
        for n in before[todo.pop()]:
            if n not in found:
                found[n] = None
                todo.append(n)
    return [*found] if node in found else []


def split_down(nodes: list[Node], number: int, slot: int) -> None:
    """As `split`, with what lies between the node and an instruction: ways that meet there stay apart up to it."""
    node = nodes[number]
    region = between(node, slot)
    edges = [(n, i) for n in nodes for i, (succ, _) in enumerate(n.succs) if succ is node]
    for before, i in edges[1:]:
        copies = {n: Node(len(nodes) + k, n.code, n.chain) for k, n in enumerate(region)}
        for n, copy in copies.items():
            copy.succs = [(copies.get(succ, succ), kind) for succ, kind in n.succs]
        before.succs[i] = copies[node], before.succs[i][1]
        nodes += copies.values()


def unroll(nodes: list[Node], entry: Node, wanted: Unrolled) -> None:
    """The first turns of a loop have copies of its body: that is the same program. Predecessors and loops are not known yet."""
    head = nodes[wanted.head]
    reached, without = _reverse_post_order(entry), {head}
    if entry is not head:
        without.add(entry)
        todo = [entry]
        while todo:                                   # what the head does not dominate
            for succ, _ in todo.pop().succs:
                if succ not in without:
                    without.add(succ)
                    todo.append(succ)
    before: dict[Node, list[Node]] = {n: [] for n in reached}
    for n in reached:
        for succ, _ in n.succs:
            before[succ].append(n)
    body, todo = {head: None}, [n for n in before[head] if n is head or n not in without]
    while todo:
        if (n := todo.pop()) not in body:
            body[n] = None
            todo += before[n]
    entering = [(n, i) for n in reached if n not in body for i, (succ, _) in enumerate(n.succs) if succ is head]
    again = [(n, i) for n in body for i, (succ, _) in enumerate(n.succs) if succ is head]
    for _ in range(wanted.turns):
        copies = {n: Node(len(nodes) + k, n.code, n.chain) for k, n in enumerate(body)}
        for n, copy in copies.items():
            copy.succs = [(succ if succ is head else copies.get(succ, succ), kind) for succ, kind in n.succs]
        for n, i in entering:
            n.succs[i] = copies[head], n.succs[i][1]
        entering = [(copies[n], i) for n, i in again]
        nodes += copies.values()


# Loops -------------------------------------------------------------------------------------------
def _reverse_post_order(entry: Node) -> list[Node]:
    seen, out, stack = {entry}, [], [(entry, iter(entry.succs))]
    while stack:
        node, todo = stack[-1]
        for succ, _ in todo:
            if succ not in seen:
                seen.add(succ)
                stack.append((succ, iter(succ.succs)))
                break
        else:
            stack.pop()
            out.append(node)
    out.reverse()
    for i, node in enumerate(out):
        node.order = i
    return out


def _dominators(nodes: list[Node]) -> list[int]:
    """Immediate dominator of each node by order (Cooper, Harvey, Kennedy)."""
    idom = [-1] * len(nodes)
    idom[0] = 0
    changed = True
    while changed:
        changed = False
        for node in nodes[1:]:
            new = -1
            for pred in node.preds:
                a = pred.order
                if idom[a] < 0:
                    continue
                if new < 0:
                    new = a
                    continue
                b = new
                while a != b:
                    while a > b:
                        a = idom[a]
                    while b > a:
                        b = idom[b]
                new = a
            if new != idom[node.order]:
                idom[node.order], changed = new, True
    return idom


def _find_loops(graph: Graph) -> None:
    idom = _dominators(graph.nodes)

    def dominates(a: int, b: int) -> bool:
        while b > a:
            b = idom[b]
        return a == b

    loops: dict[Node, Loop] = {}
    size = 0
    for node in graph.nodes:
        for succ, _ in node.succs:
            if succ.order > node.order:
                continue
            if not dominates(succ.order, node.order):
                raise Violation(33, node.last[0], f"the loop through slot {succ.first} has more than one entry", "jump to one place of it only",
                                f"slot {succ.first} is entered from outside and from slot {node.last[0]}, which is reached without it")
            loop = loops.setdefault(succ, Loop(succ, {succ}))
            todo = [node]
            while todo:
                n = todo.pop()
                if n not in loop.body:
                    loop.body.add(n)
                    todo += n.preds
                    size += 1
            if size > MAX_LOOP_NODES:
                raise Violation(38, succ.first, "the loops are too many and too large", "divide the container in two")
    graph.loops = sorted(loops.values(), key=lambda l: (l.head.order, -len(l.body)))
    for loop in graph.loops:                          # outer first: the last one written is the innermost
        loop.parent = loop.head.loop
        loop.depth = 1 + (loop.parent.depth if loop.parent else 0)
        if loop.depth > MAX_NESTING:
            raise Violation(38, loop.head.first, f"loops are nested more than {MAX_NESTING} deep", "nest fewer",
                            f"with two turns each the innermost would turn 2^{MAX_NESTING} times")
        for node in loop.body:
            node.loop = loop

"""LLVM's optimiser and BPF back end, through llvmlite."""
from __future__ import annotations

import re
from collections import Counter
from functools import cache

import llvmlite.binding as llvm
import llvmlite.ir as ir

from .cells import hidden
from .distances import subtractions
from .spaces import flattened
from .target import Target


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # A loop counter rewritten to a pointer or counted down to zero has no bound that a verifier could rank.
    llvm.set_option("lpnc", "-disable-lsr")
    # A choice's results packed into one word are shifted by what may be too much, before it is known to be one of them.
    llvm.set_option("lpnc", "-switch-to-lookup=false")
    # Memory of the stack would be read before the loop that writes it.
    llvm.set_option("lpnc", "-disable-licm-promotion")
    # A truth value that joins two tests takes three instructions to make, and one more to test.
    llvm.set_option("lpnc", "-simplifycfg-branch-fold-threshold=1")
    # What ways that meet have in common would be done behind a choice of its operands.
    llvm.set_option("lpnc", "-simplifycfg-sink-common=0")
    # Where to spill and reload: where it takes least code. What is usual has been laid out apart (lower/guess.py).
    llvm.set_option("lpnc", "-split-spill-mode=size")
    # What needs more stack than there is would end the process; `build` refuses it instead.
    llvm.set_option("lpnc", "-bpf-stack-size=65536")
    # Of names that begin with the same 1,024 letters, as those of one variable do, it would make one.
    llvm.set_option("lpnc", f"-non-global-value-max-name-size={(1 << 31) - 1}")


@cache
def target_machine(cpu: str) -> llvm.TargetMachine:
    _initialize()
    return llvm.Target.from_triple("bpfel").create_target_machine(cpu=cpu, opt=2, reloc="static", codemodel="default")


def text_of(module: ir.Module, target: Target) -> str:
    """The module as LLVM is given it."""
    for function in module.functions:
        if function.blocks:                     # no copies of a block's end for the ways to it
            function.attributes.add("optsize")
    # As if registers had 32 bits: no tables packed into 64-bit numbers, no arithmetic wider than it is written.
    module.data_layout = str(target_machine(target.cpu).target_data).replace("n32:64", "n32")
    return str(module)


def optimize(text: str, target: Target, level: int = 2, fused: bool = False, small: bool = False) -> llvm.ModuleRef:
    """Parses, verifies and optimises a module (of `text_of`) for the target. `fused`: it is of a whole chain; `small`: its code is to be short."""
    machine = target_machine(target.cpu)
    # What was loaded on one of two ways would be loaded on the other for who comes from both. In a chain ways have much in common that they know
    # already, each with addresses of its own: that takes copies of what is behind, and registers that there are none of.
    llvm.set_option("lpnc", f"-enable-load-pre={str(not fused).lower()}")
    # What both ways behind a test begin with would be done before it; later more of it is found to be the same as elsewhere.
    llvm.set_option("lpnc", f"-simplifycfg-hoist-common={str(not small).lower()}")
    ref = llvm.parse_assembly(text)
    ref.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_unrolling = False
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(ref, builder)
    unsigned(ref, builder)
    text = hidden(subtractions(flattened(str(ref) if level else without_impossible(str(ref))), target.half_register), target.half_register)
    ref = parse(least(text) if small or BY_CONSTANT.search(text) else text)
    ref.data_layout = str(machine.target_data)
    return ref


def unsigned(ref: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Offsets are unsigned, and lowering extends no sign. Where LLVM has made one address of another it may do that all the same, as long as it
    does not know that the number it is of is not negative: that takes a register of 64 bits. Ranges say it."""
    for function in ref.functions:
        if not function.is_declaration and " = sext i32 " in str(function):
            ranges = llvm.create_new_function_pass_manager()
            ranges.add_sccp_pass()
            ranges.run(function, builder)


FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)
LABEL = r'[\w.$-]+|"[^"]*"'
LEADING_ON = re.compile(rf"^({LABEL}):[^\n]*\n  (?:unreachable|br label %({LABEL}))$", re.MULTILINE)
CHOICE = re.compile(rf"br i1 \S+, label %({LABEL}), label %({LABEL})")


def without_impossible(text: str) -> str:
    """No branch leads where control never comes, as after any optimisation: the back end would end that way with a call of `__bpf_trap`, a function of the kernel."""
    def of_function(function: re.Match[str]) -> str:
        on = {block[1]: block[2] for block in LEADING_ON.finditer(function[0])}      # None: nowhere
        never = {label for label in on if not leads_somewhere(label, on)}
        return CHOICE.sub(lambda ways: f"br label %{ways[2] if ways[1] in never else ways[1]}" if never & {ways[1], ways[2]} else ways[0], function[0])
    return FUNCTION.sub(of_function, text) if "unreachable" in text else text


def leads_somewhere(label: str, on: dict[str, str | None]) -> bool:
    """Whether control gets anywhere from a block, or goes round for ever. `on`: where blocks that do nothing else lead, None being nowhere."""
    passed: set[str] = set()
    while label in on and label not in passed:
        passed.add(label)
        following = on[label]
        if following is None:
            return False
        label = following
    return True


BY_CONSTANT = re.compile(r" = u(?:div|rem)(?: exact)? i\d+ [^,]+, \d")


def least(text: str) -> str:
    """Asks the back end for the least code. Then it tests for a switch's values one after the other, not for half of them at a time; and what divides by
    a constant divides, where it would multiply by what is 1 / c, to 64 bits."""
    return re.sub(r"^(attributes #\d+ = \{.*?) optsize ", r"\1 minsize optsize ", text, flags=re.MULTILINE)


def parse(text: str) -> llvm.ModuleRef:
    return llvm.parse_assembly(text)


def slots(ref: llvm.ModuleRef, target: Target) -> int:
    """Instruction slots of the code, not exact below 2^13: what LLVM ends the process for, a jump of more than 2^15 slots, is far from there."""
    count = str(ref).count("\n  ")              # lines of functions
    if count >> 13:
        count = slots_by_line(ref, target).total()
    return count


def slots_by_line(ref: llvm.ModuleRef, target: Target) -> Counter[tuple[str, int]]:
    """How many slots of the code are made of each line of the source, (file, line); of none: ("", 0)."""
    files: dict[str, str] = {}
    out: Counter[tuple[str, int]] = Counter()
    at = "", 0
    for line in emit_assembly(ref, target).splitlines():
        if line.startswith("\t.file") and (named := re.match(r'\t\.file\t(\d+) (?:"[^"]*" )?"([^"]*)"', line)):
            files[named[1]] = named[2]
        elif line.startswith("\t.loc"):
            _, number, row, *_ = line.split()
            if int(row):                        # what is made of no line belongs to the one before
                at = files.get(number, ""), int(row)
        elif line.startswith("\t") and not line.startswith(("\t.", "\t#")):
            out[at] += 1 + line.endswith(" ll")         # lddw
    return out


def emit_object(ref: llvm.ModuleRef, target: Target) -> bytes:
    return target_machine(target.cpu).emit_object(ref)


def emit_assembly(ref: llvm.ModuleRef, target: Target) -> str:
    return target_machine(target.cpu).emit_assembly(ref)

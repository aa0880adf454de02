"""Generated programs have every construct of the language."""
from __future__ import annotations

import inspect
import re
from itertools import pairwise

from lpn.compiler.fuzz.differential import checked
from lpn.compiler.generate.base import Context, HeaderInfo, RandomChoose, StructInfo, bit
from lpn.compiler.generate.modules import Generator
from lpn.compiler.generate.halves import halved
from lpn.compiler.layout import HeaderLayout
from lpn.compiler.lower.codec import inline_octets
from lpn.compiler.lower.shared import rows_alike
from lpn.compiler.target import WINDOW
from lpn.lang import ast
from lpn.lang.instances import walk, written_alike
from lpn.lang.types import Bits, EnumType, ErrorType, HeaderType, Meta, Stack, StructType, Varbit

#: Classes of the syntax tree that stand for several others; of an import, what it brings is in the program.
ABSTRACT = {"Node", "Decl", "Expr", "Stmt", "Module", "Program", "Import"}
CALLS = {"advance", "extract", "lookahead", "verify", "emit", "apply", "count", "execute", "reset", "truncate", "isValid", "setValid", "setInvalid", "push_front",
         "pop_front", "inet_sum", "holds", "radio.on", "radio.off", "radio.cca", "radio.channel", "radio.power", "radio.send", "net.send",
         "buffer.put", "buffer.hold", "buffer.take", "buffer.drop", "Action", "Function", "Extern", "Table"}
OPERATORS = {"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "~", "!", "++", "|+|", "|-|", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "&&&"}
OTHER = {"persistent", "exact", "lpm", "ternary", "range", "bound arguments", "default_action", "action_run", "hit", "miss", "next", "last", "lastIndex",
         "deferred", "old", "not_zero", "shift by more than 32 bits"}
#: What is lowered in a way of its own, and went wrong in it once.
SPECIAL = {"row longer than the window", "argument made of headers", "argument made of the header it fills", "arm said late",
           "rows that share a call", "struct assigned", "signed number of more than 64 bits", "index of more than 32 bits", "processor without meta",
           "error in a variable", "6LoWPAN", "argument that an action changes", "priority of a constant entry", "table without key",
           "variable of a processor", "enum as its bits", "whether it was sent", "header that looks at two", "stack of more than three", "migration of a processor",
           "header assigned", "varbit assigned", "error as a parameter of an action", "register of errors", "errors compared",
           "range of a signed number", "list in a list", "call between comparisons",
           "rows of several groups that look behind the header", "row that asks what is computed", "complement of a cast", "action_run in turns",
           "parts for one number each",
           "lookahead of le", "lookahead of an enum", "lookahead of a signed number", "lookahead of parts of octets"}

SEEDS = (20000, 20001, 20002, 20003, 20004, 20005, 20006, 20008, 20009, 20010, 20013, 20016, 20018, 20019, 20021, 20024, 20027, 20029, 20030,
         20033, 20037, 20038, 20045, 20052, 20054, 20060, 20097, 20113, 20201, 20226, 20312, 20374, 20486, 23382)


def constructs(program: ast.Program) -> set[str]:
    out = set()
    for decl in program.decls:
        for node in walk(decl):
            out.add(type(node).__name__)
            if isinstance(node, ast.Call):
                out.add(node.target if isinstance(node.target, str) else type(node.target).__name__)
                out |= {of_lookahead(node)} if node.target == "lookahead" else set()
            elif isinstance(node, (ast.Binary, ast.Unary)):
                out.add(node.op)
                if node.op in ("<<", ">>") and node.right.const is None:
                    out |= {"shift by more than 32 bits"} if getattr(node.right.type, "width", 0) > 32 else set()
                out |= {"complement of a cast"} if node.op == "~" and isinstance(node.operand, ast.Cast) and is_sum(node.operand.operand) else set()
                out |= {"errors compared"} if isinstance(node, ast.Binary) and isinstance(node.left.type, ErrorType) and node.right.const is None else set()
            elif isinstance(node, ast.TableKey):
                out.add(node.match)
            elif isinstance(node, ast.ActionRef) and node.args:
                out.add("bound arguments")
            elif isinstance(node, ast.Table) and node.default_action is not None:
                out.add("default_action")
            elif isinstance(node, ast.Register) and node.persistent:
                out.add("persistent")
            elif isinstance(node, ast.Field) and node.deferred:
                out.add("deferred")
            elif isinstance(node, ast.Function):
                out.add(node.name)
            elif isinstance(node, ast.Member):
                out.add(node.name)
                if isinstance(node.base, ast.Name):
                    out.add(node.base.name)
            elif isinstance(node, ast.Codec):
                out |= of_codec(node) | ({"6LoWPAN"} if node.name == "Iphc" else set())
            elif isinstance(node, ast.Assign):
                out |= {name for kind, name in ((StructType, "struct assigned"), (HeaderType, "header assigned"), (Varbit, "varbit assigned"))
                        if isinstance(node.target.type, kind)}
            elif isinstance(node, ast.Action):
                out |= {"error as a parameter of an action"} if any(isinstance(p.type, ErrorType) for p in node.params) else set()
            elif isinstance(node, ast.Register):
                out |= {"register of errors"} if isinstance(getattr(node.type, "cell", node.type), ErrorType) else set()
            elif isinstance(node, ast.Index) and getattr(node.index.type, "width", 0) > 32:
                out.add("index of more than 32 bits")
            elif isinstance(node, ast.VarDecl):
                out |= {"error in a variable"} if isinstance(node.type, ErrorType) else set()
                out |= {"enum as its bits"} if node.init is not None and isinstance(node.type, Bits) and isinstance(node.init.type, EnumType) else set()
            elif isinstance(node, ast.Header):
                out |= {"header that looks at two"} if len(node.params) == 2 else set()
                out |= {"parts for one number each"} if any(isinstance(f.when, ast.Binary) and isinstance(g.when, ast.Binary) and f.when.op == g.when.op == "=="
                                                            and written_alike(f.when.left, g.when.left) for f, g in pairwise(node.fields())) else set()
            elif isinstance(node, ast.For):
                out |= {"action_run in turns"} if any(isinstance(x, ast.Member) and x.name == "action_run" for x in walk(node)) else set()
            elif isinstance(node, ast.StructField):
                out |= {"stack of more than three"} if isinstance(node.type, Stack) and node.type.size > 3 else set()
            elif isinstance(node, ast.Processor):
                out |= {"migration of a processor"} if any(isinstance(x, ast.Migrate) for x in node.locals) else set()
                out |= {"processor without meta"} if not any(isinstance(p.type, Meta) for p in node.params) else set()
                out |= {"variable of a processor"} if any(isinstance(x, ast.VarDecl) for x in node.locals) else set()
            if isinstance(node, ast.ActionRef) and node.args and any(p.direction == "inout" and isinstance(p.type, Bits) for p in node.action.params):
                out.add("argument that an action changes")
            elif isinstance(node, ast.Table):
                out |= {"table without key"} if not node.keys else set()
                out |= {"priority of a constant entry"} if any(entry.priority is not None for entry in node.entries) else set()
            elif isinstance(node, ast.Binary) and isinstance(node.left, ast.Call) and node.left.target == "radio.send":
                out.add("whether it was sent")
            elif isinstance(node, ast.RangeSet):
                out |= {"range of a signed number"} if isinstance(node.low.type, Bits) and node.low.type.signed else set()
            elif isinstance(node, ast.ListExpr):
                out |= {"list in a list"} if any(isinstance(one, ast.ListExpr) for one in node.elements) and isinstance(node.type, StructType) else set()
            if isinstance(node, ast.Binary) and node.op in ("&&", "||"):
                between = node.left.right if isinstance(node.left, ast.Binary) and node.left.op == node.op else None
                called = between.left.target if isinstance(between, ast.Binary) and isinstance(between.left, ast.Call) else None
                out |= {"call between comparisons"} if isinstance(called, ast.Function) and any(p.direction for p in called.params) else set()
            if isinstance(getattr(node, "type", None), Bits) and node.type.signed and node.type.width > 64:
                out.add("signed number of more than 64 bits")
            if isinstance(node, ast.Call) and node.via is not None and any(isinstance(arg, ast.Call) for arg in node.via.args):
                made = [arg for arg in node.via.args if isinstance(arg, ast.Call) and arg.args and isinstance(arg.type, StructType)]
                out |= {"argument made of headers"} if made else set()
                if node.target == "extract" and any(written_alike(one, node.args[0]) for arg in made for one in arg.args):
                    out.add("argument made of the header it fills")
    return out


def of_lookahead(call: ast.Call) -> str:
    if call.type_args[0].name == "le":
        return "lookahead of le"
    if isinstance(call.type, EnumType):
        return "lookahead of an enum"
    assert isinstance(call.type, Bits)
    return "lookahead of a signed number" if call.type.signed else "lookahead of parts of octets" if call.type.width % 8 else "lookahead"


def is_sum(e: ast.Expr) -> bool:
    return isinstance(e, ast.Call) and e.target == "inet_sum"


def of_codec(codec: ast.Codec) -> set[str]:
    out = set()
    assert codec.header is not None
    if sum(any(isinstance(n, ast.Following) for n in walk(group.rows)) for group in codec.groups) > 1:
        out.add("rows of several groups that look behind the header")
    computed = {f for f in codec.header.fields() if f.equation is not None and f.equation.const is None}
    asked = [n for group in codec.groups for row in group.rows for item in row.items if isinstance(item, ast.RowWhere) for n in walk(item.cond)]
    out |= {"row that asks what is computed"} if any(isinstance(n, ast.Name) and n.decl in computed for n in asked) else set()
    beside = {tag: {f for f, _ in unit.fields if f.name != "_"} - {tag} for unit in HeaderLayout(codec.header).units for tag, _ in unit.fields}
    said: set[object] = set()
    for group in codec.groups:
        longest = max(map(inline_octets, group.rows), default=0)
        out |= {"row longer than the window"} if longest > WINDOW else set()
        out |= {"rows that share a call"} if rows_alike(group.rows) else set()
        for decl in {getattr(item.target, "decl", None) for row in group.rows for item in row.items if isinstance(item, ast.RowAssign)}:
            if isinstance(decl, ast.ChoiceArm) and beside[decl.choice.tag.decl] & said:
                out.add("arm said late")
        said |= {target.target.decl for row in group.rows for item in row.items if isinstance(item, ast.RowInline)
                 for target in item.targets if isinstance(target.target, ast.Name) and isinstance(target.target.decl, ast.Field)}
    return out


def wanted() -> set[str]:
    classes = {name for name, kind in inspect.getmembers(ast, inspect.isclass) if issubclass(kind, ast.Node)}
    return (classes - ABSTRACT) | CALLS | OPERATORS | OTHER | SPECIAL


def generated(seed: int) -> list[str]:
    """The texts of a program and of the version that follows it, if one does."""
    generator = Generator(RandomChoose(seed), seed % 8 == 7)
    return [text for text in (generator.program().text, generator.following) if text]


def test_every_construct_is_generated() -> None:
    """These programs have them; after a change of the generator `python tests/test_generator.py` finds others."""
    missing = wanted()
    for seed in SEEDS:
        for text in generated(seed):
            missing -= constructs(checked(text))
    assert not missing


def search(seed: int = 20000) -> None:
    """Prints seeds whose programs have every construct together. Only those with a new word are checked: that takes the time."""
    missing, words, found = wanted(), set(), []
    while missing:
        for text in generated(seed):
            new = set(re.findall("[A-Za-z]{3,}", text)) - words
            words |= new
            if (new or "codec" in text and missing & SPECIAL) and (more := constructs(checked(text)) & missing):
                missing -= more
                found += [seed] if seed not in found else []
        seed += 1
    print(f"SEEDS = {tuple(found)}")


if __name__ == "__main__":
    search()


def test_a_program_need_not_have_headers() -> None:
    """Where a processor changes in place what there is not, the generator stumbled."""
    program = Generator(RandomChoose(22757)).program()
    assert "struct headers" in program.text and checked(program.text)


def test_no_event_turns_the_radio_on_where_there_is_a_budget() -> None:
    """What an event starts has no share of the time: such a program has no promise, or is none (found by the fuzzer)."""
    text = Generator(RandomChoose(910077), False).program().text
    checked(text)
    assert "timing Clock" in text and "radio.on(" in text


VARBIT = """header H { bit<8> n; varbit<24> d sized (8 * (bit<16>) n); }
struct headers { H h; }
register<bit<8>> r;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) { apply { %s } }
"""


def test_an_octet_of_a_varbit_is_one_that_it_may_have() -> None:
    """A constant index behind the longest varbit is refused (found by the fuzzer)."""
    said = (Generator(RandomChoose(seed), False).octet_of({"h.h.d": 3}, Context("processor"), 2) for seed in range(60))
    checked(VARBIT % " ".join(f"r = {text};" for text in said))


def test_no_half_of_a_function_divides_by_zero() -> None:
    """Where a member of the struct that it makes is read, another number stands (found by the fuzzer)."""
    struct, link = StructInfo("S1", tuple((f"e{n}", bit(64)) for n in range(4))), HeaderInfo("H0")
    lines = ["function S1 mk(H0 p0) {", "    S1 r;", *(f"    r.e{n} = r.e3 + p0.a % r.e1 / r.e0;" for n in range(4)), "    return r;", "}"]
    half = halved(lines, struct, ["e0", "e1", "e2", "e3"], link)
    assert [line.split(" = ")[1] for line in half[2:6]] == ["(64w0) + p0.a % (64w1) / (64w1);"] * 4

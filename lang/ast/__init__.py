"""The abstract syntax of LPN, declared as data; one class a construct, every field named.

The parser (`build.py`) makes these nodes; the checker (`lang/check/`) fills in the fields marked *checked*:
`type` and `const` of expressions, `decl` of names. Consumers (reference interpreter, lowering) read only
checked programs and never look at source text again.
"""
from .expressions import (
    Node, TypeRef, Expr, Int, BoolLit, Name, Member, Index, Slice, Unary, Binary, Conditional, Cast, Call, Via, Sizeof,
    InlinePiece, Following, RangeSet, DontCare, Tuple, ListExpr)
from .statements import Stmt, Block, VarDecl, ConstDecl, Assign, If, For, Switch, Return, Exit, ExprStmt, Applied, After
from .declarations import (
    Decl, Import, Imported, Const, Typedef, EnumMember, Enum, ErrorMember, ErrorDecl, StructField, Struct, Param, Function, Extern)
from .headers import Field, Word, ChoiceArm, ChoiceField, Where, HeaderItem, Header
from .codecs import TagBits, CodecVar, RowInline, InlineTarget, RowAssign, RowWhere, RowItem, Row, Group, Codec
from .objects import Register, Counter, Meter, Migrate, BufferDecl, Action, TableKey, ActionRef, TableEntry, Table
from .modules import SelectCase, Transition, ValueSet, State, Parser, Processor, Deparser
from .program import Handler, EnergyBudget, Timing, Binding, Protocol, Module, Program

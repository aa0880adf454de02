// The grammar of LPN. `python -m lpn.lang.grammar.generate` makes the parser from it (LpnLexer.py, LpnParser.py).
//
// Most words of the language are words only where they can stand, and names everywhere else: rule `identifier` lists
// them. Precedence is P4's: `&`, `^` and `|` bind tighter than comparisons.
grammar Lpn;

program : item* EOF ;

item
    : importDecl | constDecl | typedefDecl | enumDecl | errorDecl | structDecl | headerDecl | codecDecl
    | functionDecl | externDecl | registerDecl | counterDecl | meterDecl | bufferDecl | actionDecl | migrateDecl
    | parserDecl | processorDecl | deparserDecl | timingDecl | protocolDecl
    ;

// ---------------------------------------------------------------- names and types

identifier
    : IDENT
    | 'actions' | 'after' | 'apply' | 'be' | 'buffer' | 'choice' | 'control' | 'cost' | 'counter' | 'default_action'
    | 'deferred' | 'energy' | 'entries' | 'every' | 'first' | 'import' | 'jitter' | 'key' | 'max' | 'meter' | 'migrate'
    | 'min' | 'ms' | 'of' | 'on' | 'partial' | 'persistent' | 'priority' | 'protocol' | 'register' | 's' | 'size' | 'sized' | 'slot'
    | 'state' | 'tag' | 'timeout' | 'timing' | 'us' | 'value_set' | 'var' | 'version' | 'via' | 'when' | 'within' | 'word'
    ;

qualified : identifier ('.' identifier)* ;

typeRef
    : baseType ('[' expr ']')?
    | identifier ('(' exprs? ')')? ('[' expr ']')?
    ;
plainType : baseType | identifier ;             // where a `[` or `(` would belong to an expression
baseType
    : 'bit' ('<' width '>')?
    | ('int' | 'le' | 'varbit') '<' width '>'
    | 'bool' | 'void' | 'error'
    ;
width : NUMBER | identifier | '(' expr ')' ;

params : param (',' param)* ;
param : direction=('in' | 'out' | 'inout')? typeRef identifier ;

// ---------------------------------------------------------------- top level

importDecl : 'import' qualified ';' ;
constDecl : 'const' typeRef identifier '=' expr ';' ;
typedefDecl : 'typedef' typeRef identifier ';' ;
enumDecl : 'enum' typeRef? identifier '{' enumMember (',' enumMember)* ','? '}' ;
enumMember : identifier ('=' expr)? ;
errorDecl : 'error' '{' (identifier (',' identifier)* ','?)? '}' ;
structDecl : 'struct' identifier '{' structField* '}' ;
structField : typeRef identifier ('=' expr)? ';' ;
functionDecl : 'function' typeRef identifier '(' params? ')' block ;
externDecl : 'extern' typeRef identifier '(' params? ')' ('cost' expr)? ('in' '{' identifier (',' identifier)* '}')? ';' ;
migrateDecl : 'migrate' 'version' expr '{' registerDecl* statement* '}' ;

// ---------------------------------------------------------------- headers

headerDecl : 'header' identifier ('(' params? ')')? '{' headerItem* '}' ;
headerItem : wordItem | choiceItem | whereItem | fieldDecl ;
wordItem : 'word' ('le' | 'be' | 'bit') '<' NUMBER '>' '{' fieldDecl* '}' ';'? ;
choiceItem : 'choice' '(' identifier ')' '{' choiceArm* '}' identifier ';' ;
choiceArm : identifier ':' typeRef ';' ;
whereItem : 'where' expr ';' ;
fieldDecl : typeRef identifier fieldAttribute* ';' ;
fieldAttribute
    : '=' expr                  # equationAttribute
    | 'deferred'                # deferredAttribute
    | 'in' '{' exprs? '}'       # valuesAttribute
    | 'when' expr               # whenAttribute
    | 'sized' expr              # sizedAttribute
    ;

// ---------------------------------------------------------------- codecs

codecDecl : 'codec' identifier ('(' params? ')')? '<->' identifier '{' codecTag? codecItem* '}' ;
codecTag : 'tag' tagBits (',' tagBits)* ';' ;
tagBits : NUMBER | identifier ':' NUMBER ;
codecItem : codecVar | codecGroup | rowItem (',' rowItem)* ';' ;
codecVar : 'var' plainType identifier ('=' (firstIn | expr))? ';' ;
firstIn : 'first' identifier 'in' expr 'where' expr ;
codecGroup : identifier (',' identifier)* '{' codecRow* '}' ;
codecRow : exprs ':' (rowItem (',' rowItem)*)? ';' ;
rowItem
    : 'inline' '(' inlineTarget (',' inlineTarget)* ')'     # inlineItem
    | 'where' expr                                          # whereRowItem
    | expr '=' expr                                         # assignRowItem
    ;
inlineTarget : expr (':' expr)? ;

// ---------------------------------------------------------------- state, actions, tables

registerDecl : 'persistent'? 'register' '<' typeRef '>' arraySize? identifier ';' ;
counterDecl : 'counter' '<' typeRef '>' arraySize? identifier ';' ;
meterDecl : 'meter' '<' typeRef '>' arraySize? identifier ('(' exprs? ')')? ';' ;
bufferDecl : 'buffer' '<' width '>' arraySize? identifier ('timeout' expr)? ';' ;
arraySize : '[' expr ']' | '(' expr ')' ;
varDecl : typeRef identifier ('=' expr)? ';' ;

actionDecl : 'action' identifier '(' params? ')' block ;
tableDecl : 'table' identifier '{' tableProperty* '}' ;
tableProperty
    : 'key' '=' '{' tableKey* '}' ';'?                      # keyProperty
    | 'actions' '=' '{' (actionRef ';')* '}' ';'?           # actionsProperty
    | 'const'? 'entries' '=' '{' tableEntry* '}' ';'?       # entriesProperty
    | 'const'? 'default_action' '=' actionRef ';'           # defaultProperty
    | 'size' '=' expr ';'                                   # sizeProperty
    ;
tableKey : expr ':' identifier ';' ;
actionRef : identifier ('(' exprs? ')')? ;
tableEntry : 'const'? ('priority' '=' expr ':')? expr ':' actionRef ';' ;

// ---------------------------------------------------------------- parser, processor, deparser

parserDecl : 'parser' identifier '(' params? ')' '{' parserItem* '}' ;
parserItem : stateDecl | constDecl | varDecl | valueSetDecl ;
valueSetDecl : 'value_set' '<' typeRef '>' arraySize identifier ';' ;
stateDecl : 'state' identifier ('max' expr)? '{' statement* transition? '}' ;
transition
    : 'transition' 'select' '(' exprs ')' '{' selectCase* '}'   # selectTransition
    | 'transition' target ';'                                   # directTransition
    ;
selectCase : ('default' | expr) ':' target ';' ;
target : identifier ('(' expr ')')? ;

processorDecl : ('processor' | 'control') identifier '(' params? ')' '{' processorItem* '}' ;
processorItem
    : registerDecl | counterDecl | meterDecl | bufferDecl | actionDecl | tableDecl | migrateDecl | constDecl | varDecl
    | applyBlock
    ;
applyBlock : 'apply' block ;
deparserDecl : 'deparser' identifier '(' params? ')' '{' statement* '}' ;

// ---------------------------------------------------------------- statements

block : '{' statement* '}' ;
statement
    : block                                                 # blockStatement
    | plainType identifier ('=' expr)? ';'                  # varStatement
    | 'const' plainType identifier '=' expr ';'             # constStatement
    | 'if' '(' expr ')' statement ('else' statement)?       # ifStatement
    | 'for' '(' identifier 'in' expr ')' statement          # forStatement
    | 'switch' '(' expr ')' '{' switchCase* '}'             # switchStatement
    | 'return' expr? ';'                                    # returnStatement
    | 'exit' ';'                                            # exitStatement
    | 'after' expr ('max' expr)? block                      # afterStatement
    | expr ('=' expr)? ';'                                  # exprStatement
    | ';'                                                   # emptyStatement
    ;
switchCase : ('default' | expr) ':' block? ;

// ---------------------------------------------------------------- time

timingDecl : 'timing' identifier '{' timingItem* '}' ;
timingItem : registerDecl | counterDecl | meterDecl | bufferDecl | constDecl | varDecl | handler | energyDecl ;
handler
    : 'every' expr ('jitter' expr)? ('within' expr)? block                                              # everyHandler
    | 'on' qualified ('(' (identifier (',' identifier)*)? ')')? ('within' expr)? block                  # onHandler
    | 'slot' expr 'of' expr ('within' expr)? block                                                      # slotHandler
    ;
energyDecl : 'energy' '{' energyBudget* '}' ;
energyBudget : qualified ('<' | '<=') (PERCENTAGE | expr '%'?) ';' ;

protocolDecl : 'protocol' identifier ('version' expr)? '{' protocolItem* '}' ;
protocolItem
    : 'on' qualified ('(' exprs? ')')? ':' identifier ('->' identifier)* ('within' expr)? ';'           # onBinding
    | 'timing' ':' identifier (',' identifier)* ';'                                                     # timingBinding
    ;

// ---------------------------------------------------------------- expressions

exprs : expr (',' expr)* ;
expr
    : expr '.' identifier                                           # memberExpr
    | expr '[' expr (':' expr)? ']'                                 # indexExpr
    | expr ('<' typeRef '>')? '(' (argument (',' argument)*)? ')'   # callExpr
    | ('!' | '~' | '-' | '+') expr                                  # unaryExpr
    | '(' expr (',' expr)* ')'                                      # parenExpr
    | '(' plainType ')' expr                                        # castExpr
    | expr ('*' | '/' | '%') expr                                   # binaryExpr
    | expr ('+' | '-' | '++' | '|+|' | '|-|') expr                  # binaryExpr
    | expr ('<<' | '>' '>') expr                                    # binaryExpr
    | expr '&' expr                                                 # binaryExpr
    | expr '^' expr                                                 # binaryExpr
    | expr '|' expr                                                 # binaryExpr
    | expr ('<' | '>' | '<=' | '>=') expr                           # binaryExpr
    | expr ('==' | '!=') expr                                       # binaryExpr
    | expr '&&' expr                                                # binaryExpr
    | expr '||' expr                                                # binaryExpr
    | <assoc=right> expr '?' expr ':' expr                          # conditionalExpr
    | expr '&&&' expr                                               # binaryExpr
    | expr '..' expr                                                # rangeExpr
    | NUMBER unit?                                                  # numberExpr
    | ADDRESS                                                       # addressExpr
    | ('true' | 'false')                                            # boolExpr
    | 'sizeof' '(' expr ')'                                         # sizeofExpr
    | 'error' '.' identifier                                        # errorExpr
    | 'inline' ':' width                                            # inlineWidthExpr
    | 'inline' '(' expr ')'                                         # inlineExpr
    | 'following' ':' width                                         # followingExpr
    | '{' exprs? '}'                                                # listExpr
    | identifier                                                    # nameExpr
    ;
argument : expr ('via' identifier ('(' exprs? ')')?)? ;
unit : 'us' | 'ms' | 's' | 'min' ;

// ---------------------------------------------------------------- words

fragment DIGITS : [0-9] [0-9_]* ;
NUMBER : ([0-9]+ [ws])? ('0' [xX] [0-9a-fA-F_]+ | '0' [bB] [01_]+ | '0' [oO] [0-7_]+ | '0' [dD] [0-9_]+ | DIGITS) ;
PERCENTAGE : [0-9]+ '.' [0-9]+ [ \t]* '%' ;            // with digits behind the point; whole ones are a number and a sign
ADDRESS : ('ip6' | 'eui64') '"' ~["\r\n]* '"' ;
IDENT : [A-Za-z_] [A-Za-z0-9_]* ;

SPACE : [ \t\r\n\u000c]+ -> skip ;
LINE_COMMENT : '//' ~[\r\n]* -> skip ;
COMMENT : '/*' .*? '*/' -> skip ;
ANNOTATION : '@' [A-Za-z_] [A-Za-z0-9_]* ('(' ~[()]* ')')? -> skip ;      // P4's; none means anything here

// What no rule above takes; the parser's user hears of it in `syntax.py`.
OPEN_COMMENT : '/*' ;
OPEN_STRING : ('ip6' | 'eui64')? '"' ~["\r\n]* '"'? ;
OTHER : . ;

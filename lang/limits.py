"""What a node has room for in one program: what the language refuses beyond, what a bundle may say, and what the engine is built with (lpn.h); what the compiler follows; and what is read of a file."""

MAX_HOOKS = 64              #: LPN_MAX_HOOKS; chains and handlers
MAX_TABLES = 64             #: value sets are tables, too
MAX_KEY_FIELDS = 8          #: LPN_MAX_KEY_FIELDS
MAX_KEY_BYTES = 64          #: LPN_MAX_KEY_BYTES; of a table's fields together, and of a buffer's
MAX_ACTIONS = 256           #: of a table
MAX_ACTION_DATA = 256       #: LPN_MAX_ACTION_DATA; what an entry gives to one
OUT_SIZE = 256              #: LPN_OUT_SIZE; octets that a deparser emits: more are dropped as PacketTooLong
MAX_ENTRIES = 0xFFFF        #: of a table; lpn.h counts them in 16 bits
MAX_PRIORITY = 0xFFFF       #: of an entry; the same

#: What the compiler follows, of what is put in line where it is called (check/calls_in_line.py) and of what is walked as deep as it is long.
MAX_CALLS = 1 << 16         #: in one module, with those of what it calls
MAX_APPLIED = 1 << 12       #: modules that one applies, with those that they apply
MAX_CALLS_DEEP = 256        #: calls in each other
MAX_ROW = 1 << 9            #: binary operators in a row, as in a + b + c, and `else if`

#: Octets that are read of one file or of standard input: one may be without an end. What has more is refused. Captures are read record by record, and have no limit.
MAX_TEXT = 1 << 24          #: a source or what it imports, a tables, event or test file
MAX_BINARY = 1 << 26        #: an image, a bundle, an object, bytecode, a source map

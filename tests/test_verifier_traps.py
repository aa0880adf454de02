"""Programs a verifier with a plausible mistake would accept. Each does harm on some packet, so each must be refused."""
import pytest

from lpn.compiler.asm import assemble
from lpn.verifier import LPN, HelperSpec, verify

START = "r6 = r1\nr7 = *(u64 *)(r6 + 0)\nr8 = *(u64 *)(r6 + 8)\nr9 = *(u64 *)(r6 + 16)\nw0 = 0\n"
HELPERS = [HelperSpec(1, "fill", (("write", 8),), "zero"), HelperSpec(2, "pull", (), "zero", changes_packet=True), HelperSpec(3, "find", (), ("nullable", "rec", 8)),
           HelperSpec(4, "all", (("region", "rec"),), "zero"), HelperSpec(5, "look", ("const", "read", "write"), "u32")]
BAD = "r0 = *(u8 *)(r9 + 64)\n"                       # one past the record

# name, rule that must be named, program
TRAPS = [
    ("a 64-bit sum wraps", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nr3 += 16\nif r3 s>= r2 goto E\n" + BAD + "E: exit"),
    ("a 64-bit sum wraps, unsigned", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nr3 += 16\nif r3 > r2 goto E\n" + BAD + "E: exit"),
    ("a 32-bit sum wraps", 22, "r2 = *(u32 *)(r9 + 0)\nr3 = r2\nw3 += 16\nif r3 > r2 goto E\n" + BAD + "E: exit"),
    ("a 32-bit difference wraps", 22, "r2 = *(u8 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 1)\nw2 -= w3\nif w2 < 256 goto E\n" + BAD + "E: exit"),
    ("negative is large", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = 5\nif r2 s>= r3 goto E\nif r2 < r3 goto E\n" + BAD + "E: exit"),
    ("signed bound used as an index", 22, "r2 = *(u64 *)(r9 + 0)\nif r2 s> 7 goto E\nif r2 s< -7 goto E\nr3 = r9\nr3 += r2\nr0 = *(u8 *)(r3 + 6)\nE: w0 = 0\nexit"),
    ("half a comparison", 30, "r2 = *(u64 *)(r9 + 0)\nif w2 > 7 goto E\nr3 = r9\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nE: w0 = 0\nexit"),
    ("two masks of one word are not one", 19, "r2 = *(u8 *)(r7 + 0)\nr3 = r2\nw2 &= 15\nw3 &= 240\nr4 = r7\nr4 += r2\nif r4 > r8 goto E\n"
     "r5 = r7\nr5 += r3\nr0 = *(u8 *)(r5 + 0)\nE: w0 = 0\nexit"),
    ("the end plus something", 19, "r2 = r8\nr2 += 8\nr3 = r7\nr3 += 8\nif r3 > r2 goto E\nr0 = *(u8 *)(r7 + 64)\nE: w0 = 0\nexit"),
    ("the end minus something, wrong way", 19, "r2 = r8\nr2 += -8\nif r2 > r7 goto E\nr0 = *(u8 *)(r7 + 71)\nE: w0 = 0\nexit"),
    ("length compared in 32 bits after it went negative", 19, "r2 = *(u8 *)(r7 + 0)\nr3 = r7\nr3 += r2\nw4 = w8\nw4 -= w3\nif w4 < 100 goto E\n"
     "r0 = *(u8 *)(r3 + 99)\nE: w0 = 0\nexit"),
    ("a cursor moved after the test", 19, "r2 = *(u8 *)(r7 + 0)\nr3 = r7\nr3 += r2\nif r3 > r8 goto E\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nE: w0 = 0\nexit"),
    ("the test is skipped on one path", 19, "r2 = *(u8 *)(r7 + 0)\nr3 = r7\nr3 += r2\nif r2 == 200 goto M\nif r3 > r8 goto E\nM: r0 = *(u8 *)(r3 + 0)\nE: w0 = 0\nexit"),
    ("a spill half overwritten", 16, "*(u64 *)(r10 - 8) = r9\n*(u8 *)(r10 - 5) = 0\nr2 = *(u64 *)(r10 - 8)\nr0 = *(u8 *)(r2 + 0)\nexit"),
    ("a spill overwritten at a variable offset", 16, "*(u64 *)(r10 - 16) = 0\n*(u64 *)(r10 - 8) = r9\nr2 = *(u8 *)(r7 + 0)\nw2 &= 7\nr3 = r10\nr3 += r2\n"
     "*(u8 *)(r3 - 12) = 1\nr2 = *(u64 *)(r10 - 8)\nr0 = *(u8 *)(r2 + 0)\nexit"),
    ("a number overwritten at a variable offset", 22, "*(u64 *)(r10 - 8) = 3\nr2 = *(u8 *)(r7 + 0)\nw2 &= 7\nr3 = r10\nr3 += r2\n*(u8 *)(r3 - 8) = 255\n"
     "r2 = *(u8 *)(r10 - 8)\nr9 += r2\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("a helper overwrites a spill", 22, "*(u64 *)(r10 - 8) = r9\nr1 = r10\nr1 += -8\ncall 1\nr2 = *(u64 *)(r10 - 8)\nr0 = *(u8 *)(r2 + 0)\nexit"),
    ("an atomic addition changes a known number", 22, "*(u64 *)(r10 - 8) = 3\nr2 = *(u8 *)(r7 + 0)\nlock *(u64 *)(r10 - 8) += r2\nr2 = *(u64 *)(r10 - 8)\n"
     "w2 &= 255\nr9 += r2\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("the packet changes under a spilled cursor", 16, "*(u64 *)(r10 - 8) = r7\ncall 2\nr2 = *(u64 *)(r10 - 8)\nr0 = *(u8 *)(r2 + 0)\nexit"),
    ("the packet changes, its old length does not help", 19, "r2 = r7\nr2 += 100\nif r2 > r8 goto E\ncall 2\nr7 = *(u64 *)(r6 + 0)\nr0 = *(u8 *)(r7 + 64)\nE: w0 = 0\nexit"),
    ("an old length as a number does not help either", 19, "r2 = r8\nr2 -= r7\n*(u64 *)(r10 - 8) = r2\ncall 2\nr2 = *(u64 *)(r10 - 8)\nif r2 < 100 goto E\n"
     "r7 = *(u64 *)(r6 + 0)\nr0 = *(u8 *)(r7 + 64)\nE: w0 = 0\nexit"),
    ("an old length that was added to something is not the new one", 22, "r2 = r8\nr2 -= r7\nr7 = *(u8 *)(r9 + 0)\nr8 = r7\nr8 += r2\ncall 2\n"
     "r2 = *(u64 *)(r6 + 0)\nr3 = *(u64 *)(r6 + 8)\nr3 -= r2\nif r3 != 4 goto E\nr8 -= r7\nr9 += r8\nr0 = *(u8 *)(r9 + 0)\nE: w0 = 0\nexit"),
    ("a callee's frame outlives it", 13, "call f\nr0 = *(u8 *)(r0 + 0)\nexit\nf: *(u64 *)(r10 - 8) = 1\nr0 = r10\nr0 += -8\nexit"),
    ("a callee keeps the caller's registers", 13, "r6 = 5\ncall f\nexit\nf: r0 = r6\nexit"),
    ("a callee writes its caller's spill", 16, "*(u64 *)(r10 - 8) = r9\nr1 = r10\nr1 += -8\ncall f\nr2 = *(u64 *)(r10 - 8)\nr0 = *(u8 *)(r2 + 0)\nexit\n"
     "f: *(u32 *)(r1 + 0) = 1\nw0 = 0\nexit"),
    ("an empty region may lie at 0", 22, "r2 = *(u64 *)(r6 + 24)\nif r2 != 0 goto E\n" + BAD + "E: exit"),
    ("a pointer of one of two regions", 13, "r2 = *(u64 *)(r6 + 32)\nr3 = *(u8 *)(r7 + 0)\nif r3 == 0 goto M\nr2 = r9\nM: r0 = *(u8 *)(r2 + 100)\nexit"),
    ("an inner loop takes back what the outer counts", 33, "w2 = 0\nA: w3 = 0\nB: w2 += -1\nw3 += 1\nif w3 < 2 goto B\nw2 += 2\nw4 = *(u8 *)(r7 + 0)\nif w4 != 0 goto A\nexit"),
    ("a counter set back on one path", 33, "w2 = 0\nL: w2 += 1\nr3 = *(u8 *)(r9 + 0)\nif w3 != 7 goto M\nw2 = 0\nM: if w2 < 10 goto L\nexit"),
    ("a counter that wraps before it is compared", 33, "w2 = 0\nL: w2 += 0x40000000\nif w2 != 5 goto L\nexit"),
    ("a cursor whose step may be 0", 33, "r2 = r7\nL: r3 = r2\nr3 += 1\nif r3 > r8 goto E\nr4 = *(u8 *)(r2 + 0)\nw4 &= 15\nr2 += r4\ngoto L\nE: exit"),
    ("the bound grows with the counter", 34, "w2 = 0\nw3 = 10\nL: w2 += 1\nw3 += 1\nif w2 < w3 goto L\nexit"),
    ("a step over the bound from one of two starts", 33, "w2 = 0\nr3 = *(u8 *)(r9 + 0)\nif w3 == 0 goto L\nw2 = 1\nL: w2 += 5\nif w2 != 50 goto L\nexit"),
    ("the loop's exit value, one more than inside", 22, "w2 = 0\nL: w2 += 8\nif w2 < 64 goto L\nr9 += r2\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("a 64-bit difference wraps", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nr4 = r2\nr4 -= r3\nif r4 s<= r2 goto E\n" + BAD + "E: exit"),
    ("a 64-bit difference wraps upwards", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = *(s8 *)(r9 + 8)\nif r3 s>= 0 goto E\nr4 = r2\nr4 -= r3\nif r4 s> r2 goto E\n"
     "" + BAD + "E: exit"),
    ("a 64-bit sum with a negative constant wraps", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nr3 += -16\nif r3 s<= r2 goto E\n" + BAD + "E: exit"),
    ("a 64-bit sum of two unknowns wraps", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nr4 = r2\nr4 += r3\nif r4 s>= r2 goto E\n" + BAD + "E: exit"),
    ("a 64-bit sum of two unknowns wraps downwards", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = *(s8 *)(r9 + 8)\nif r3 s>= 0 goto E\nr4 = r2\nr4 += r3\nif r4 s< r2 goto E\n"
     "" + BAD + "E: exit"),
    ("a 32-bit sum of two unknowns wraps", 22, "r2 = *(u32 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nr4 = r2\nw4 += w3\nif r4 >= r2 goto E\n" + BAD + "E: exit"),
    ("a 32-bit difference of -1 is large", 30, "r2 = *(u8 *)(r9 + 0)\nw2 &= 1\nr3 = *(u8 *)(r9 + 1)\nw3 &= 1\nw2 -= w3\nr2 += 1\nr9 += r2\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("the sum of 2^32 and 16 is not 16", 23,
     "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nr3 += 16\nr4 = 0x100000000 ll\nif r2 != r4 goto E\nr9 += r3\nr0 = *(u8 *)(r9 + 16)\nE: w0 = 0\n"
     "exit"),
    ("between two copies that moved are 5 bytes", 22, "r2 = *(u8 *)(r9 + 0)\nr3 = r2\nr3 += 3\nr2 += 58\nr2 -= r3\nr9 += r2\nr0 = *(u8 *)(r9 + 9)\nexit"),
    ("a sum of unknowns that moved", 22, "r2 = *(u8 *)(r9 + 0)\nw2 &= 7\nr3 = *(u8 *)(r9 + 1)\nr3 += 50\nr4 = r2\nr4 += r3\nr4 -= r3\nr9 += r4\nr0 = *(u8 *)(r9 + 57)\n"
     "exit"),
    ("a cursor taken back by a signed number", 19,
     "r2 = *(u8 *)(r7 + 0)\nr3 = r7\nr3 += r2\nif r3 > r8 goto E\nr4 = *(u8 *)(r7 + 1)\nw4 &= 15\nr4 += -8\nr3 -= r4\nr0 = *(u8 *)(r3 + 56)\nE: w0 = 0\n"
     "exit"),
    ("a mask that is a number from 255 on", 22,
     "r2 = *(u8 *)(r7 + 0)\nr3 = *(u16 *)(r7 + 1)\nif r3 < 255 goto E\nr4 = r2\nr2 &= r3\nr4 -= r2\nr9 += r4\nr0 = *(u8 *)(r9 + 63)\nE: w0 = 0\n"
     "exit"),
    ("a product with 0", 28, "r2 = 5\nr2 *= 0\nr0 = 7\nr0 /= r2\nexit"),
    ("or with 0 in 32 bits cuts the upper half", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nw3 |= 0\nif r3 == r2 goto E\n" + BAD + "E: exit"),
    ("a 32-bit shift by 0 cuts the upper half", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nw3 <<= 0\nif r3 == r2 goto E\n" + BAD + "E: exit"),
    ("up by 32 or 33, down by 32", 22, "r2 = *(u8 *)(r7 + 0)\nw2 &= 31\nr3 = *(u8 *)(r7 + 1)\nw3 &= 1\nw3 += 32\nr2 <<= r3\nr2 >>= 32\nr9 += r2\nr0 = *(u8 *)(r9 + 32)\n"
     "exit"),
    ("up by 32, something added, down by 32", 22, "r2 = *(u8 *)(r7 + 0)\nw2 &= 31\nr4 = 0x100000000 ll\nr2 <<= 32\nr2 += r4\nr2 >>= 32\nr9 += r2\nr0 = *(u8 *)(r9 + 32)\n"
     "exit"),
    ("a word extended by shifts may be negative", 22, "r2 = *(u32 *)(r9 + 0)\nr2 <<= 32\nr2 s>>= 32\nif r2 s>= 0 goto E\n" + BAD + "E: exit"),
    ("a word extended by shifts may be 2^30", 22, "r2 = *(u32 *)(r9 + 0)\nr2 <<= 32\nr2 s>>= 32\nif r2 s< 0x40000000 goto E\n" + BAD + "E: exit"),
    ("a negative number extended by shifts may become positive", 22, "r2 = *(u64 *)(r9 + 0)\nif r2 s> 5 goto E\nr2 <<= 32\nr2 s>>= 32\nif r2 s<= 5 goto E\n"
     "" + BAD + "E: exit"),
    ("2^31 extended by shifts is negative", 22, "r2 = *(u32 *)(r9 + 0)\nr3 = 0x80000000 ll\nif r2 > r3 goto E\nr2 <<= 32\nr2 s>>= 32\nif r2 s>= 0 goto E\n"
     "" + BAD + "E: exit"),
    ("-2^31-1 extended by shifts is positive", 22,
     "r2 = *(u64 *)(r9 + 0)\nr3 = -2147483649 ll\nif r2 s< r3 goto E\nif r2 s> 5 goto E\nr2 <<= 32\nr2 s>>= 32\nif r2 s<= 5 goto E\n"
     "" + BAD + "E: exit"),
    ("the low half by shifts may be 2^24", 22, "r2 = *(u64 *)(r9 + 0)\nr2 <<= 32\nr2 >>= 32\nif r2 < 0x1000000 goto E\n" + BAD + "E: exit"),
    ("the low half by shifts may be 2^31", 22, "r2 = *(u64 *)(r9 + 0)\nr2 <<= 32\nr2 >>= 32\nr3 = 0x80000000 ll\nif r2 < r3 goto E\n" + BAD + "E: exit"),
    ("the upper half may be 2^31", 22, "r2 = *(u64 *)(r9 + 0)\nr2 >>= 32\nr3 = 0x80000000 ll\nif r2 < r3 goto E\n" + BAD + "E: exit"),
    ("the upper half with its sign may be negative", 22, "r2 = *(u64 *)(r9 + 0)\nr2 s>>= 32\nif r2 s>= 0 goto E\n" + BAD + "E: exit"),
    ("a length taken in 32 bits, compared as a signed one", 19,
     "r2 = *(u8 *)(r7 + 0)\nr3 = r7\nr3 += r2\nw4 = w8\nw4 -= w3\nif r4 s< 6 goto E\nr0 = *(u8 *)(r3 + 69)\nE: w0 = 0\n"
     "exit"),
    ("a length taken in 32 bits may be large", 22, "r2 = *(u8 *)(r7 + 0)\nr3 = r7\nr3 += r2\nw4 = w8\nw4 -= w3\nif r4 < 0x1000000 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("a low half taken from a whole pointer", 24, "w2 = w7\nr3 = r8\nr3 -= r2\nw0 = 0\nexit"),
    ("a low half taken from a number", 24, "w2 = w7\nw3 = 5\nw3 -= w2\nw0 = 0\nexit"),
    ("a low half moved in 64 bits", 24, "w2 = w7\nr2 += 8\nw0 = 0\nexit"),
    ("a pointer and a low half added", 24, "w2 = w7\nw2 += w8\nw0 = 0\nexit"),
    ("a low half multiplied", 24, "w2 = w7\nw2 *= 3\nw0 = 0\nexit"),
    ("a pointer added to a number in 32 bits", 24, "w2 = 4\nw2 += w7\nw0 = 0\nexit"),
    ("an atomic addition to what is not written", 16, "r2 = 1\nlock *(u64 *)(r10 - 8) += r2\nexit"),
    ("an atomic addition to a spilled pointer", 25, "r2 = 1\n*(u64 *)(r10 - 8) = r9\nlock *(u64 *)(r10 - 8) += r2\nexit"),
    ("an exchange gives what was there", 23, "r0 = 3\nr2 = 4\nr0 = cmpxchg_64(r9 + 0, r0, r2)\nr9 += r0\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("the packet changes, a cursor's distance from the old end does not help", 19,
     "r3 = *(u8 *)(r7 + 0)\n*(u64 *)(r10 - 8) = r3\nr4 = r7\nr4 += r3\nif r4 > r8 goto E\ncall 2\nr3 = *(u64 *)(r10 - 8)\nr7 = *(u64 *)(r6 + 0)\nr7 += r3\n"
     "r0 = *(u8 *)(r7 + 63)\nE: w0 = 0\nexit"),
    ("the packet changes, what was left of the old one does not help", 19,
     "r3 = *(u8 *)(r7 + 0)\n*(u64 *)(r10 - 8) = r3\nr4 = r7\nr4 += r3\nr5 = r8\nr5 -= r4\n*(u64 *)(r10 - 16) = r5\ncall 2\nr3 = *(u64 *)(r10 - 8)\n"
     "r5 = *(u64 *)(r10 - 16)\nif r5 s< 1 goto E\nr7 = *(u64 *)(r6 + 0)\nr7 += r3\nr0 = *(u8 *)(r7 + 64)\nE: w0 = 0\nexit"),
    ("the packet changes in a function, the caller's cursor is stale", 20, "r1 = r6\ncall f\nr0 = *(u8 *)(r7 + 0)\nexit\nf: call 2\nw0 = 0\nexit"),
    ("the packet changes in a function, the caller's length is old", 19,
     "r7 = r8\nr2 = *(u64 *)(r6 + 0)\nr7 -= r2\ncall f\nif r7 < 100 goto E\nr2 = *(u64 *)(r6 + 0)\nr0 = *(u8 *)(r2 + 64)\nE: w0 = 0\nexit\nf: call 2\nw0 = 0\n"
     "exit"),
    ("half of an address may be 0", 24, "r0 = 0\nif w9 == 0 goto E\nexit\nE: exit"),
    ("a number compared with an address", 24, "r2 = *(u64 *)(r9 + 0)\nif r2 == r9 goto E\nE: exit"),
    ("an address compared with an unknown number", 24, "r2 = *(u64 *)(r9 + 0)\nif r9 == r2 goto E\nE: exit"),
    ("64 bits with their octets in the other order may be negative", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nr3 = be64 r3\nif r2 == 0 goto E\nif r3 s> 0 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("bits of what was moved are none of what it was before", 22,
     "r2 = *(u8 *)(r9 + 0)\nr3 = r2\nr3 += 8\nr3 &= 240\nif r3 != 0 goto E\nr2 &= 240\nif r2 == 0 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("bits that are not all 0 say nothing of each", 22,
     "r2 = *(u8 *)(r9 + 0)\nr3 = r2\nr3 &= 112\nif r3 == 0 goto E\nr2 &= 64\nif r2 != 0 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("the highest bits of the lower half are not all that are above", 22,
     "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nw3 >>= 28\nr2 >>= 28\nif r3 != 0 goto E\nif r2 == 0 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("a bit that was shifted down is another one", 22,
     "r2 = *(u8 *)(r9 + 0)\nr3 = r2\nr3 >>= 4\nr3 &= 1\nif r3 != 0 goto E\nr2 &= 1\nif r2 == 0 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("the same bits of what was read again", 22,
     "r2 = *(u8 *)(r9 + 0)\nr3 = r2\nr3 &= 112\nr2 = *(u8 *)(r9 + 0)\nr2 &= 112\nif r3 != 0 goto E\nif r2 == 0 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("what is left in 32 bits says nothing of a longer divisor", 22,
     "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nif w2 == 0 goto E\nw3 %= w2\nif r2 s>= 0 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("a half of what may be negative is not below it", 22,
     "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nr3 >>= 1\nif r3 s<= r2 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("half of the lower half is not below the whole as a signed number", 22,
     "r2 = *(u64 *)(r9 + 0)\nr3 = r2\nw3 /= 2\nif r3 s<= r2 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("a number divided by a constant whose lower half is 0", 28, "r2 = *(u64 *)(r9 + 0)\nr3 = 0x100000000 ll\nw2 /= w3\nw0 = 0\nexit"),
    ("nothing is left of a number divided by 0", 28, "r2 = *(u8 *)(r9 + 0)\nr2 %= 0\nw0 = 0\nexit"),
    ("the complement of an address is no number", 24, "r2 = r7\nr2 ^= -1\nif r2 == 5 goto E\nE: w0 = 0\nexit"),
    ("the complement of an address of another region", 23, "r2 = r7\nr2 ^= -1\nr2 += r9\nw0 = 0\nexit"),
    ("the complement of an address less an address", 23, "r2 = r7\nr2 ^= -1\nr2 -= r8\nw0 = 0\nexit"),
    ("the complement in 32 bits, and an address in 64", 23, "r2 = r7\nw2 ^= -1\nr2 += r8\nw0 = 0\nexit"),
    ("the complement in 32 bits, and an address of another region", 23, "r2 = r7\nw2 ^= -1\nw2 += w9\nw0 = 0\nexit"),
    ("the complement in 32 bits less an address", 23, "r2 = r7\nw2 ^= -1\nw2 -= w8\nw0 = 0\nexit"),
    ("what lies between, less one, in 32 bits, may be 0", 22, "r3 = *(u8 *)(r7 + 0)\nr7 += r3\nif r7 > r8 goto E\nr2 = r7\nw2 ^= -1\nw2 += w8\nif r2 > 0 goto E\n" + BAD + "E: exit"),
    ("what lies between, less one, in 32 bits, may be large", 22, "r3 = *(u8 *)(r7 + 0)\nr7 += r3\nif r7 > r8 goto E\nr2 = r7\nw2 ^= -1\nw2 += w8\nif r2 < 4096 goto E\n" + BAD + "E: exit"),
    ("the complement in 32 bits given back", 14, "r0 = r7\nw0 ^= -1\nexit"),
    ("the complement in 32 bits is no number", 24, "r2 = r7\nw2 ^= -1\nif w2 == 5 goto E\nE: w0 = 0\nexit"),
    ("the complement in 32 bits of what may be null", 26, "call 3\nr2 = r0\nw2 ^= -1\nw2 += w8\nw0 = 0\nexit"),
    ("the complement of an address is no address", 22, "r2 = r7\nr2 ^= -1\nr0 = *(u8 *)(r2 + 0)\nexit"),
    ("the complement of an address moved", 23, "r2 = r7\nr2 ^= -1\nr2 += 4\nr2 += r8\nw0 = 0\nexit"),
    ("the complement of an address given back", 14, "r0 = r7\nr0 ^= -1\nexit"),
    ("a low half may be 0", 24, "w2 = w9\nif r2 == 0 goto E\nE: exit"),
    ("low halves ordered", 24, "w2 = w7\nw3 = w8\nif r2 < r3 goto E\nE: exit"),
    ("what is not null is where it goes on", 22, "if r9 != 0 goto B\nexit\nB: " + BAD + "exit"),
    ("half of what may be null", 26, "call 3\nif w0 == 0 goto E\nE: w0 = 0\nexit"),
    ("what may be null compared with an unknown number", 26, "r8 = *(u64 *)(r9 + 0)\ncall 3\nif r0 == r8 goto E\nE: w0 = 0\nexit"),
    ("two that may be null", 26, "call 3\nr8 = r0\ncall 3\nif r0 == r8 goto E\nE: w0 = 0\nexit"),
    ("negative is large, of two unknowns", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nif r2 s>= r3 goto E\nif r2 < r3 goto E\n" + BAD + "E: exit"),
    ("negative is large, of two unknowns, the other way", 22, "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nif r3 s<= r2 goto E\nif r3 > r2 goto E\n" + BAD + "E: exit"),
    ("half a comparison of two unknowns", 30,
     "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nif r3 > 63 goto E\nif r2 s< 0 goto E\nif w2 >= w3 goto E\nr9 += r2\nr0 = *(u8 *)(r9 + 0)\nE: w0 = 0\nexit"),
    ("half a comparison of two unknowns, the other way", 30,
     "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nif r3 > 63 goto E\nif r2 s< 0 goto E\nif w3 <= w2 goto E\nr9 += r2\nr0 = *(u8 *)(r9 + 0)\nE: w0 = 0\nexit"),
    ("the start of a region, moved", 31, "r1 = r9\nr1 += 8\ncall 4\nexit"),
    ("the start of a region, moved by an unknown number", 31, "r1 = r9\nr2 = *(u8 *)(r9 + 0)\nr1 += r2\ncall 4\nexit"),
    ("the start of a region, perhaps null", 31, "call 3\nr1 = r0\ncall 4\nexit"),
    ("a size that is not known", 31, "r1 = *(u16 *)(r9 + 0)\nw1 <<= 8\nr2 = r9\nr3 = r9\ncall 5\nexit"),
    ("an address as a size", 31, "r1 = r9\nr2 = r9\nr3 = r9\ncall 5\nexit"),
    ("a pointer moved far below its region", 23, "r9 += -262145\nr9 += 262145\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("a pointer moved far behind its region", 23, "r9 += 262145\nr9 += -262145\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("a 64-bit difference that wrapped upwards is negative", 22,
     "r2 = *(u64 *)(r9 + 0)\nr3 = *(s8 *)(r9 + 8)\nif r3 s>= 0 goto E\nr4 = r2\nr4 -= r3\nif r4 s>= -1000 goto E\nif r2 s< 0 goto E\n" + BAD + "E: exit"),
    ("a 64-bit difference that wrapped downwards is positive", 22,
     "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nr4 = r2\nr4 -= r3\nif r4 s<= 1000 goto E\nif r2 s> 0 goto E\n" + BAD + "E: exit"),
    ("two unknown numbers added to a pointer", 22, "r2 = *(u8 *)(r9 + 0)\nw2 &= 31\nr3 = *(u8 *)(r9 + 1)\nw3 &= 31\nr9 += r2\nr9 += r3\nr0 = *(u8 *)(r9 + 2)\nexit"),
    ("the low half by shifts may be 2^31 and is not negative", 22,
     "r2 = *(u64 *)(r9 + 0)\nr2 <<= 32\nr2 >>= 32\nr3 = 0x80000000 ll\nif r2 s< 0 goto E\nif r2 < r3 goto E\n" + BAD + "E: exit"),
    ("the upper half may be 2^31 and is not negative", 22,
     "r2 = *(u64 *)(r9 + 0)\nr2 >>= 32\nr3 = 0x80000000 ll\nif r2 s< 0 goto E\nif r2 < r3 goto E\n" + BAD + "E: exit"),
    ("a quotient by more than 32 bits", 28, "r2 = 10\nr3 = 0x100000001 ll\nr2 /= r3\nr0 = 7\nr0 /= r2\nexit"),
    ("below -1 as an unsigned number", 22,
     "r2 = *(u64 *)(r9 + 0)\nif r2 s< 0 goto E\nr3 = *(u8 *)(r9 + 8)\nr3 += -1\nif r2 >= r3 goto E\nif r2 s<= 253 goto E\n" + BAD + "E: exit"),
    ("-1 as an unsigned number, above", 22,
     "r2 = *(u64 *)(r9 + 0)\nif r2 s< 0 goto E\nr3 = *(u8 *)(r9 + 8)\nr3 += -1\nif r3 <= r2 goto E\nif r2 s<= 253 goto E\n" + BAD + "E: exit"),
    ("a multiple of 12 and 1 is greater than another by 1", 28,
     "r2 = *(u8 *)(r9 + 0)\nr2 *= 12\nr2 += 1\nr3 = *(u8 *)(r9 + 1)\nr3 *= 12\nif r2 <= r3 goto E\nr2 -= r3\nr2 += -1\nr0 = 7\nr0 /= r2\nE: w0 = 0\nexit"),
    ("a multiple that is not small meets one that is none", 22,
     "r5 = *(u8 *)(r9 + 0)\nr2 = *(u16 *)(r9 + 2)\nr5 &= 248\nif r5 >= 16 goto A\nr5 *= 142000\nif r5 > r2 goto C\ngoto E\nA: r5 = 568064\nC: if r5 >= 1136000 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("two cursors, further apart on one way, a byte more", 19,
     "r2 = *(u8 *)(r9 + 0)\nr3 = r7\nr3 += r2\nr4 = r3\nif r2 == 9 goto A\nr3 += 4\nr4 += 6\ngoto B\nA: r3 += 10\nr4 += 18\nB: r4 += 1\nif r4 > r8 goto E\n"
     "r0 = *(u8 *)(r3 + 67)\nE: w0 = 0\nexit"),
    ("half of the start of a region", 31, "w1 = w9\ncall 4\nexit"),
    ("the packet changes, its end had been counted down to where the cursor was", 19,
     "r9 = 0\nr2 = r8\nL: r3 = r7\nr3 += 100\nif r3 > r2 goto E\nr4 = *(u8 *)(r7 + 0)\nif w4 == 9 goto X\nr9 += 1\nr2 += -4\nif r9 < 5 goto L\nE: w0 = 0\n"
     "exit\nX: call 2\nr7 = *(u64 *)(r6 + 0)\nif r9 != 0 goto E\nr0 = *(u8 *)(r7 + 163)\nexit"),
    ("as many octets behind a number as there may be numbers for", 19,
     "r1 = *(u64 *)(r9 + 0)\nif r1 s< 0 goto E\nr2 = r8\nr2 -= r7\nr2 -= r1\nr3 = *(u8 *)(r9 + 8)\nr3 &= 7\nr3 |= 8\nif r2 s> r3 goto E\n"
     "r4 = 0x7ffffffffffffffc ll\nif r1 <= r4 goto E\nr0 = *(u8 *)(r7 + 5000)\nE: w0 = 0\nexit"),
    ("more parts of a number than there may be numbers for", 19,
     "r1 = *(u8 *)(r9 + 0)\nr2 = r1\nr2 <<= 3\nr3 = r7\nr3 += r2\nif r3 > r8 goto E\nr4 = 0xffffffffffffff0 ll\nr4 += r1\nr4 >>= 1\nif r1 <= 20 goto E\n"
     "r0 = *(u8 *)(r7 + 5000)\nE: w0 = 0\nexit"),
    ("how far apart two numbers are, a byte more", 22,
     "r1 = *(u8 *)(r9 + 0)\nr2 = *(u8 *)(r9 + 1)\nw1 &= 31\nw2 &= 31\nr3 = r1\nw3 -= w2\nr4 = r3\nw4 s>>= 31\nw3 ^= w4\nw3 -= w4\nr9 += r3\nr0 = *(u8 *)(r9 + 33)\nexit"),
    ("a number without the sign of another one", 23,
     "r1 = *(u8 *)(r9 + 0)\nr2 = *(u8 *)(r9 + 1)\nw1 &= 31\nw2 &= 31\nr3 = r1\nw3 -= w2\nr5 = r2\nw5 -= w1\nr4 = r5\nw4 s>>= 31\nw3 ^= w4\nw3 -= w4\nr9 += r3\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("a number without the sign of its lower half", 23,
     "r1 = *(u8 *)(r9 + 0)\nr2 = *(u8 *)(r9 + 1)\nw1 &= 31\nw2 &= 31\nr3 = r1\nr3 -= r2\nr4 = r3\nw4 s>>= 31\nr3 ^= r4\nr3 -= r4\nr9 += r3\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("a number without its sign and the bit below it", 23,
     "r1 = *(u8 *)(r9 + 0)\nr2 = *(u8 *)(r9 + 1)\nw1 &= 31\nw2 &= 31\nr3 = r1\nw3 -= w2\nr4 = r3\nw4 s>>= 30\nw3 ^= w4\nw3 -= w4\nr9 += r3\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("some bits of a quotient are not the quotient", 18, "r3 = r7\nr3 += 2\nif r3 > r8 goto E\nr2 = *(u8 *)(r7 + 0)\nr4 = *(u8 *)(r7 + 1)\nif r2 > 5 goto E\nr3 = r2\nr3 >>= 1\nr3 &= 2\nr1 = r2\nr1 <<= 3\nr5 = r7\nr5 += r1\nif r5 > r8 goto E\n"
     "r4 <<= 4\nr3 <<= 4\nr3 += 8\nr3 -= r1\nr5 = r10\nr5 += -512\nr5 += r3\n*(u8 *)(r5 + 0) = r2\nE: exit"),
]

# name, program: beside the traps, and harmless; how often its loops turn
NEAR = [
    ("the complement of an address and another one", "r2 = r7\nr2 ^= -1\nr3 = r2\nr3 += r8\nr3 += 1\nw0 = w3\nexit"),
    ("a number in the other order is not 0", "r2 = *(u16 *)(r9 + 0)\nr3 = r2\nr3 = be16 r3\nif r2 == 0 goto E\nif r3 != 0 goto E\nr0 = *(u8 *)(r9 + 900)\nE: w0 = 0\nexit"),
    ("a low half moved there and back", "w2 = w7\nw2 += 8\nw2 -= 8\nw3 = w8\nw3 -= w2\nw0 = w3\nexit"),
    ("an atomic addition to what is written", "r2 = 1\n*(u64 *)(r10 - 8) = r2\nlock *(u64 *)(r10 - 8) += r2\nexit"),
    ("an exchange gives what was there, masked", "r0 = 3\nr2 = 4\nr0 = cmpxchg_64(r9 + 0, r0, r2)\nr0 &= 63\nr9 += r0\nr0 = *(u8 *)(r9 + 0)\nexit"),
    ("an exchange leaves the other register", "r0 = 3\nr2 = 4\nr0 = cmpxchg_64(r9 + 0, r0, r2)\nr9 += r2\nr0 = *(u8 *)(r9 + 59)\nexit"),
    ("between two copies that moved are 55 bytes",
     "r2 = *(u8 *)(r9 + 0)\nr3 = r2\nr3 += 3\nr2 += 58\nr2 -= r3\nr9 += r2\nr0 = *(u8 *)(r9 + 8)\nexit"),
    ("a sum of unknowns that moved, a byte less",
     "r2 = *(u8 *)(r9 + 0)\nw2 &= 7\nr3 = *(u8 *)(r9 + 1)\nr3 += 50\nr4 = r2\nr4 += r3\nr4 -= r3\nr9 += r4\nr0 = *(u8 *)(r9 + 56)\nexit"),
    ("up by 32, something added, down by 32, a byte less",
     "r2 = *(u8 *)(r7 + 0)\nw2 &= 31\nr4 = 0x100000000 ll\nr2 <<= 32\nr2 += r4\nr2 >>= 32\nr9 += r2\nr0 = *(u8 *)(r9 + 31)\nexit"),
    ("up and down by 32", "r2 = *(u8 *)(r7 + 0)\nw2 &= 31\nr2 <<= 32\nr2 >>= 32\nr9 += r2\nr0 = *(u8 *)(r9 + 32)\nexit"),
    ("a word extended by shifts, bounded", "r2 = *(u32 *)(r9 + 0)\nr2 <<= 32\nr2 s>>= 32\nif r2 s< 0 goto E\nif r2 s> 63 goto E\nr9 += r2\nr0 = *(u8 *)(r9 + 0)\nE: w0 = 0\nexit"),
    ("a 32-bit difference that is not negative", "r2 = *(u8 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 1)\nif r3 > r2 goto E\nw2 -= w3\nif r2 > 63 goto E\nr9 += r2\nr0 = *(u8 *)(r9 + 0)\nE: w0 = 0\nexit"),
    ("a cursor taken back, within the window",
     "r2 = *(u8 *)(r7 + 0)\nr3 = r7\nr3 += r2\nif r3 > r8 goto E\nr4 = *(u8 *)(r7 + 1)\nw4 &= 7\nr4 += -8\nr3 -= r4\nr0 = *(u8 *)(r3 + 55)\nE: w0 = 0\nexit"),
    ("the packet changes, a cursor by the same number is compared again",
     "r3 = *(u8 *)(r7 + 0)\n*(u64 *)(r10 - 8) = r3\ncall 2\nr3 = *(u64 *)(r10 - 8)\nr7 = *(u64 *)(r6 + 0)\nr8 = *(u64 *)(r6 + 8)\nr7 += r3\nif r7 > r8 goto E\n"
     "r0 = *(u8 *)(r7 + 63)\nE: w0 = 0\nexit"),
    ("the packet changes in a function, the cursor is loaded again", "r1 = r6\ncall f\nr7 = *(u64 *)(r6 + 0)\nr0 = *(u8 *)(r7 + 0)\nexit\nf: call 2\nw0 = 0\nexit"),
    ("near the packet's length, whatever packet it is",
     "r8 = 0\nL: call 2\nr8 += 1\nr2 = *(u64 *)(r6 + 0)\nr3 = *(u64 *)(r6 + 8)\nr3 -= r2\nr3 -= r8\nif r3 s> 5 goto E\nif r3 s>= 0 goto L\nE: w0 = 0\nexit", [2049]),
    ("near the packet's length from the beginning, whatever packet it is",
     "r8 = 0\nr2 = *(u64 *)(r6 + 0)\nr3 = *(u64 *)(r6 + 8)\nr3 -= r2\nif r3 s> 5 goto E\nL: call 2\nr8 += 1\nr2 = *(u64 *)(r6 + 0)\nr3 = *(u64 *)(r6 + 8)\n"
     "r3 -= r2\nr3 -= r8\nif r3 s> 5 goto E\nif r3 s>= 0 goto L\nE: w0 = 0\nexit", [2049]),
    ("the start of a region", "r1 = r9\ncall 4\nexit"),
    ("an address compared with 0", "if r9 == 0 goto E\nr0 = *(u8 *)(r9 + 63)\nE: exit"),
    ("what may be null compared with 0", "call 3\nif r0 == 0 goto E\nr2 = *(u8 *)(r0 + 7)\nE: w0 = 0\nexit"),
    ("a comparison of two unknowns", "r2 = *(u64 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 8)\nif r3 > 63 goto E\nif r2 >= r3 goto E\nr9 += r2\nr0 = *(u8 *)(r9 + 1)\nE: w0 = 0\nexit"),
    ("a pointer moved there and back", "r9 += 262144\nr9 += -262144\nr9 += -262144\nr9 += 262144\nr0 = *(u8 *)(r9 + 63)\nexit"),
    ("two unknown numbers added to a pointer, a byte less",
     "r2 = *(u8 *)(r9 + 0)\nw2 &= 31\nr3 = *(u8 *)(r9 + 1)\nw3 &= 31\nr9 += r2\nr9 += r3\nr0 = *(u8 *)(r9 + 1)\nexit"),
    ("a low half added to a number", "w2 = w7\nw3 = 5\nw3 += w2\nw3 -= w7\nw0 = w3\nexit"),
    ("a low half moved back", "w2 = w7\nw3 = w7\nw2 -= 8\nw3 -= w2\nr9 += r3\nr0 = *(u8 *)(r9 + 55)\nexit"),
    ("the upper half is not negative", "r2 = *(u64 *)(r9 + 0)\nr2 >>= 32\nif r2 s>= 0 goto E\n" + BAD + "E: exit"),
    ("a quotient by more than 32 bits is small", "r2 = *(u64 *)(r9 + 0)\nr3 = 0x1000000000000000 ll\nr2 /= r3\nr9 += r2\nr0 = *(u8 *)(r9 + 48)\nexit"),
    ("two cursors, further apart on one way than on the other",
     "r2 = *(u8 *)(r9 + 0)\nr3 = r7\nr3 += r2\nr4 = r3\nif r2 == 9 goto A\nr3 += 4\nr4 += 6\ngoto B\nA: r3 += 10\nr4 += 18\nB: r4 += 1\nif r4 > r8 goto E\n"
     "r0 = *(u8 *)(r3 + 66)\nE: w0 = 0\nexit"),
    ("a multiple that is not small meets others",
     "r5 = *(u8 *)(r9 + 0)\nr2 = *(u16 *)(r9 + 2)\nr5 &= 248\nif r5 >= 16 goto A\nr5 *= 142000\nif r5 > r2 goto C\ngoto E\nA: r5 *= 142000\nC: if r5 >= 1136000 goto E\n" + BAD + "E: w0 = 0\nexit"),
    ("a multiple of 12 and 2 is greater than another by 2",
     "r2 = *(u8 *)(r9 + 0)\nr2 *= 12\nr2 += 2\nr3 = *(u8 *)(r9 + 1)\nr3 *= 12\nif r2 <= r3 goto E\nr2 -= r3\nr2 += -1\nr0 = 7\nr0 /= r2\nE: w0 = 0\nexit"),
    ("octets behind a number, and they are there",
     "r1 = *(u64 *)(r9 + 0)\nif r1 s< 0 goto E\nr2 = r8\nr2 -= r7\nr2 -= r1\nr3 = *(u8 *)(r9 + 8)\nr3 &= 7\nr3 |= 8\nr4 = 0x7ffffffffffff000 ll\nif r1 > r4 goto E\nif r2 s< r3 goto E\nr7 += r1\nr0 = *(u8 *)(r7 + 71)\nE: w0 = 0\nexit"),
    ("parts of a number, and they are there",
     "r1 = *(u8 *)(r9 + 0)\nr2 = r1\nr2 <<= 3\nr3 = r7\nr3 += r2\nif r3 > r8 goto E\nr4 = r1\nr4 += 16\nr4 >>= 1\nif r1 <= 20 goto E\nr0 = *(u8 *)(r7 + 231)\nE: w0 = 0\nexit"),
    ("how far apart two numbers are",
     "r1 = *(u8 *)(r9 + 0)\nr2 = *(u8 *)(r9 + 1)\nw1 &= 31\nw2 &= 31\nr3 = r1\nw3 -= w2\nr4 = r3\nw4 s>>= 31\nw3 ^= w4\nw3 -= w4\nr9 += r3\nr0 = *(u8 *)(r9 + 32)\nexit"),
    ("how far apart two numbers are, in 64 bits",
     "r1 = *(u8 *)(r9 + 0)\nr2 = *(u8 *)(r9 + 1)\nw1 &= 31\nw2 &= 31\nr3 = r1\nr3 -= r2\nr4 = r3\nr4 s>>= 63\nr3 ^= r4\nr3 -= r4\nr9 += r3\nr0 = *(u8 *)(r9 + 32)\nexit"),
    ("all bits of a quotient are the quotient", "r3 = r7\nr3 += 2\nif r3 > r8 goto E\nr2 = *(u8 *)(r7 + 0)\nr4 = *(u8 *)(r7 + 1)\nif r2 > 5 goto E\nr3 = r2\nr3 >>= 1\nr1 = r2\nr1 <<= 3\nr5 = r7\nr5 += r1\nif r5 > r8 goto E\n"
     "r4 <<= 4\nr3 <<= 4\nr3 += 8\nr3 -= r1\nr5 = r10\nr5 += -9\nr5 += r3\n*(u8 *)(r5 + 0) = r2\nE: exit"),
]


@pytest.mark.parametrize("rule, code", [row[1:] for row in TRAPS], ids=[row[0].replace(" ", "-") for row in TRAPS])
def test_trap(rule, code):
    report = verify(assemble(START + code), LPN, record_size=64, helpers=HELPERS)
    assert not report.accepted
    assert report.rule == rule, report.message


@pytest.mark.parametrize("code, turns", [(row[1], [*row[2:]]) for row in NEAR], ids=[row[0].replace(" ", "-") for row in NEAR])
def test_near_miss(code, turns):
    report = verify(assemble(START + code), LPN, record_size=64, helpers=HELPERS)
    assert report.accepted, report.message
    assert [[loop.bound for loop in report.loops]] == (turns or [[]])

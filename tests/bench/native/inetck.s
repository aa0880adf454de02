; inetck.c compiled by clang 19: -O2 -target bpf -mcpu=v3 -ffreestanding
w3 = w2
w3 += -0x20
w4 = w3
w4 >>= 0x8
w3 <<= 0x8
w3 &= 0xff00
w3 |= w4
w3 += 0x1100
if w2 < 0x2 goto +0x7
w4 = w2
w4 >>= 0x1
r5 = *(u16 *)(r1 + 0x0)
w3 += w5
r1 += 0x2
w4 += -0x1
if w4 != 0x0 goto -0x5
w2 &= 0x1
if w2 == 0x0 goto +0x2
r1 = *(u8 *)(r1 + 0x0)
w3 += w1
w1 = w3
w1 >>= 0x10
w3 &= 0xffff
w3 += w1
w0 = w3
w0 >>= 0x10
w0 += w3
w0 ^= -0x1
w0 &= 0xffff
exit

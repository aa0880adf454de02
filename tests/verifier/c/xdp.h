// What the programs here share: an XDP program's context, byte order, and the two verdicts they give.
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
typedef signed char s8; typedef short s16; typedef int s32; typedef long long s64;
struct xdp_md { u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index; };
#define START(ctx) ((u8 *)(long)(ctx)->data)
#define END(ctx) ((u8 *)(long)(ctx)->data_end)
#define be16(x) __builtin_bswap16(x)
#define be32(x) __builtin_bswap32(x)
#define XDP __attribute__((section("xdp"), used))
#define INSIDE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline, section("xdp")))
enum { DROP = 1, PASS = 2 };

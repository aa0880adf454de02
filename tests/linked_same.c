/* Is the set that a linked file defines the one that the node makes of the pack? Argument: the pack. Prints what differs; status 1. */
#include LINKED_FILE
#include <stdio.h>

static int differ;

#define SAME(what, a, b) do { if ((a) != (b)) { printf("%s %u: %s differ\n", what, (unsigned)i, #a); differ = 1; } } while (0)

static void same_images(unsigned i, const lpn_container *a, const lpn_container *b)
{
    uint32_t size;
    memcpy(&size, b->image + 8, 4);             /* its length */
    SAME("container", memcmp(a->image, b->image, size), 0);
    SAME("container", a->program.clean32, b->program.clean32);
    SAME("container", a->program.certified, b->program.certified);
}

/* The code of a container: `pack` has its size before it. */
static void same_code(unsigned i, const lpn_container *linked, const lpn_container *made)
{
    const uint8_t *a = (const uint8_t *)((uintptr_t)linked->native - 1), *b = (const uint8_t *)((uintptr_t)made->native & ~(uintptr_t)1);
    uint32_t size;
    memcpy(&size, b - 4, 4);
    SAME("code", memcmp(a, b, size), 0);
}

static void same_hooks(const lpn_set *a, const lpn_set *b)
{
    unsigned i = 0;
    SAME("set", a->hooks, b->hooks);
    for (i = 0; i < b->hooks && !differ; i++) {
        const lpn_hook *x = &a->hook[i], *y = &b->hook[i];
        SAME("hook", x->containers, y->containers);
        SAME("hook", x->event, y->event);
        SAME("hook", x->context, y->context);
        SAME("hook", x->selectors, y->selectors);
        SAME("hook", memcmp(x->selector, y->selector, sizeof x->selector), 0);
        SAME("hook", x->within, y->within);
        SAME("hook", x->period, y->period);
        SAME("hook", x->offset, y->offset);
        SAME("hook", x->jitter, y->jitter);
        for (unsigned k = 0; k < y->containers && !differ; k++) {
            same_images(k, x->chain[k], y->chain[k]);
            same_code(k, x->chain[k], y->chain[k]);
        }
    }
}

static void same_memory(const lpn_packed *a, const lpn_packed *b)
{
    unsigned i = 0;
    SAME("set", a->record_size, b->record_size);
    SAME("set", a->isr != NULL, b->isr != NULL);
    SAME("set", a->set.version, b->set.version);
    SAME("set", a->set.drops, b->set.drops);
    SAME("set", a->set.state_size, b->set.state_size);
    SAME("set", memcmp(a->set.state, b->set.state, b->set.state_size), 0);
    SAME("set", a->set.table_count, b->set.table_count);
    for (i = 0; i < b->set.table_count && !differ; i++) {
        const lpn_table *x = &a->set.tables[i], *y = &b->set.tables[i];
        SAME("table", x->key_size, y->key_size);
        SAME("table", x->stride, y->stride);
        SAME("table", x->exact, y->exact);
        SAME("table", x->by_prefix, y->by_prefix);
        SAME("table", x->shape.capacity, y->shape.capacity);
        SAME("table", x->active->count, y->active->count);
        SAME("table", memcmp(x->active->entries, y->active->entries, (size_t)y->stride * y->active->count), 0);
    }
    i = 0;
    SAME("set", a->set.buffers != NULL, b->set.buffers != NULL);
    for (i = 0; b->set.buffers != NULL && i < b->buffers.count && !differ; i++) {
        const lpn_buffer *x = &a->buffers.buffer[i], *y = &b->buffers.buffer[i];
        SAME("buffer", x->size, y->size);
        SAME("buffer", x->entries, y->entries);
        SAME("buffer", x->key_size, y->key_size);
        SAME("buffer", x->timeout, y->timeout);
    }
    SAME("buffers", a->buffers.count, b->buffers.count);
}

#if HAS_BUFFERS
/* What linked.py says of their memory is what the engine asks for. */
static void enough_for_buffers(void)
{
    static const size_t bytes[] = { BUFFER_BYTES };
    for (unsigned i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        SAME("buffer", lpn_buffer_memory(&buffer[i]), bytes[i]);
    }
}
#endif

int main(int count, char **argument)
{
    static uint64_t bytes[1 << 17], memory[1 << 17];
    lpn_pack pack;
    lpn_packed packed;
    lpn_pack_fault fault;
    const lpn_pack_wish wish = { .thumb2 = true };
    FILE *file = count == 2 ? fopen(argument[1], "rb") : NULL;
    const size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
    if (lpn_pack_parse(&pack, (const uint8_t *)bytes, size, &fault) != LPN_OK
        || lpn_pack_build(&pack, &wish, (uint8_t *)memory, sizeof memory, &packed, &fault) != LPN_OK) {
        printf("the pack is refused: %s\n", fault.part);
        return 1;
    }
    for (int again = 0; again < 2; again++) {
        if (lpn_linked_begin() != LPN_OK) {
            puts("lpn_linked_begin failed");
            return 1;
        }
        same_hooks(&lpn_linked.set, &packed.set);
        same_memory(&lpn_linked, &packed);
        memset(lpn_linked.set.state, 0xff, lpn_linked.set.state_size);     /* it ran */
    }
#if HAS_BUFFERS
    enough_for_buffers();
#endif
    return differ;
}

/* Of a pack's containers: which are to become code, of trusted ones, or of those that are certified where a run has so many instructions.
 * Prints their names. */
#include <stdio.h>
#include <stdlib.h>

#include "lpn_pack.h"

static int named(lpn_container *container, uint16_t *code, uint32_t size, uint16_t *map, uint32_t *used)
{
    lpn_image image;
    (void)code, (void)size, (void)map;
    lpn_image_view(&image, container->image);
    printf("%.*s\n", (int)image.name_size, (const char *)image.name);
    *used = 0;
    return LPN_E_MEMORY;
}

int main(int count, char **argument)
{
    static uint64_t bytes[1 << 14], memory[1 << 14];
    static uint16_t code[1 << 14];
    lpn_pack pack;
    lpn_packed packed;
    lpn_pack_fault fault;
    const lpn_pack_wish wish = { .translate = named, .code = code, .code_size = sizeof code, .certify = count > 2 ? lpn_container_certify : NULL,
                                 .fuel = count > 2 ? (uint32_t)atol(argument[2]) : 0 };
    FILE *file = count > 1 ? fopen(argument[1], "rb") : NULL;
    const size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
    if (lpn_pack_parse(&pack, (const uint8_t *)bytes, size, &fault) != LPN_OK
        || lpn_pack_build(&pack, &wish, (uint8_t *)memory, sizeof memory, &packed, &fault) != LPN_OK) {
        printf("the pack is refused: %s\n", fault.part);
        return 1;
    }
    return 0;
}

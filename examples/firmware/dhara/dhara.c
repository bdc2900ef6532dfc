/* dhara under `nandlab prove`: a block firmware.
 *
 * Source: dhara by Daniel Beer, https://github.com/dlbeer/dhara; this file was written for commit 1b166e4. dhara asks the
 * firmware for the functions in its nand.h, and they follow here over nandlab.h. The chip has one program a page, without a
 * spare area, and at least 16 blocks; dhara's sectors are the chip's pages.
 *
 * -DGC_RATIO=n: writes between two moved pages, dhara's own option; more moves less and gives fewer sectors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dhara/map.h"
#include "nandlab.h"

#ifndef GC_RATIO
#define GC_RATIO 4
#endif

struct firmware {
    struct dhara_nand nand; /* first: dhara gives its address back */
    struct dhara_map map;
    nl_device *device;
    dhara_error_t error;
    uint8_t *page;
};

static nl_device *device_of(const struct dhara_nand *nand) { return ((const struct firmware *)nand)->device; }

/* dhara's own answer for a status of the chip. */
static int answer(int status, dhara_error_t failure, dhara_error_t *error) {
    if (status == NL_OK) {
        return 0;
    }
    dhara_set_error(error, status == NL_ECC || status == NL_BAD_BLOCK ? DHARA_E_ECC : failure);
    return -1;
}

int dhara_nand_is_bad(const struct dhara_nand *nand, dhara_block_t block) { return nl_is_bad(device_of(nand), block); }

void dhara_nand_mark_bad(const struct dhara_nand *nand, dhara_block_t block) { nl_mark_bad(device_of(nand), block); }

int dhara_nand_erase(const struct dhara_nand *nand, dhara_block_t block, dhara_error_t *error) {
    return answer(nl_erase(device_of(nand), block), DHARA_E_BAD_BLOCK, error);
}

int dhara_nand_prog(const struct dhara_nand *nand, dhara_page_t page, const uint8_t *data, dhara_error_t *error) {
    return answer(nl_program(device_of(nand), page, data, NULL), DHARA_E_BAD_BLOCK, error);
}

int dhara_nand_is_free(const struct dhara_nand *nand, dhara_page_t page) {
    return nl_is_erased(device_of(nand), page) == 1;
}

int dhara_nand_read(const struct dhara_nand *nand, dhara_page_t page, size_t offset, size_t length, uint8_t *data,
                    dhara_error_t *error) {
    return answer(nl_read(device_of(nand), page, (uint32_t)offset, (uint32_t)length, data), DHARA_E_ECC, error);
}

int dhara_nand_copy(const struct dhara_nand *nand, dhara_page_t from, dhara_page_t to, dhara_error_t *error) {
    return answer(nl_copy(device_of(nand), from, to), DHARA_E_BAD_BLOCK, error);
}

static uint8_t log2_of(uint32_t number) {
    uint8_t bits = 0;
    while (number >> (bits + 1)) {
        bits++;
    }
    return bits;
}

static void *mount(nl_device *device, char *why, size_t why_bytes) {
    struct firmware *firmware = calloc(1, sizeof *firmware);
    nl_geometry chip;
    nl_get_geometry(device, &chip);
    firmware->device = device;
    firmware->nand.log2_page_size = log2_of(chip.page_bytes);
    firmware->nand.log2_ppb = log2_of(chip.pages_per_block);
    firmware->nand.num_blocks = chip.blocks;
    if (1u << firmware->nand.log2_page_size != chip.page_bytes || 1u << firmware->nand.log2_ppb != chip.pages_per_block) {
        snprintf(why, why_bytes, "dhara needs powers of two: %u bytes, %u pages", chip.page_bytes, chip.pages_per_block);
        return NULL;
    }
    firmware->page = malloc(chip.page_bytes);
    dhara_map_init(&firmware->map, &firmware->nand, firmware->page, GC_RATIO);
    /* A failure means that the chip holds no journal: the map is then empty. */
    dhara_map_resume(&firmware->map, &firmware->error);
    return firmware;
}

static uint32_t sectors(void *firmware) { return dhara_map_capacity(&((struct firmware *)firmware)->map); }

static int read(void *at, uint32_t sector, void *to) {
    struct firmware *firmware = at;
    return dhara_map_read(&firmware->map, sector, to, &firmware->error);
}

static int write(void *at, uint32_t sector, const void *from) {
    struct firmware *firmware = at;
    return dhara_map_write(&firmware->map, sector, from, &firmware->error);
}

static int trim(void *at, uint32_t sector) {
    struct firmware *firmware = at;
    return dhara_map_trim(&firmware->map, sector, &firmware->error);
}

static int sync(void *at) {
    struct firmware *firmware = at;
    return dhara_map_sync(&firmware->map, &firmware->error);
}

static uint64_t ram(void *at) {
    struct firmware *firmware = at;
    return sizeof firmware->map + sizeof firmware->nand + (1u << firmware->nand.log2_page_size);
}

static const char *why(void *firmware) { return dhara_strerror(((struct firmware *)firmware)->error); }

const nl_block_firmware nl_block = {
    .size = sizeof(nl_block_firmware), .name = "dhara", .mount = mount, .sectors = sectors, .read = read,
    .write = write, .trim = trim, .sync = sync, .ram = ram, .why = why,
};

/* SPIFFS under `nandlab prove`: a file firmware on NOR. A logical block is an erase block, a logical page 256 bytes.
 *
 * Source: SPIFFS by Peter Andersson, https://github.com/pellepl/spiffs; this file was written for commit 0b2e129. Its
 * configuration is spiffs_config.h beside this file. SPIFFS clears bits on top of programmed bytes, so the chip takes
 * programs of single bytes, and more than one between erases.
 *
 * -DCHECKS: SPIFFS_check() at every mount, as the library advises after a loss of power. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nandlab.h"
#include "spiffs.h"

#define PAGE_BYTES 256
#define MOST_FILES 4
#define NO_SIZE UINT32_MAX /* SPIFFS tells it for a file without contents */

/* Global: a cut sets these back, as a reset does. */
static nl_device *device;
static nl_geometry chip;
static spiffs fs;
static spiffs_config config;
static uint8_t work[2 * PAGE_BYTES];
static uint8_t descriptors[64 * MOST_FILES];
static uint8_t cache[(PAGE_BYTES + 32) * 4];
static int last;

static s32_t read_flash(u32_t address, u32_t bytes, u8_t *to) {
    return nl_nor_read(device, address, bytes, to) == NL_OK ? SPIFFS_OK : SPIFFS_ERR_INTERNAL;
}

/* A program stays inside a page of the chip. */
static s32_t program_flash(u32_t address, u32_t bytes, u8_t *from) {
    while (bytes > 0) {
        u32_t piece = chip.page_bytes - address % chip.page_bytes;
        piece = piece < bytes ? piece : bytes;
        if (nl_nor_program(device, address, piece, from) != NL_OK) {
            return SPIFFS_ERR_INTERNAL;
        }
        address += piece, from += piece, bytes -= piece;
    }
    return SPIFFS_OK;
}

static s32_t erase_flash(u32_t address, u32_t bytes) {
    (void)bytes;
    return nl_erase(device, address / config.phys_erase_block) == NL_OK ? SPIFFS_OK : SPIFFS_ERR_INTERNAL;
}

static int mount_now(void) {
    return SPIFFS_mount(&fs, &config, work, descriptors, sizeof descriptors, cache, sizeof cache, NULL);
}

/* Erased flash is a file system without files; without a magic number SPIFFS needs no format. */
static void *mount(nl_device *given, char *why, size_t why_bytes) {
    device = given;
    nl_get_geometry(device, &chip);
    config.hal_read_f = read_flash;
    config.hal_write_f = program_flash;
    config.hal_erase_f = erase_flash;
    config.phys_erase_block = config.log_block_size = chip.page_bytes * chip.pages_per_block;
    config.phys_size = config.phys_erase_block * chip.blocks;
    config.log_page_size = PAGE_BYTES;
    last = mount_now();
#ifdef CHECKS
    last = last == SPIFFS_OK ? SPIFFS_check(&fs) : last;
#endif
    if (last != SPIFFS_OK) {
        snprintf(why, why_bytes, "SPIFFS answers %d", last);
        return NULL;
    }
    return &fs;
}

/* A file is its handle, counted from 1. */
static spiffs_file handle(void *file) { return (spiffs_file)(intptr_t)file; }

static void *open_file(void *at, const char *path, int create) {
    last = SPIFFS_open(at, path, create ? SPIFFS_CREAT | SPIFFS_RDWR : SPIFFS_RDONLY, 0);
    return last > 0 ? (void *)(intptr_t)last : NULL;
}

static int64_t read_file(void *at, void *file, uint64_t offset, void *to, uint32_t length) {
    spiffs_stat stat;
    last = SPIFFS_fstat(at, handle(file), &stat);
    uint32_t size = stat.size == NO_SIZE ? 0 : stat.size;
    if (last < 0 || offset >= size) {
        return last < 0 ? last : 0;
    }
    last = SPIFFS_lseek(at, handle(file), (s32_t)offset, SPIFFS_SEEK_SET);
    length = length < size - offset ? length : (uint32_t)(size - offset);
    return last < 0 ? last : (last = SPIFFS_read(at, handle(file), to, (s32_t)length));
}

static int write_file(void *at, void *file, uint64_t offset, const void *from, uint32_t length) {
    last = SPIFFS_lseek(at, handle(file), (s32_t)offset, SPIFFS_SEEK_SET);
    last = last < 0 ? last : SPIFFS_write(at, handle(file), (void *)(uintptr_t)from, (s32_t)length);
    return last == (int)length ? 0 : -1;
}

static int truncate_file(void *at, void *file, uint64_t bytes) {
    spiffs_stat stat;
    last = SPIFFS_fstat(at, handle(file), &stat);
    /* A file without contents has no size to cut. */
    if (last == SPIFFS_OK && bytes == 0 && (stat.size == 0 || stat.size == NO_SIZE)) {
        return 0;
    }
    return last = last < 0 ? last : SPIFFS_ftruncate(at, handle(file), (u32_t)bytes);
}

/* A number of bytes is no failure. */
static int sync_file(void *at, void *file) {
    last = file == NULL ? 0 : SPIFFS_fflush(at, handle(file));
    return last < 0 ? last : 0;
}

static int close_file(void *at, void *file) {
    last = SPIFFS_close(at, handle(file));
    return last < 0 ? last : 0;
}

/* SPIFFS refuses the name of another file: as its users do, that file goes first. */
static int rename_file(void *at, const char *from, const char *to) {
    last = SPIFFS_remove(at, to);
    return last = last < 0 && last != SPIFFS_ERR_NOT_FOUND ? last : SPIFFS_rename(at, from, to);
}

static int remove_file(void *at, const char *path) { return last = SPIFFS_remove(at, path); }

static int list(void *at, const char *folder, void (*each)(void *, const char *, int), void *context) {
    spiffs_DIR dir;
    struct spiffs_dirent entry;
    (void)folder;
    if (SPIFFS_opendir(at, "/", &dir) == NULL) {
        return last = SPIFFS_errno(at);
    }
    while (SPIFFS_readdir(&dir, &entry) != NULL) {
        each(context, (const char *)entry.name, 0);
    }
    return last = SPIFFS_closedir(&dir);
}

static uint64_t ram(void *at) {
    (void)at;
    return sizeof fs + sizeof work + sizeof descriptors + sizeof cache;
}

static const char *why(void *at) {
    static char text[40];
    snprintf(text, sizeof text, "SPIFFS answers %d", last < 0 ? last : SPIFFS_errno(at));
    return text;
}

const nl_file_firmware nl_file = {
    .size = sizeof(nl_file_firmware), .name = "SPIFFS", .mount = mount, .open = open_file, .read = read_file, .write = write_file,
    .truncate = truncate_file, .sync = sync_file, .close = close_file, .rename = rename_file, .remove = remove_file,
    .list = list, .ram = ram, .why = why,
};

/* littlefs under `nandlab prove`: a file firmware on NAND. A block is an erase block, a program a page.
 *
 * Source: littlefs, https://github.com/littlefs-project/littlefs. The crate littlefs2-sys 0.3.2 carries littlefs
 * v2.9.3 in its folder littlefs. With L this folder:
 *
 *   cc -shared -fPIC -O2 -DLFS_NO_DEBUG -DLFS_NO_WARN -DLFS_NO_ERROR $(nandlab firmware --cflags) -I$L \
 *     -o littlefs.so examples/firmware/littlefs/littlefs.c examples/firmware/littlefs/crc.c $L/lfs.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lfs.h"
#include "nandlab.h"

/* Global: a cut sets these back, as a reset does. */
static nl_device *device;
static nl_geometry chip;
static lfs_t lfs;
static int last;

static int answer(int status) {
    switch (status) {
    case NL_OK:
        return 0;
    case NL_ECC:
    case NL_PROGRAM_FAILED:
    case NL_ERASE_FAILED:
    case NL_BAD_BLOCK:
        return LFS_ERR_CORRUPT;
    default:
        return LFS_ERR_IO;
    }
}

static int read_block(const struct lfs_config *config, lfs_block_t block, lfs_off_t offset, void *to, lfs_size_t bytes) {
    (void)config;
    uint32_t page = block * chip.pages_per_block + offset / chip.page_bytes;
    for (uint8_t *at = to; bytes > 0; page++, at += chip.page_bytes, bytes -= chip.page_bytes) {
        int status = nl_read(device, page, 0, chip.page_bytes, at);
        if (status != NL_OK) {
            return answer(status);
        }
    }
    return 0;
}

static int program_block(const struct lfs_config *config, lfs_block_t block, lfs_off_t offset, const void *from,
                         lfs_size_t bytes) {
    (void)config;
    uint32_t page = block * chip.pages_per_block + offset / chip.page_bytes;
    for (const uint8_t *at = from; bytes > 0; page++, at += chip.page_bytes, bytes -= chip.page_bytes) {
        int status = nl_program(device, page, at, NULL);
        if (status != NL_OK) {
            return answer(status);
        }
    }
    return 0;
}

static int erase_block(const struct lfs_config *config, lfs_block_t block) {
    (void)config;
    int status = nl_is_bad(device, block);
    return answer(status != 0 ? NL_BAD_BLOCK : nl_erase(device, block));
}

static int sync_device(const struct lfs_config *config) {
    (void)config;
    return answer(nl_fence(device));
}

static struct lfs_config config = {
    .read = read_block, .prog = program_block, .erase = erase_block, .sync = sync_device, .block_cycles = 100,
    .lookahead_size = 16,
};

static void *mount(nl_device *given, char *why, size_t why_bytes) {
    device = given;
    nl_get_geometry(device, &chip);
    config.read_size = config.prog_size = config.cache_size = chip.page_bytes;
    config.block_size = chip.page_bytes * chip.pages_per_block;
    config.block_count = chip.blocks;
    last = lfs_mount(&lfs, &config);
    if (last != 0) { /* an erased chip, or a format that a cut left half done: as in the README of littlefs */
        last = lfs_format(&lfs, &config);
        last = last == 0 ? lfs_mount(&lfs, &config) : last;
    }
    if (last != 0) {
        snprintf(why, why_bytes, "lfs_mount answers %d", last);
    }
    return last == 0 ? &lfs : NULL;
}

static void *open(void *at, const char *path, int create) {
    lfs_file_t *file = calloc(1, sizeof *file);
    last = lfs_file_open(at, file, path, create ? LFS_O_RDWR | LFS_O_CREAT : LFS_O_RDONLY);
    if (last != 0) {
        free(file);
        return NULL;
    }
    return file;
}

static int64_t read(void *at, void *file, uint64_t offset, void *to, uint32_t length) {
    last = lfs_file_seek(at, file, (lfs_soff_t)offset, LFS_SEEK_SET);
    return last < 0 ? last : (last = lfs_file_read(at, file, to, length));
}

static int write(void *at, void *file, uint64_t offset, const void *from, uint32_t length) {
    last = lfs_file_seek(at, file, (lfs_soff_t)offset, LFS_SEEK_SET);
    last = last < 0 ? last : lfs_file_write(at, file, from, length);
    return last == (int)length ? 0 : -1;
}

static int truncate(void *at, void *file, uint64_t bytes) { return last = lfs_file_truncate(at, file, (lfs_off_t)bytes); }

/* Names are durable when their call returns. */
static int sync(void *at, void *file) { return last = file == NULL ? 0 : lfs_file_sync(at, file); }

static int close(void *at, void *file) {
    last = lfs_file_close(at, file);
    free(file);
    return last;
}

static int rename_file(void *at, const char *from, const char *to) { return last = lfs_rename(at, from, to); }

static int remove_path(void *at, const char *path) { return last = lfs_remove(at, path); }

static int make_folder(void *at, const char *path) { return last = lfs_mkdir(at, path); }

static int list(void *at, const char *folder, void (*each)(void *, const char *, int), void *context) {
    lfs_dir_t dir;
    struct lfs_info info;
    last = lfs_dir_open(at, &dir, folder[0] == 0 ? "/" : folder);
    if (last != 0) {
        return last;
    }
    while ((last = lfs_dir_read(at, &dir, &info)) > 0) {
        if (strcmp(info.name, ".") != 0 && strcmp(info.name, "..") != 0) {
            each(context, info.name, info.type == LFS_TYPE_DIR);
        }
    }
    int status = lfs_dir_close(at, &dir);
    return last != 0 ? last : status;
}

static uint64_t ram(void *at) {
    (void)at;
    return sizeof lfs + 2 * config.cache_size + config.lookahead_size;
}

static const char *why(void *at) {
    static char text[40];
    (void)at;
    snprintf(text, sizeof text, "littlefs answers %d", last);
    return text;
}

const nl_file_firmware nl_file = {
    .size = sizeof(nl_file_firmware), .atomic = 1, .name = "littlefs", .mount = mount, .open = open, .read = read,
    .write = write, .truncate = truncate, .sync = sync, .close = close, .rename = rename_file, .remove = remove_path,
    .mkdir = make_folder, .list = list, .ram = ram, .why = why,
};

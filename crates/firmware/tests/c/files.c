/* A file firmware of a few lines: each change writes everything as one snapshot, to the other half of the chip.
 *
 * Faults to find: -DNO_CHECK believes a half-written snapshot; -DLATE_NAMES renames in RAM alone, until the next sync, and
 * forgets the old name at once. */
#include "nandlab.h"
#include <stdio.h>
#include <string.h>

#define FILES 8
#define BYTES 900

typedef struct entry {
    char path[16]; /* "": none */
    uint32_t is_folder, bytes;
    uint8_t data[BYTES];
} entry;

static struct {
    uint32_t sequence, sum;
    entry files[FILES];
} now;
static nl_device *device;
static nl_geometry shape;

static uint32_t sum(void)
{
    uint32_t found = 7;
    const uint8_t *byte = (const uint8_t *)&now.files;
    for (size_t at = 0; at < sizeof now.files; at++)
        found = found * 31 + byte[at];
    return found ^ now.sequence;
}

/* Writes the snapshot to the half that the last one does not use. */
static int save(void)
{
    now.sequence++;
    now.sum = sum();
    uint32_t half = shape.blocks / 2, first = now.sequence % 2 * half, pages = shape.pages_per_block;
    const uint8_t *from = (const uint8_t *)&now;
    static uint8_t page[4096];
    for (uint32_t at = 0, written = 0; written * shape.page_bytes < sizeof now; written++, at++) {
        if (at % pages == 0 && nl_erase(device, first + at / pages) != NL_OK)
            return -1;
        size_t left = sizeof now - written * shape.page_bytes;
        memset(page, 0, sizeof page);
        memcpy(page, from + written * shape.page_bytes, left < shape.page_bytes ? left : shape.page_bytes);
        if (nl_program(device, first * pages + at, page, NULL) != NL_OK)
            return -1;
    }
    return 0;
}

static int load(uint32_t half)
{
    uint8_t *to = (uint8_t *)&now;
    for (uint32_t at = 0; at * shape.page_bytes < sizeof now; at++) {
        size_t left = sizeof now - at * shape.page_bytes;
        uint32_t bytes = left < shape.page_bytes ? (uint32_t)left : shape.page_bytes;
        int status = nl_read(device, half * shape.blocks / 2 * shape.pages_per_block + at, 0, bytes,
                             to + at * shape.page_bytes);
        if (status != NL_OK)
            memset(to + at * shape.page_bytes, 0, bytes);
    }
#ifdef NO_CHECK
    return now.sequence != UINT32_MAX && now.sequence != 0;
#else
    return now.sequence % 2 == half && now.sum == sum();
#endif
}

static void *fs_mount(nl_device *given, char *why, size_t why_bytes)
{
    device = given;
    nl_get_geometry(device, &shape);
    if (sizeof now > shape.blocks / 2 * shape.pages_per_block * shape.page_bytes || shape.page_bytes > 4096) {
        snprintf(why, why_bytes, "half of the chip has less than %u bytes", (unsigned)sizeof now);
        return NULL;
    }
    uint32_t newest[2];
    for (uint32_t half = 0; half < 2; half++)
        newest[half] = load(half) ? now.sequence : 0;
    if (newest[0] == 0 && newest[1] == 0)
        memset(&now, 0, sizeof now);
    else
        load(newest[1] > newest[0]);
    return &now;
}

static entry *find(const char *path)
{
    for (int at = 0; at < FILES; at++)
        if (strcmp(now.files[at].path, path) == 0)
            return &now.files[at];
    return NULL;
}

static void *fs_open(void *fs, const char *path, int create)
{
    (void)fs;
    entry *file = find(path);
    if (file == NULL && create && (file = find("")) != NULL) {
        memset(file, 0, sizeof *file);
        strcpy(file->path, path);
    }
    return file;
}

static int64_t fs_read(void *fs, void *given, uint64_t offset, void *to, uint32_t length)
{
    (void)fs;
    entry *file = given;
    if (offset >= file->bytes)
        return 0;
    uint32_t left = file->bytes - (uint32_t)offset, bytes = left < length ? left : length;
    memcpy(to, file->data + offset, bytes);
    return bytes;
}

static int fs_write(void *fs, void *given, uint64_t offset, const void *from, uint32_t length)
{
    (void)fs;
    entry *file = given;
    if (offset + length > BYTES)
        return -1;
    memcpy(file->data + offset, from, length);
    if (offset + length > file->bytes)
        file->bytes = (uint32_t)offset + length;
    return 0;
}

static int fs_truncate(void *fs, void *given, uint64_t bytes)
{
    (void)fs;
    ((entry *)given)->bytes = (uint32_t)bytes;
    return 0;
}

static int fs_sync(void *fs, void *file)
{
    (void)fs, (void)file;
    return save();
}

static int fs_close(void *fs, void *file)
{
    (void)fs, (void)file;
    return 0;
}

static int fs_remove(void *fs, const char *path)
{
    (void)fs;
    find(path)->path[0] = 0;
    return save();
}

static int fs_rename(void *fs, const char *from, const char *to)
{
    entry *old = find(to);
    if (old != NULL)
        old->path[0] = 0;
#ifdef LATE_NAMES
    static entry file;
    file = *find(from);
    if (fs_remove(fs, from) != 0)
        return -1;
    entry *new = find("");
    *new = file;
    strcpy(new->path, to);
    return 0;
#else
    (void)fs;
    strcpy(find(from)->path, to);
    return save();
#endif
}

static int fs_mkdir(void *fs, const char *path)
{
    entry *folder = fs_open(fs, path, 1);
    if (folder == NULL)
        return -1;
    folder->is_folder = 1;
    return save();
}

static int fs_list(void *fs, const char *folder, void (*each)(void *, const char *, int), void *context)
{
    (void)fs;
    size_t length = strlen(folder);
    for (int at = 0; at < FILES; at++) {
        const char *path = now.files[at].path, *slash = strchr(path, '/');
        if (path[0] == 0)
            continue;
        if (length == 0 && slash == NULL)
            each(context, path, (int)now.files[at].is_folder);
        if (length > 0 && slash == path + length && strncmp(path, folder, length) == 0)
            each(context, slash + 1, (int)now.files[at].is_folder);
    }
    return 0;
}

const nl_file_firmware nl_file = {
    .size = sizeof(nl_file_firmware), .atomic = 1, .name = "snapshots", .mount = fs_mount, .open = fs_open,
    .read = fs_read, .write = fs_write, .truncate = fs_truncate, .sync = fs_sync, .close = fs_close,
    .rename = fs_rename, .remove = fs_remove, .mkdir = fs_mkdir, .list = fs_list,
};

/* yaffs2 under `nandlab prove` and `nandlab run`: a file firmware on NAND, in YAFFS1 format on pages of 512 bytes, otherwise
 * in YAFFS2 format.
 *
 * Source: yaffs2 by Aleph One, https://github.com/Aleph-One-Ltd/yaffs2; this file was written for commit 474b3ac. Its direct
 * interface wants all sources in one folder. With Y the folder of yaffs2:
 *
 *   (cd $Y/direct && sh handle_common.sh copy)
 *   cc -shared -fPIC -O2 -w -DCONFIG_YAFFS_DIRECT -DCONFIG_YAFFS_YAFFS2 -DCONFIG_YAFFS_DEFINES_TYPES \
 *     -DCONFIG_YAFFS_PROVIDE_DEFS -DCONFIG_YAFFSFS_PROVIDE_VALUES -DCONFIG_YAFFS_NO_TRACE $(nandlab firmware --cflags) \
 *     -I$Y/direct -o yaffs.so examples/firmware/yaffs/yaffs.c $Y/direct/yaffs*.c
 *
 * The parameters are those of its Linux driver. Words in `fs.firmware.options` change them: `bypass` writes whole pages past
 * the cache, `no_cache` has none, `no_summary` leaves out the last page of each block, `no_checkpoint` scans at every
 * mount. */
#include "yaffs_guts.h"
#include "yaffs_getblockinfo.h"
#include "yaffsfs.h"
#include "nandlab.h"

#define ROOT "/f"
#define MARK_BYTES 2 /* the bad-block mark at the start of a spare area */

/* Global: a cut sets these back, as a reset does. */
static nl_device *device;
static nl_geometry chip;
static struct yaffs_dev yaffs;
static u8 spare[4096], place[600];
static int last;
unsigned yaffs_trace_mask;

/* What yaffs2 asks of an operating system. */
void yaffsfs_Lock(void) {}
void yaffsfs_Unlock(void) {}
u32 yaffsfs_CurrentTime(void) { return 0; }
void yaffsfs_SetError(int error) { last = error; }
int yaffsfs_GetLastError(void) { return last; }
void *yaffsfs_malloc(size_t bytes) { return malloc(bytes); }
void yaffsfs_free(void *memory) { free(memory); }
int yaffsfs_CheckMemRegion(const void *at, size_t bytes, int write) { return (void)bytes, (void)write, at == NULL ? -1 : 0; }
void yaffsfs_OSInitialisation(void) {}
void yaffs_bug_fn(const char *file, int line) { fprintf(stderr, "yaffs: a bug in line %d of %s\n", line, file), abort(); }

static int done(int status) { return status == NL_OK ? YAFFS_OK : YAFFS_FAIL; }

static u32 mark_bytes(void) { return yaffs.param.is_yaffs2 ? MARK_BYTES : 0; }

/* A block is in this state while its pages are copied. */
static void name_cause(void) {
    int collects = yaffs.gc_block > 0 &&
                   yaffs_get_block_info(&yaffs, yaffs.gc_block)->block_state == YAFFS_BLOCK_STATE_COLLECTING;
    nl_cause(device, collects ? NL_CAUSE_GC : NL_CAUSE_FIRMWARE);
}

static int write_chunk(struct yaffs_dev *dev, int page, const u8 *data, int bytes, const u8 *tags, int tag_bytes) {
    (void)dev, (void)bytes;
    name_cause();
    memset(spare, 0xFF, sizeof spare);
    memcpy(spare + mark_bytes(), tags, tag_bytes);
    /* Without data: a deletion mark of YAFFS1. */
    return done(data == NULL ? nl_program_spare(device, page, 0, chip.spare_bytes, spare)
                             : nl_program(device, page, data, spare));
}

static int read_chunk(struct yaffs_dev *dev, int page, u8 *data, int bytes, u8 *tags, int tag_bytes,
                      enum yaffs_ecc_result *result) {
    (void)dev;
    name_cause();
    int status = data == NULL   ? nl_read_spare(device, page, mark_bytes(), tag_bytes, tags)
                 : tags == NULL ? nl_read(device, page, 0, bytes, data)
                                : nl_read_page(device, page, data, spare);
    if (data != NULL && tags != NULL) {
        memcpy(tags, spare + mark_bytes(), tag_bytes);
    }
    if (result != NULL) {
        *result = status == NL_OK ? YAFFS_ECC_RESULT_NO_ERROR : YAFFS_ECC_RESULT_UNFIXED;
    }
    return done(status);
}

static int erase_block(struct yaffs_dev *dev, int block) {
    (void)dev;
    name_cause();
    return done(nl_erase(device, block));
}

static int mark_bad(struct yaffs_dev *dev, int block) { return (void)dev, done(nl_mark_bad(device, block)); }

static int check_bad(struct yaffs_dev *dev, int block) { return (void)dev, done(nl_is_bad(device, block)); }

static int has(const char *word) { return strstr(nl_options(device), word) != NULL; }

static void *mount(nl_device *given, char *why, size_t why_bytes) {
    struct yaffs_param *param = &yaffs.param;
    device = given;
    nl_get_geometry(device, &chip);
    param->name = ROOT;
    param->total_bytes_per_chunk = chip.page_bytes;
    param->spare_bytes_per_chunk = chip.spare_bytes;
    param->chunks_per_block = chip.pages_per_block;
    param->end_block = chip.blocks - 1;
    param->n_reserved_blocks = 5;
    param->is_yaffs2 = chip.page_bytes > 512;
    param->use_nand_ecc = param->no_tags_ecc = 1;
    param->n_caches = has("no_cache") ? 0 : 10;
    param->cache_bypass_aligned = has("bypass");
    param->disable_summary = has("no_summary");
    param->skip_checkpt_rd = param->skip_checkpt_wr = has("no_checkpoint");
    param->defered_dir_update = param->empty_lost_n_found = param->hide_lost_n_found = 1;
    param->refresh_period = 500;
    yaffs.drv = (struct yaffs_driver){
        .drv_write_chunk_fn = write_chunk, .drv_read_chunk_fn = read_chunk, .drv_erase_fn = erase_block,
        .drv_mark_bad_fn = mark_bad, .drv_check_bad_fn = check_bad,
    };
    yaffs_add_device(&yaffs);
    if (yaffs_mount(ROOT) < 0) {
        snprintf(why, why_bytes, "yaffs_mount answers %d", last);
        return NULL;
    }
    return &yaffs;
}

static const char *at(const char *path) {
    snprintf((char *)place, sizeof place, ROOT "/%s", path);
    return (const char *)place;
}

/* A file is its handle, counted from 1. */
static int handle(void *file) { return (int)(intptr_t)file - 1; }

static void *open_file(void *fs, const char *path, int create) {
    (void)fs;
    return (void *)(intptr_t)(yaffs_open(at(path), create ? O_CREAT | O_RDWR : O_RDONLY, S_IREAD | S_IWRITE) + 1);
}

static int64_t read_file(void *fs, void *file, uint64_t offset, void *to, uint32_t bytes) {
    return (void)fs, yaffs_pread(handle(file), to, bytes, offset);
}

static int write_file(void *fs, void *file, uint64_t offset, const void *from, uint32_t bytes) {
    return (void)fs, yaffs_pwrite(handle(file), from, bytes, offset) == (int)bytes ? 0 : -1;
}

static int truncate_file(void *fs, void *file, uint64_t bytes) { return (void)fs, yaffs_ftruncate(handle(file), bytes); }

/* All files, directories and the tables, as a sync of the Linux driver. */
static int sync_file(void *fs, void *file) {
    (void)fs;
    if (file != NULL) {
        return yaffs_fsync(handle(file));
    }
    for (int each = 0; each < YAFFSFS_N_HANDLES; each++) {
        yaffs_fsync(each);
    }
    yaffs_update_dirty_dirs(&yaffs);
    return yaffs_sync(ROOT);
}

static int close_file(void *fs, void *file) { return (void)fs, yaffs_close(handle(file)); }

static int rename_file(void *fs, const char *from, const char *to) {
    char old[sizeof place];
    return (void)fs, strcpy(old, at(from)), yaffs_rename(old, at(to));
}

static int remove_path(void *fs, const char *path) {
    return (void)fs, yaffs_unlink(at(path)) == 0 ? 0 : yaffs_rmdir(at(path));
}

static int make_folder(void *fs, const char *path) { return (void)fs, yaffs_mkdir(at(path), S_IREAD | S_IWRITE | S_IEXEC); }

static int list(void *fs, const char *folder, void (*each)(void *, const char *, int), void *context) {
    (void)fs;
    yaffs_DIR *dir = yaffs_opendir(at(folder));
    struct yaffs_dirent *entry;
    struct yaffs_stat stat;
    while (dir != NULL && (entry = yaffs_readdir(dir)) != NULL) {
        /* It leaves d_type as it was. */
        snprintf((char *)place, sizeof place, ROOT "/%s/%s", folder, entry->d_name);
        if (yaffs_lstat((const char *)place, &stat) != 0) {
            return -1;
        }
        each(context, entry->d_name, S_ISDIR(stat.st_mode));
    }
    return dir == NULL ? -1 : yaffs_closedir(dir);
}

static const char *why(void *fs) {
    static char text[40];
    return (void)fs, snprintf(text, sizeof text, "yaffs2 answers %d", last), text;
}

const nl_file_firmware nl_file = {
    .size = sizeof(nl_file_firmware), .name = "yaffs2", .mount = mount, .open = open_file, .read = read_file,
    .write = write_file, .truncate = truncate_file, .sync = sync_file, .close = close_file, .rename = rename_file,
    .remove = remove_path, .mkdir = make_folder, .list = list, .why = why,
};

/* nandlab.h: a simulated NAND or NOR chip for a firmware in C.
 *
 * A command returns NL_OK, a number from 0 on where it says so, or one of the negative codes of enum nl_status. A command
 * that breaks a rule of the chip changes nothing and returns NL_RULE; nl_message() then has the sentence.
 *
 * A NOR chip takes the two calls with nor in their names, nl_erase(), and the calls without a page; every other command is a
 * broken rule. On a NAND chip those two are.
 *
 * Pages are numbered over the whole chip: page p is page p % pages_per_block of block p / pages_per_block. Calls on one
 * device must not run at the same time. Link with -lnandlab, or leave the calls open in a shared object for
 * `nandlab prove`.
 */
#ifndef NANDLAB_H
#define NANDLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nl_status {
    NL_OK = 0,
    NL_ECC = -1,            /* more wrong bits than the chip corrects, or a page that a cut or a failure left unreadable */
    NL_PROGRAM_FAILED = -2, /* the page is spent; the rest of its block is as before */
    NL_ERASE_FAILED = -3,   /* the block is lost: mark it bad */
    NL_BAD_BLOCK = -4,      /* a read of a block with a bad-block mark */
    NL_POWER_LOST = -5,     /* from now on every command returns this */
    NL_RULE = -6            /* the chip forbids the command: a bug in the firmware */
};

/* Order of first programs in a block. */
enum nl_program_order {
    NL_ORDER_ANY = 0,       /* any page at any time */
    NL_ORDER_ASCENDING = 1, /* ascending; skipped pages stay erased */
    NL_ORDER_DENSE = 2      /* ascending without gaps */
};

/* Causes of commands, as in the record of a run. */
enum nl_cause {
    NL_CAUSE_FIRMWARE = 0,          /* the firmware names none */
    NL_CAUSE_HOST = 1,              /* the data of the host's own request */
    NL_CAUSE_READ_MODIFY_WRITE = 2, /* the rest of a sector or page that is written in part */
    NL_CAUSE_GC = 3,                /* garbage collection */
    NL_CAUSE_MAP = 4,               /* tables on flash */
    NL_CAUSE_WEAR_LEVELING = 5,
    NL_CAUSE_BAD_BLOCK = 6,         /* moving data away from a failed block */
    NL_CAUSE_TRIM = 7,
    NL_CAUSE_REFRESH = 8,           /* rewriting data before its bit errors are too many */
    NL_CAUSE_CHECKPOINT = 9         /* saving tables from memory */
};

/* A chip in numbers. Fill it with nl_default_config() first: later versions may add fields.
 *
 * NOR has `pages_per_block` pages of `page_bytes` in an erase block, no spare area, no order, no ECC and no random faults:
 * their fields count for nothing. A program stays inside a page. With partial_programs 1 a word takes one program between
 * erases, and zeros on top; with more there is no limit. */
typedef struct nl_config {
    uint32_t size;             /* sizeof(nl_config) */
    uint32_t blocks;
    uint32_t pages_per_block;
    uint32_t page_bytes;       /* data, without the spare area */
    uint32_t spare_bytes;
    uint32_t program_order;    /* enum nl_program_order */
    uint32_t partial_programs; /* programs of a page between erases, 1 to 255 (NOP) */
    uint32_t endurance;        /* P/E cycles in the data sheet */
    uint32_t ecc_bits;         /* wrong bits that the chip corrects */
    uint32_t cached_programs;  /* 1: a program may be lost by a cut before the next nl_fence() */
    uint32_t copyback;         /* 1: nl_copy() does not use the bus */
    uint32_t word_bytes;       /* 0: NAND. Otherwise NOR, and the fewest bytes in a program */
    uint64_t seed;             /* of the random faults below */
    double read_us;            /* array to register */
    double program_us;         /* register to array */
    double program_byte_us;    /* NOR: each byte behind the first word, which takes program_us */
    double erase_us;
    double spare_read_us;      /* a spare area alone */
    double spare_program_us;   /* a spare area alone */
    double transfer_ns_per_byte;
    double transfer_command_us;
    double rber;               /* raw bit error rate, 0 to 0.1 */
    double program_failure_rate;
    double erase_failure_rate;
    double factory_bad_share;  /* 0 to 1 */
} nl_config;

typedef struct nl_geometry {
    uint32_t blocks, pages_per_block, page_bytes, spare_bytes;
    uint32_t program_order, partial_programs;
} nl_geometry;

/* Operations and bytes since the start. Refused commands do not count. */
typedef struct nl_counts {
    uint64_t reads, spare_reads, programs, spare_programs, copies, erases;
    uint64_t read_bytes, programmed_bytes, corrected_bits;
} nl_counts;

typedef struct nl_device nl_device;

/* Fills *config with a small chip: 16 blocks of 8 pages with 512 + 16 bytes, programmed once and without gaps. */
void nl_default_config(nl_config *config);

/* Makes a chip whose good blocks are erased. NULL: a number is out of its range, and `why` has the sentence. `why` may be
 * NULL. */
nl_device *nl_open(const nl_config *config, char *why, size_t why_bytes);

/* Frees a device of nl_open(). NULL is allowed. */
void nl_close(nl_device *device);

int nl_get_geometry(nl_device *device, nl_geometry *geometry);

/* Reads `length` bytes of a page's data from `offset`. An erased page reads as FFh. Time: read_us and the bytes. */
int nl_read(nl_device *device, uint32_t page, uint32_t offset, uint32_t length, void *to);

/* The same for the spare area. */
int nl_read_spare(nl_device *device, uint32_t page, uint32_t offset, uint32_t length, void *to);

/* Reads a page's data and its spare area with one command. Both have the chip's sizes. */
int nl_read_page(nl_device *device, uint32_t page, void *data, void *spare);

/* Programs a whole page. `spare` may be NULL: the spare area stays as it is. Both have the chip's sizes. */
int nl_program(nl_device *device, uint32_t page, const void *data, const void *spare);

/* Programs a part of the data, and with it a part of the spare area. A length may be 0. A byte of data takes one program
 * between erases, unless one of both is FFh; a byte of the spare area takes several, and each clears more bits. */
int nl_program_part(nl_device *device, uint32_t page, uint32_t offset, uint32_t length, const void *data,
                    uint32_t spare_offset, uint32_t spare_length, const void *spare);

/* Programs a part of the spare area alone. */
int nl_program_spare(nl_device *device, uint32_t page, uint32_t offset, uint32_t length, const void *spare);

/* Copies a page with its spare area to an erased page; the chip corrects wrong bits on the way. NL_ECC: the source is
 * unreadable, and the target still erased. */
int nl_copy(nl_device *device, uint32_t from, uint32_t to);

int nl_erase(nl_device *device, uint32_t block);

/* NOR: reads bytes from an address. */
int nl_nor_read(nl_device *device, uint32_t address, uint32_t length, void *to);

/* NOR: clears the bits that are 0 in `from`; a 1 leaves a bit as it is. Whole words inside one page. */
int nl_nor_program(nl_device *device, uint32_t address, uint32_t length, const void *from);

/* 1: the block has a bad-block mark. 0: it has none. Costs a read of a spare area. */
int nl_is_bad(nl_device *device, uint32_t block);

/* Writes the bad-block mark. The block then takes no program and no erase. */
int nl_mark_bad(nl_device *device, uint32_t block);

/* 1: data and spare area read as FFh. 0: they do not, or they are unreadable. Costs a read of the page. */
int nl_is_erased(nl_device *device, uint32_t page);

/* Waits until all programs are durable. Without cached_programs each one is durable when it returns. */
int nl_fence(nl_device *device);

/* Time used by all commands, one after another. */
uint64_t nl_time_ns(nl_device *device);

int nl_get_counts(nl_device *device, nl_counts *counts);

/* P/E cycles of a block; 0 for a block outside the chip. */
uint32_t nl_pe_cycles(nl_device *device, uint32_t block);

/* The sentence of the last broken rule; "" without one. Valid until the next command. */
const char *nl_message(nl_device *device);

/* A status in words. */
const char *nl_status_text(int status);

/* Names the cause of the next commands, an enum nl_cause, until the next call; returns the one before. `nandlab run` counts
 * commands by cause; a proof and nl_open() ignore it. Each call from the host begins with NL_CAUSE_FIRMWARE. NL_RULE: there is
 * no such cause. */
int nl_cause(nl_device *device, int cause);

/* The text in the experiment's ftl.firmware.options; "" in a proof and after nl_open(). Valid as long as the device. */
const char *nl_options(nl_device *device);

/* For tests of a firmware: faults and power cuts at will. */

/* Makes the nth program, or erase, from now fail; 1: the next one. NL_RULE: n is 0. */
int nl_fail_program(nl_device *device, uint64_t nth);
int nl_fail_erase(nl_device *device, uint64_t nth);

/* Adds wrong bits to a page's data. They stay until the erase of the block. */
int nl_flip_bits(nl_device *device, uint32_t page, uint32_t bits);

/* Cuts the power at the nth operation from now that changes the flash; 1: the next one. `form` is one of clean, done,
 * torn_page, torn_spare, weak_page, torn_erase.unreadable, torn_erase.prefix, torn_erase.weak, lost_tail; a form that does
 * not apply to the operation acts as clean. NL_RULE: there is no such form, or n is 0. */
int nl_cut(nl_device *device, uint64_t nth, const char *form);

/* Operations that changed the flash, or tried to, since nl_open(), nl_cut() or nl_restore(). */
uint64_t nl_operations(nl_device *device);

/* 1 until a cut. */
int nl_has_power(nl_device *device);

/* Restores the power; the flash is as the cut left it. */
void nl_restore(nl_device *device);

/* Calls `call` whenever a command finds no power, before the command returns NL_POWER_LOST. `call` may leave the firmware by
 * longjmp(), as a cut does. NULL: no call. */
void nl_on_power_lost(nl_device *device, void (*call)(void *context), void *context);

/* A block firmware: a shared object with `const nl_block_firmware nl_block = {...}`, for `nandlab prove` and `nandlab run`.
 *
 * Functions return 0, or another number for a failure. A sector never written, or trimmed, reads as zeros or as FFh. After a
 * sync, everything written before survives a cut; without one, each sector has its last synced contents or one of the
 * later ones. In a proof a call that loses power never returns: the next call is a mount, with the object's global
 * variables as they were when it was loaded. Memory from malloc() is not freed by a cut. */
typedef struct nl_block_firmware {
    uint32_t size;     /* sizeof(nl_block_firmware) */
    uint32_t reserved; /* 0 */
    const char *name;

    /* Mounts what is on the flash, and formats an erased chip. NULL: failed, and `why` has a sentence. */
    void *(*mount)(nl_device *device, char *why, size_t why_bytes);
    void (*unmount)(void *firmware);              /* may be NULL */
    uint32_t (*sectors)(void *firmware);          /* the same after every mount */
    uint32_t (*sector_bytes)(void *firmware);     /* NULL: a page of the chip; at least 16 */
    int (*read)(void *firmware, uint32_t sector, void *to);
    int (*write)(void *firmware, uint32_t sector, const void *from);
    int (*trim)(void *firmware, uint32_t sector); /* NULL: trims are left out */
    int (*sync)(void *firmware);
    uint64_t (*ram)(void *firmware);              /* bytes; may be NULL */
    const char *(*why)(void *firmware);           /* the last failure in words; may be NULL */
} nl_block_firmware;

/* A file firmware: a shared object with `const nl_file_firmware nl_file = {...}`. A path has no leading slash, and "" is the
 * root. Functions return 0, or another number for a failure, unless they say more. Contents survive a cut after a sync of
 * their file, everything after a sync of the file system. Without a sync, each path has its last synced state or one of
 * the later ones; a renamed file is there under one of both names. */
typedef struct nl_file_firmware {
    uint32_t size;   /* sizeof(nl_file_firmware) */
    uint32_t atomic; /* 1: contents change at a sync alone. 0: a cut may leave a part of what was written since */
    const char *name;

    void *(*mount)(nl_device *device, char *why, size_t why_bytes);
    void (*unmount)(void *firmware); /* may be NULL */

    /* Opens a file. `create` 1: to read and write, and makes a missing one. 0: to read alone, and NULL if there is none.
     * NULL is a failure, too. */
    void *(*open)(void *firmware, const char *path, int create);
    /* The bytes read, fewer than `length` at the end of the file; negative: a failure. */
    int64_t (*read)(void *firmware, void *file, uint64_t offset, void *to, uint32_t length);
    int (*write)(void *firmware, void *file, uint64_t offset, const void *from, uint32_t length);
    int (*truncate)(void *firmware, void *file, uint64_t bytes);
    int (*sync)(void *firmware, void *file); /* NULL: the whole file system */
    int (*close)(void *firmware, void *file);

    int (*rename)(void *firmware, const char *from, const char *to); /* a file; replaces another one */
    int (*remove)(void *firmware, const char *path);                 /* a file, or an empty folder */
    int (*mkdir)(void *firmware, const char *path);                  /* NULL: there are no folders */
    /* Calls `each` for each name in a folder. */
    int (*list)(void *firmware, const char *folder, void (*each)(void *context, const char *name, int is_folder),
                void *context);
    uint64_t (*ram)(void *firmware);    /* bytes; may be NULL */
    const char *(*why)(void *firmware); /* the last failure in words; may be NULL */
} nl_file_firmware;

#ifdef __cplusplus
}
#endif
#endif

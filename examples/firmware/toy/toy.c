/* A block firmware in one file: a log with its map in RAM.
 *
 * Each write programs the next page of the open block, with sector and sequence number in the spare area. A mount reads
 * all pages; the newest readable copy of a sector wins. A trim writes zeros. If few blocks are free, the block with the
 * fewest live pages is moved and becomes free. A block is erased just before its first page.
 *
 * Build:  cc -shared -fPIC -I include -o toy.so examples/firmware/toy/toy.c
 * Prove:  nandlab prove ./toy.so
 *
 * Faults to find, one each:
 *   -DTRUSTS_SPARE   the mount believes a spare area whose page may be torn
 *   -DFILLS_ON       the mount fills the open block further
 *   -DSKIPS_ERASE    a block that looks erased is not erased again
 *   -DERASES_EARLY   a victim is erased before its pages are moved
 */
#include "nandlab.h"

#include <stdio.h>
#include <string.h>

#define MOST_PAGES 4096
#define MOST_PAGE_BYTES 4096
#define RESERVE 3 /* free blocks; each cut may leave one of them half filled */
#define NONE UINT32_MAX

typedef struct tag {
    uint32_t sector;
    uint32_t sequence;
    uint32_t sum; /* tells a tag from an erased or foreign spare area */
} tag;

static struct toy {
    nl_device *device;
    nl_geometry shape;
    uint32_t sectors;
    uint32_t sequence;
    uint32_t open; /* the block being filled, or NONE */
    uint32_t next; /* its next page */
    uint32_t map[MOST_PAGES];        /* by sector: the page, or NONE */
    uint32_t holds[MOST_PAGES];      /* by page: the sector of a live copy, or NONE */
    uint8_t live[MOST_PAGES];        /* by block: live pages */
    uint8_t unusable[MOST_PAGES];    /* by block: bad, or about to be */
    uint8_t page[MOST_PAGE_BYTES];
    const char *why;
} toy;

static uint32_t sum_of(const tag *tag)
{
    return (tag->sector * 2654435761u ^ tag->sequence * 40503u) + 0x70u;
}

static int failed(const char *why)
{
    toy.why = why;
    return -1;
}

static void forget(uint32_t page)
{
    if (page != NONE && toy.holds[page] != NONE) {
        toy.holds[page] = NONE;
        toy.live[page / toy.shape.pages_per_block]--;
    }
}

static void remember(uint32_t sector, uint32_t page)
{
    forget(toy.map[sector]);
    toy.map[sector] = page;
    toy.holds[page] = sector;
    toy.live[page / toy.shape.pages_per_block]++;
}

static uint32_t free_blocks(void)
{
    uint32_t blocks = 0;
    for (uint32_t block = 0; block < toy.shape.blocks; block++)
        blocks += !toy.unusable[block] && toy.live[block] == 0 && block != toy.open;
    return blocks;
}

/* Opens a free block and erases it. */
static int open_block(void)
{
    for (uint32_t tried = 0; tried < toy.shape.blocks; tried++) {
        /* Goes round, so wear is even. */
        uint32_t block = (tried + toy.sequence) % toy.shape.blocks;
        if (toy.unusable[block] || toy.live[block] > 0 || block == toy.open)
            continue;
#ifdef SKIPS_ERASE
        uint32_t first = block * toy.shape.pages_per_block, page = 0;
        while (page < toy.shape.pages_per_block && nl_is_erased(toy.device, first + page) == 1)
            page++;
        int status = page < toy.shape.pages_per_block ? nl_erase(toy.device, block) : NL_OK;
#else
        int status = nl_erase(toy.device, block);
#endif
        if (status == NL_OK) {
            toy.open = block;
            toy.next = 0;
            return 0;
        }
        if (status != NL_ERASE_FAILED)
            return failed(nl_status_text(status));
        toy.unusable[block] = 1;
        if (nl_mark_bad(toy.device, block) != NL_OK)
            return failed("no bad-block mark");
    }
    return failed("no free block");
}

/* Programs the next page with a sector; a failed program costs the rest of its block. */
static int append(uint32_t sector, const uint8_t *data)
{
    for (uint32_t tried = 0; tried < toy.shape.blocks; tried++) {
        if ((toy.open == NONE || toy.next == toy.shape.pages_per_block) && open_block() != 0)
            return -1;
        uint32_t page = toy.open * toy.shape.pages_per_block + toy.next++;
        tag tag = {sector, ++toy.sequence, 0};
        tag.sum = sum_of(&tag);
        int status = nl_program_part(toy.device, page, 0, toy.shape.page_bytes, data, 0, sizeof tag, &tag);
        if (status == NL_OK) {
            remember(sector, page);
            return 0;
        }
        if (status != NL_PROGRAM_FAILED)
            return failed(nl_status_text(status));
        toy.next = toy.shape.pages_per_block;
    }
    return failed("every program failed");
}

/* Moves the live pages of the block with the fewest. */
static int collect(void)
{
    uint32_t victim = NONE;
    for (uint32_t block = 0; block < toy.shape.blocks; block++) {
        if (toy.unusable[block] || toy.live[block] == 0 || block == toy.open)
            continue;
        if (victim == NONE || toy.live[block] < toy.live[victim])
            victim = block;
    }
    if (victim == NONE || toy.live[victim] == toy.shape.pages_per_block)
        return failed("nothing to collect");
    static uint8_t kept[64][MOST_PAGE_BYTES];
    uint32_t sectors[64], count = 0;
    for (uint32_t page = victim * toy.shape.pages_per_block; page < (victim + 1) * toy.shape.pages_per_block; page++) {
        if (toy.holds[page] == NONE)
            continue;
        if (nl_read(toy.device, page, 0, toy.shape.page_bytes, kept[count]) != NL_OK)
            return failed("a live page is unreadable");
        sectors[count++] = toy.holds[page];
    }
#ifdef ERASES_EARLY
    nl_erase(toy.device, victim);
#endif
    for (uint32_t at = 0; at < count; at++)
        if (append(sectors[at], kept[at]) != 0)
            return -1;
    return 0;
}

static int toy_write(void *firmware, uint32_t sector, const void *from)
{
    (void)firmware;
    nl_cause(toy.device, NL_CAUSE_GC);
    while (free_blocks() < RESERVE)
        if (collect() != 0)
            return -1;
    nl_cause(toy.device, NL_CAUSE_HOST);
    return append(sector, from);
}

static int toy_trim(void *firmware, uint32_t sector)
{
    memset(toy.page, 0, toy.shape.page_bytes);
    return toy_write(firmware, sector, toy.page);
}

static int toy_read(void *firmware, uint32_t sector, void *to)
{
    (void)firmware;
    if (toy.map[sector] == NONE) {
        memset(to, 0, toy.shape.page_bytes);
        return 0;
    }
    int status = nl_read(toy.device, toy.map[sector], 0, toy.shape.page_bytes, to);
    return status == NL_OK ? 0 : failed(nl_status_text(status));
}

/* Every write is on flash when it returns. */
static int toy_sync(void *firmware)
{
    (void)firmware;
    return nl_fence(toy.device) == NL_OK ? 0 : failed("the fence failed");
}

/* Takes a page into the map if it has the newest readable copy of its sector. */
static void found(uint32_t page, uint32_t *newest)
{
    tag tag;
    if (nl_read_spare(toy.device, page, 0, sizeof tag, &tag) != NL_OK || tag.sum != sum_of(&tag))
        return;
    if (tag.sequence > toy.sequence)
        toy.sequence = tag.sequence;
#ifdef FILLS_ON
    if (tag.sequence == toy.sequence) {
        toy.open = page / toy.shape.pages_per_block;
        toy.next = page % toy.shape.pages_per_block + 1;
    }
#endif
    if (tag.sector >= toy.sectors || tag.sequence <= newest[tag.sector])
        return;
#ifndef TRUSTS_SPARE
    if (nl_read(toy.device, page, 0, toy.shape.page_bytes, toy.page) != NL_OK)
        return;
#endif
    newest[tag.sector] = tag.sequence;
    remember(tag.sector, page);
}

static void *toy_mount(nl_device *device, char *why, size_t why_bytes)
{
    static uint32_t newest[MOST_PAGES];
    toy.device = device;
    nl_get_geometry(device, &toy.shape);
    uint32_t pages = toy.shape.blocks * toy.shape.pages_per_block;
    if (pages > MOST_PAGES || toy.shape.page_bytes > MOST_PAGE_BYTES || toy.shape.pages_per_block > 64 ||
        toy.shape.spare_bytes < sizeof(tag) || toy.shape.blocks < 8) {
        snprintf(why, why_bytes, "8 blocks to %d pages of up to %d + 12 bytes fit", MOST_PAGES, MOST_PAGE_BYTES);
        return NULL;
    }
    toy.sectors = (toy.shape.blocks - RESERVE - 2) * toy.shape.pages_per_block * 3 / 4;
    toy.sequence = 0;
    toy.open = NONE;
    memset(newest, 0, sizeof newest);
    memset(toy.map, 0xFF, sizeof toy.map);
    memset(toy.holds, 0xFF, sizeof toy.holds);
    memset(toy.live, 0, sizeof toy.live);
    for (uint32_t block = 0; block < toy.shape.blocks; block++) {
        toy.unusable[block] = nl_is_bad(device, block) != 0;
        for (uint32_t page = 0; !toy.unusable[block] && page < toy.shape.pages_per_block; page++)
            found(block * toy.shape.pages_per_block + page, newest);
    }
    return &toy;
}

static uint32_t toy_sectors(void *firmware)
{
    (void)firmware;
    return toy.sectors;
}

static uint64_t toy_ram(void *firmware)
{
    (void)firmware;
    return sizeof toy;
}

static const char *toy_why(void *firmware)
{
    (void)firmware;
    return toy.why;
}

const nl_block_firmware nl_block = {
    .size = sizeof(nl_block_firmware),
    .name = "toy",
    .mount = toy_mount,
    .sectors = toy_sectors,
    .read = toy_read,
    .write = toy_write,
    .trim = toy_trim,
    .sync = toy_sync,
    .ram = toy_ram,
    .why = toy_why,
};

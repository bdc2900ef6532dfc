/* A firmware that does what its options say, in its only block. */
#include "nandlab.h"

#include <stdio.h>
#include <string.h>

#ifndef SIZE
#define SIZE sizeof(nl_block_firmware)
#endif

static nl_device *chip;
static int mounts;
static uint8_t page[512];

static int is(const char *option)
{
    return strcmp(nl_options(chip), option) == 0;
}

static void *mount(nl_device *device, char *why, size_t why_bytes)
{
    chip = device;
    mounts++;
    if (is("fails")) {
        snprintf(why, why_bytes, "it was told to");
        return NULL;
    }
    return &mounts;
}

static uint32_t sectors(void *firmware)
{
    (void)firmware;
    return (uint32_t)mounts;
}

static int answer(void *firmware, uint32_t sector, void *to)
{
    (void)firmware;
    (void)sector;
    memset(to, 7, sizeof page);
    return is("refuses") ? -9 : 0;
}

static int all_commands(void *firmware, uint32_t sector, const void *from)
{
    uint8_t spare[4] = {0xF0, 1, 2, 3};
    (void)firmware;
    (void)sector;
    if (is("breaks"))
        return nl_program(chip, 1, from, NULL) == NL_RULE ? 0 : 1;
    nl_is_bad(chip, 1);
    nl_is_erased(chip, 0);
    nl_cause(chip, NL_CAUSE_MAP);
    nl_program_part(chip, 0, 0, 256, from, 0, 4, spare);
    nl_program_part(chip, 0, 256, 256, from, 0, 0, NULL);
    nl_program_spare(chip, 0, 4, 2, spare);
    nl_read(chip, 0, 0, 100, page);
    nl_read_spare(chip, 0, 0, 8, page);
    nl_cause(chip, NL_CAUSE_GC);
    nl_copy(chip, 0, 1);
    nl_erase(chip, 0);
    nl_mark_bad(chip, 1);
    return nl_time_ns(chip) == 77 ? 0 : 1;
}

static int nothing(void *firmware)
{
    (void)firmware;
    return 0;
}

static const char *why(void *firmware)
{
    (void)firmware;
    return "a reason";
}

const nl_block_firmware nl_block = {
    .size = SIZE, .name = "probe", .mount = mount, .sectors = sectors,
    .read = answer, .write = all_commands, .sync = nothing, .why = why,
};

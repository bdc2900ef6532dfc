/* Every function of nandlab.h, and every rule broken once. */
#include "nandlab.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, int line, const char *what)
{
    if (!good) {
        printf("line %d: %s\n", line, what);
        exit(1);
    }
}

#define CHECK(good) check(good, __LINE__, #good)

static nl_device *open_chip(uint32_t order, uint32_t programs)
{
    nl_config config;
    nl_default_config(&config);
    config.program_order = order;
    config.partial_programs = programs;
    nl_device *device = nl_open(&config, NULL, 0);
    CHECK(device != NULL);
    return device;
}

static void refused(nl_device *device, int status, const char *sentence, int line)
{
    check(status == NL_RULE, line, "a broken rule");
    check(strstr(nl_message(device), sentence) != NULL, line, nl_message(device));
}

#define REFUSED(device, call, sentence) refused(device, call, sentence, __LINE__)

static uint8_t page[512], spare[16], back[512], spare_back[16];

static void opening(void)
{
    char why[200];
    nl_config config;
    nl_default_config(&config);
    CHECK(config.size == sizeof config && config.blocks == 16 && config.factory_bad_share == 0);
    config.partial_programs = 0;
    CHECK(nl_open(&config, why, sizeof why) == NULL);
    CHECK(strcmp(why, "partial_programs = 0: it is 1 to 255") == 0);
    CHECK(nl_open(&config, why, 8) == NULL && strcmp(why, "partial") == 0);
    nl_default_config(&config);
    config.size = 4;
    CHECK(nl_open(&config, why, sizeof why) == NULL && strstr(why, "size = 4") != NULL);
    nl_default_config(&config);
    config.read_us = -1;
    CHECK(nl_open(&config, why, sizeof why) == NULL && strstr(why, "read_us = -1") != NULL);
    nl_default_config(&config);
    config.program_order = 3;
    CHECK(nl_open(&config, why, sizeof why) == NULL && strstr(why, "program_order = 3") != NULL);
    nl_default_config(&config);
    config.page_bytes = 100;
    CHECK(nl_open(&config, why, sizeof why) == NULL && strlen(why) > 20);
    nl_close(NULL);
}

static void commands(void)
{
    nl_device *device = open_chip(NL_ORDER_ASCENDING, 4);
    nl_geometry geometry;
    nl_counts counts;
    memset(page, 0x5A, sizeof page);
    memset(spare, 0xA5, sizeof spare);
    CHECK(nl_get_geometry(device, &geometry) == NL_OK);
    CHECK(geometry.blocks == 16 && geometry.pages_per_block == 8 && geometry.page_bytes == 512);
    CHECK(geometry.spare_bytes == 16 && geometry.program_order == NL_ORDER_ASCENDING);
    CHECK(geometry.partial_programs == 4);
    CHECK(nl_is_erased(device, 0) == 1 && nl_read(device, 0, 0, 512, back) == NL_OK && back[511] == 0xFF);
    CHECK(nl_program(device, 0, page, spare) == NL_OK && nl_is_erased(device, 0) == 0);
    CHECK(nl_read(device, 0, 500, 12, back) == NL_OK && memcmp(back, page, 12) == 0 && back[12] == 0xFF);
    CHECK(nl_read_spare(device, 0, 8, 8, back) == NL_OK && memcmp(back, spare, 8) == 0);
    CHECK(nl_read(device, 0, 512, 0, NULL) == NL_OK);
    CHECK(nl_program_part(device, 1, 0, 128, page, 0, 0, NULL) == NL_OK);
    CHECK(nl_program_part(device, 1, 128, 128, page, 4, 4, spare) == NL_OK);
    CHECK(nl_read(device, 1, 0, 512, back) == NL_OK && back[255] == 0x5A && back[256] == 0xFF);
    CHECK(nl_program_spare(device, 1, 0, 4, spare) == NL_OK);
    CHECK(nl_read_spare(device, 1, 0, 16, back) == NL_OK && back[7] == 0xA5 && back[8] == 0xFF);
    CHECK(nl_program(device, 2, page, NULL) == NL_OK && nl_copy(device, 0, 3) == NL_OK);
    CHECK(nl_read_spare(device, 3, 0, 16, back) == NL_OK && memcmp(back, spare, 16) == 0);
    CHECK(nl_read_page(device, 3, back, spare_back) == NL_OK && memcmp(back, page, 512) == 0);
    CHECK(memcmp(spare_back, spare, 16) == 0);
    CHECK(nl_fence(device) == NL_OK && nl_operations(device) == 6);
    CHECK(nl_erase(device, 0) == NL_OK && nl_is_erased(device, 3) == 1);
    CHECK(nl_pe_cycles(device, 0) == 1 && nl_pe_cycles(device, 1) == 0 && nl_pe_cycles(device, 99) == 0);
    CHECK(nl_is_bad(device, 1) == 0 && nl_mark_bad(device, 1) == NL_OK && nl_is_bad(device, 1) == 1);
    CHECK(nl_read(device, 8, 0, 1, back) == NL_BAD_BLOCK);
    CHECK(nl_get_counts(device, &counts) == NL_OK && counts.programs == 4 && counts.copies == 1);
    CHECK(counts.spare_programs == 2 && counts.erases == 1 && counts.spare_reads == 5 && counts.reads == 9);
    CHECK(nl_time_ns(device) > 2000000 + 6 * 300000 && nl_time_ns(device) < 5000000);
    CHECK(strcmp(nl_status_text(NL_OK), "done") == 0);
    for (int status = NL_RULE - 1; status < NL_OK; status++)
        CHECK(strcmp(nl_status_text(status), nl_status_text(status + 1)) != 0);
    nl_close(device);
}

static void faults(void)
{
    nl_device *device = open_chip(NL_ORDER_DENSE, 1);
    CHECK(nl_fail_program(device, 2) == NL_OK && nl_fail_erase(device, 1) == NL_OK);
    CHECK(nl_program(device, 0, page, spare) == NL_OK);
    CHECK(nl_program(device, 1, page, spare) == NL_PROGRAM_FAILED && nl_read(device, 1, 0, 1, back) == NL_ECC);
    CHECK(nl_erase(device, 0) == NL_ERASE_FAILED && nl_read(device, 0, 0, 1, back) == NL_ECC);
    CHECK(nl_program(device, 8, page, spare) == NL_OK && nl_flip_bits(device, 8, 8) == NL_OK);
    CHECK(nl_read(device, 8, 0, 1, back) == NL_OK && back[0] == 0x5A);
    CHECK(nl_flip_bits(device, 8, 1) == NL_OK && nl_read(device, 8, 0, 1, back) == NL_ECC);
    CHECK(nl_copy(device, 8, 9) == NL_ECC && nl_is_erased(device, 8) == 0 && nl_is_erased(device, 9) == 1);
    REFUSED(device, nl_fail_program(device, 0), "counted from 1");
    REFUSED(device, nl_fail_erase(device, 0), "counted from 1");
    REFUSED(device, nl_flip_bits(device, 999, 1), "pages 0 to 127");
    nl_close(device);
}

static void cuts(void)
{
    nl_device *device = open_chip(NL_ORDER_DENSE, 1);
    REFUSED(device, nl_cut(device, 1, "half"), "torn_page");
    REFUSED(device, nl_cut(device, 0, "clean"), "operation 0");
    CHECK(nl_cut(device, 2, "torn_page") == NL_OK && nl_has_power(device) == 1);
    CHECK(nl_program(device, 0, page, spare) == NL_OK && nl_program(device, 1, page, spare) == NL_POWER_LOST);
    CHECK(nl_has_power(device) == 0 && nl_read(device, 0, 0, 1, back) == NL_POWER_LOST);
    CHECK(nl_read_spare(device, 0, 0, 1, back) == NL_POWER_LOST && nl_program_spare(device, 0, 0, 1, spare) == NL_POWER_LOST);
    CHECK(nl_read_page(device, 0, back, spare_back) == NL_POWER_LOST);
    CHECK(nl_copy(device, 0, 2) == NL_POWER_LOST && nl_erase(device, 0) == NL_POWER_LOST);
    CHECK(nl_is_bad(device, 0) == NL_POWER_LOST && nl_mark_bad(device, 0) == NL_POWER_LOST);
    CHECK(nl_is_erased(device, 0) == NL_POWER_LOST && nl_fence(device) == NL_POWER_LOST);
    nl_restore(device);
    CHECK(nl_has_power(device) == 1 && nl_operations(device) == 0);
    CHECK(nl_read(device, 0, 0, 1, back) == NL_OK && nl_read(device, 1, 0, 1, back) == NL_ECC);
    CHECK(nl_read_spare(device, 1, 0, 16, back) == NL_OK && memcmp(back, spare, 16) == 0);
    CHECK(nl_cut(device, 1, "torn_erase.weak") == NL_OK && nl_erase(device, 0) == NL_POWER_LOST);
    nl_restore(device);
    CHECK(nl_is_erased(device, 0) == 1);
    REFUSED(device, nl_program(device, 0, page, spare), "the erase of block 0 was cut by a power loss");
    CHECK(nl_erase(device, 0) == NL_OK && nl_cut(device, 1, "weak_page") == NL_OK);
    CHECK(nl_program(device, 0, page, spare) == NL_POWER_LOST);
    nl_restore(device);
    CHECK(nl_is_erased(device, 0) == 1);
    REFUSED(device, nl_program(device, 0, page, spare), "its last program was cut by a power loss");
    nl_close(device);
}

static jmp_buf before;

static void jump(void *times)
{
    ++*(int *)times;
    longjmp(before, 1);
}

static void count(void *times)
{
    ++*(int *)times;
}

static void power(void)
{
    nl_device *device = open_chip(NL_ORDER_DENSE, 1);
    static int jumps, calls;
    nl_on_power_lost(device, jump, &jumps);
    CHECK(nl_cut(device, 1, "done") == NL_OK);
    if (setjmp(before) == 0) {
        nl_program(device, 0, page, spare);
        CHECK(!"the call came back");
    }
    CHECK(jumps == 1 && nl_has_power(device) == 0);
    nl_on_power_lost(device, count, &calls);
    CHECK(nl_read(device, 0, 0, 1, back) == NL_POWER_LOST && nl_fence(device) == NL_POWER_LOST && calls == 2);
    nl_on_power_lost(device, NULL, NULL);
    CHECK(nl_read(device, 0, 0, 1, back) == NL_POWER_LOST && calls == 2 && jumps == 1);
    nl_restore(device);
    CHECK(nl_read(device, 0, 0, 1, back) == NL_OK);
    nl_close(device);
}

static void rules(void)
{
    nl_device *dense = open_chip(NL_ORDER_DENSE, 2), *ascending = open_chip(NL_ORDER_ASCENDING, 1);
    CHECK(strcmp(nl_message(dense), "") == 0);
    REFUSED(dense, nl_read(dense, 128, 0, 1, back), "read of page 128: the chip has pages 0 to 127");
    REFUSED(dense, nl_read(dense, 0, 511, 2, back), "bytes 511 to 512 reach beyond the 512 bytes of its data");
    REFUSED(dense, nl_read_spare(dense, 0, 16, 1, back), "beyond the 16 bytes of its spare area");
    REFUSED(dense, nl_program(dense, 1, page, spare), "this chip programs without gaps, page 0 is next");
    REFUSED(dense, nl_program_part(dense, 0, 0, 513, page, 0, 0, NULL), "beyond the 512 bytes");
    REFUSED(dense, nl_program_spare(dense, 0, 9, 8, spare), "beyond the 16 bytes");
    CHECK(nl_program(dense, 0, page, spare) == NL_OK);
    REFUSED(dense, nl_program(dense, 0, page, spare), "byte 0 is programmed already");
    REFUSED(dense, nl_copy(dense, 0, 0), "copy to page 0: the page is programmed already");
    CHECK(nl_program_spare(dense, 0, 0, 1, spare) == NL_OK);
    REFUSED(dense, nl_program_spare(dense, 0, 0, 1, spare), "allows 2 programs of a page between erases");
    CHECK(nl_mark_bad(dense, 1) == NL_OK);
    REFUSED(dense, nl_program(dense, 8, page, spare), "block 1 is bad");
    REFUSED(dense, nl_erase(dense, 1), "erase of block 1: the block is bad");
    REFUSED(dense, nl_erase(dense, 16), "the chip has blocks 0 to 15");
    REFUSED(dense, nl_is_bad(dense, 16), "bad-block check of block 16");
    REFUSED(dense, nl_mark_bad(dense, 16), "bad-block mark of block 16");
    REFUSED(dense, nl_is_erased(dense, 128), "check of page 128");
    CHECK(nl_program(ascending, 3, page, spare) == NL_OK);
    REFUSED(ascending, nl_program(ascending, 2, page, spare), "pages of block 0 below page 4 are spent");
    CHECK(nl_cause(dense, NL_CAUSE_GC) == NL_CAUSE_FIRMWARE && nl_cause(dense, NL_CAUSE_HOST) == NL_CAUSE_GC);
    REFUSED(dense, nl_cause(dense, -1), "causes are 0 to 9");
    REFUSED(dense, nl_cause(dense, NL_CAUSE_CHECKPOINT + 1), "causes are 0 to 9");
    CHECK(nl_options(dense)[0] == '\0');
    nl_close(dense);
    nl_close(ascending);
}

static void nor(void)
{
    nl_config config;
    nl_geometry shape;
    nl_counts counts;
    char why[200];
    nl_default_config(&config);
    config.blocks = 2, config.word_bytes = 3;
    CHECK(nl_open(&config, why, sizeof why) == NULL && strstr(why, "a word must divide a page") != NULL);
    config.word_bytes = 4, config.program_byte_us = 2;
    nl_device *device = nl_open(&config, NULL, 0);
    uint8_t word[4] = {1, 2, 3, 4};
    CHECK(device != NULL && nl_get_geometry(device, &shape) == NL_OK);
    CHECK(shape.blocks == 2 && shape.pages_per_block == 8 && shape.page_bytes == 512 && shape.spare_bytes == 0);
    CHECK(nl_nor_program(device, 516, 4, word) == NL_OK && nl_nor_read(device, 515, 6, back) == NL_OK);
    CHECK(back[0] == 0xFF && memcmp(back + 1, word, 4) == 0 && back[5] == 0xFF);
    REFUSED(device, nl_nor_program(device, 516, 4, word), "the word at 516 is programmed already");
    REFUSED(device, nl_nor_program(device, 2, 4, word), "whole words of 4 bytes");
    REFUSED(device, nl_nor_read(device, 8191, 2, back), "the chip has 8192 bytes");
    REFUSED(device, nl_erase(device, 2), "the chip has blocks 0 to 1");
    REFUSED(device, nl_read(device, 0, 0, 1, back), "the chip is NOR");
    REFUSED(device, nl_fail_program(device, 1), "the chip is NOR");
    CHECK(nl_erase(device, 0) == NL_OK && nl_pe_cycles(device, 0) == 1 && nl_pe_cycles(device, 2) == 0);
    CHECK(nl_get_counts(device, &counts) == NL_OK && counts.programs == 1 && counts.erases == 1 && counts.reads == 1);
    CHECK(nl_time_ns(device) == (25 + 300 + 2000) * 1000 + 10 * 25 && nl_fence(device) == NL_OK);
    CHECK(nl_cut(device, 1, "torn_page") == NL_OK && nl_nor_program(device, 0, 8, page) == NL_POWER_LOST);
    CHECK(nl_nor_read(device, 0, 1, back) == NL_POWER_LOST && nl_fence(device) == NL_POWER_LOST);
    nl_restore(device);
    CHECK(nl_nor_read(device, 0, 8, back) == NL_OK && memcmp(back, page, 4) == 0 && back[4] == 0xFF);
    nl_close(device);
    device = open_chip(NL_ORDER_DENSE, 1);
    REFUSED(device, nl_nor_read(device, 0, 1, back), "the chip is NAND");
    REFUSED(device, nl_nor_program(device, 0, 4, word), "the chip is NAND");
    nl_close(device);
}

int main(void)
{
    opening();
    commands();
    faults();
    cuts();
    power();
    rules();
    nor();
    return 0;
}

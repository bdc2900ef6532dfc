/* The CRC of littlefs in place of lfs_util.c, eight bytes a step. A proof spends three quarters of its time in the CRC, and
 * lfs_util.c takes half a byte a step. The values are the same.
 */
#include <stddef.h>
#include <stdint.h>

static uint32_t table[8][256];

/* At the load, so a reset of the variables keeps the table. */
__attribute__((constructor)) static void fill_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
        table[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        for (int behind = 1; behind < 8; behind++) {
            uint32_t crc = table[behind - 1][byte];
            table[behind][byte] = crc >> 8 ^ table[0][crc & 0xff];
        }
    }
}

uint32_t lfs_crc(uint32_t crc, const void *buffer, size_t size) {
    const uint8_t *data = buffer;
    for (; size >= 8; data += 8, size -= 8) {
        crc ^= data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
        crc = table[7][crc & 0xff] ^ table[6][crc >> 8 & 0xff] ^ table[5][crc >> 16 & 0xff] ^ table[4][crc >> 24] ^
              table[3][data[4]] ^ table[2][data[5]] ^ table[1][data[6]] ^ table[0][data[7]];
    }
    for (; size > 0; data++, size--) {
        crc = crc >> 8 ^ table[0][(crc ^ *data) & 0xff];
    }
    return crc;
}

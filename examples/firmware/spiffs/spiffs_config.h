/* The configuration of SPIFFS for its glue in spiffs.c: its defaults, without prints and statistics. */
#ifndef SPIFFS_CONFIG_H_
#define SPIFFS_CONFIG_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t s32_t;
typedef uint32_t u32_t;
typedef int16_t s16_t;
typedef uint16_t u16_t;
typedef int8_t s8_t;
typedef uint8_t u8_t;

typedef u16_t spiffs_block_ix;
typedef u16_t spiffs_page_ix;
typedef u16_t spiffs_obj_id;
typedef u16_t spiffs_span_ix;

#define SPIFFS_DBG(...)
#define SPIFFS_GC_DBG(...)
#define SPIFFS_CACHE_DBG(...)
#define SPIFFS_CHECK_DBG(...)
#define SPIFFS_API_DBG(...)
#define _SPIPRIi "%d"
#define _SPIPRIad "%08x"
#define _SPIPRIbl "%04x"
#define _SPIPRIpg "%04x"
#define _SPIPRIsp "%04x"
#define _SPIPRIfd "%d"
#define _SPIPRIid "%04x"
#define _SPIPRIfl "%02x"

#define SPIFFS_CACHE 1
#define SPIFFS_CACHE_WR 1
#define SPIFFS_PAGE_CHECK 1
#define SPIFFS_GC_MAX_RUNS 5
#define SPIFFS_GC_HEUR_W_DELET (5)
#define SPIFFS_GC_HEUR_W_USED (-1)
#define SPIFFS_GC_HEUR_W_ERASE_AGE (50)
#define SPIFFS_OBJ_NAME_LEN (32)
#define SPIFFS_COPY_BUFFER_STACK (64)
#define SPIFFS_LOCK(fs)
#define SPIFFS_UNLOCK(fs)
#define SPIFFS_TEMPORAL_FD_CACHE 1
#define SPIFFS_TEMPORAL_CACHE_HIT_SCORE 4
#define SPIFFS_IX_MAP 1

#endif

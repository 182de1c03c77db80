/*
 * data/formats/bytes.h: little-endian numbers in bytes at any alignment. Pure.
 */
#ifndef DATA_FORMATS_BYTES_H
#define DATA_FORMATS_BYTES_H

#include <stdint.h>

static inline uint16_t bytes_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t bytes_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t bytes_u64(const uint8_t *at)
{
    return (uint64_t)bytes_u32(at) | (uint64_t)bytes_u32(at + 4) << 32;
}

#endif

/*
 * common/base/crc32c.h: the checksum of records in TensorFlow's files: CRC-32C (Castagnoli,
 * RFC 3720 B.4). Pure. Threads: any.
 */
#ifndef COMMON_BASE_CRC32C_H
#define COMMON_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c_of(const void *data, size_t size);

/* The checksum, rotated and with a constant added, as TFRecord files store it, so that the checksum
 * of data that contain checksums is not trivial. */
uint32_t crc32c_masked(const void *data, size_t size);

#endif

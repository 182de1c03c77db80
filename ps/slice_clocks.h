/*
 * ps/slice_clocks.h: the clocks of the slices as bytes. In async mode they are stored with a shard,
 * so that the contributions it contains are not applied again after a restore. Little-endian:
 * version and number of slices (32 bits each), then the clocks (64 bits each). Pure.
 */
#ifndef PS_SLICE_CLOCKS_H
#define PS_SLICE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cluster/slices.h"

enum { SLICE_CLOCKS_VERSION = 1, SLICE_CLOCKS_BYTES_MAX = 8 + 8 * SLICES_MAX };

/* Returns the number of bytes written. */
size_t slice_clocks_encode(const uint64_t *clocks, uint32_t slices,
                           uint8_t out[static SLICE_CLOCKS_BYTES_MAX]);
/* False: the bytes are not the clocks of this number of slices; `clocks` is then unchanged. */
bool slice_clocks_decode(const uint8_t *bytes, size_t size, uint32_t slices, uint64_t *clocks);

#endif

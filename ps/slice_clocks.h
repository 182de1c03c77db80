/* ps/slice_clocks.h: the clocks of the slices as bytes, kept with a saved shard in async mode, so
 * that what it holds is not applied again after a restore. Little-endian: version, slices (32 bits
 * each), clocks (64 bits each). Pure. */
#ifndef PS_SLICE_CLOCKS_H
#define PS_SLICE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cluster/slices.h"

enum { SLICE_CLOCKS_VERSION = 1, SLICE_CLOCKS_BYTES_MAX = 8 + 8 * SLICES_MAX };

/* Returns the bytes written. */
size_t slice_clocks_encode(const uint64_t *clocks, uint32_t slices,
                           uint8_t out[static SLICE_CLOCKS_BYTES_MAX]);
/* False: not notes over so many slices; `clocks` is undefined. */
bool slice_clocks_decode(const uint8_t *bytes, size_t size, uint32_t slices, uint64_t *clocks);

#endif

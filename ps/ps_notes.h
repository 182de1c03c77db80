/* ps/ps_notes.h: the clocks of the slices as bytes, kept with a saved shard in async mode, so that
 * what it holds is not applied again after a restore. Little-endian: version, slices (32 bits
 * each), clocks (64 bits each). Pure. */
#ifndef PS_PS_NOTES_H
#define PS_PS_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/slices.h"

enum { PS_NOTES_VERSION = 1, PS_NOTES_MAX = 8 + 8 * SLICES_MAX };

/* Returns the bytes written. */
size_t ps_notes_encode(const uint64_t *clocks, uint32_t slices, uint8_t out[static PS_NOTES_MAX]);
/* False: not notes over so many slices; `clocks` is undefined. */
bool ps_notes_decode(const uint8_t *bytes, size_t size, uint32_t slices, uint64_t *clocks);

#endif

/*
 * common/base/bytes.h: records as bytes: numbers with the low byte first, short texts, and data, by
 * a writer that grows and a reader that stays within bounds.
 *
 * The bytes that are read are not trusted. After the first fault a reader returns zeros, so a
 * decoder may look at `fault` once for several fields. Threads: the owner's. Nothing blocks.
 */
#ifndef COMMON_BASE_BYTES_H
#define COMMON_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BYTES_TEXT_MAX = 256 }; /* With the terminating zero. */

/* All zero: nothing is written. The owner calls free() for `bytes`. */
struct byte_writer {
    uint8_t *bytes;
    size_t size, capacity;
    bool failed; /* Out of memory. */
};

void bytes_put(struct byte_writer *writer, const void *data, size_t size);
/* The `size` low bytes of a number, at most 8. */
void bytes_put_number(struct byte_writer *writer, uint64_t value, size_t size);
/* Shorter than BYTES_TEXT_MAX; NULL: the empty text. */
void bytes_put_text(struct byte_writer *writer, const char *text);

struct byte_reader {
    const uint8_t *bytes;
    size_t size, at;
    const char *fault; /* The first; NULL: none. */
};

/* The next `size` bytes. NULL: a fault. */
const uint8_t *bytes_take(struct byte_reader *reader, uint64_t size);
/* A little-endian number of `size` bytes, at most 8; 0 after a fault. */
uint64_t bytes_take_number(struct byte_reader *reader, size_t size);
/* A number that is at most `most`; otherwise `fault` becomes the fault, unless there is one. */
uint64_t bytes_take_count(struct byte_reader *reader, size_t size, uint64_t most,
                          const char *fault);
/* A text of printable ASCII characters that fits into `out`; after a fault it is empty. */
void bytes_take_text(struct byte_reader *reader, char *out, size_t size);

#endif

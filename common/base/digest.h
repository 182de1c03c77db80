/*
 * common/base/digest.h: XXH3-128, the digest of chunks, files and parameters. It detects accidents
 * (bit rot, torn or mixed-up files); it does not protect against an attacker.
 *
 * Threads: pure functions of their arguments. Source: xxHash 0.8, whose XXH3 values are
 * final, so that digests compare across machines and releases.
 */
#ifndef COMMON_BASE_DIGEST_H
#define COMMON_BASE_DIGEST_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = 16, DIGEST_TEXT_BYTES = 33 };

struct digest {
    uint64_t low, high;
};

struct digest digest_of(const void *data, size_t size);

static inline bool digest_equal(struct digest a, struct digest b)
{
    return a.high == b.high && a.low == b.low;
}

/* 32 lower-case hexadecimal digits, the high half first, as `xxh128sum` prints them. */
void digest_format(struct digest digest, char out[static DIGEST_TEXT_BYTES]);

/* False when `text` is anything but 32 lower-case hexadecimal digits; `*out` is then untouched. */
bool digest_parse(const char *text, struct digest *out);

/* The digest in 16 bytes, in the byte order of the text. */
void digest_encode(struct digest digest, uint8_t out[static DIGEST_BYTES]);
struct digest digest_decode(const uint8_t in[static DIGEST_BYTES]);

/* The digest of data that arrives in pieces of any size. Nothing to free. The code for AVX2 needs
 * the alignment, which malloc() does not give to a struct that contains a stream. */
struct digest_stream {
    alignas(64) uint8_t state[640]; /* Private: digest_private.h. */
};

void digest_begin(struct digest_stream *stream);
void digest_add(struct digest_stream *stream, const void *data, size_t size);
struct digest digest_end(const struct digest_stream *stream);

#endif

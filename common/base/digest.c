#include "common/base/digest.h"

#include <assert.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* For the layout of the state, which digest_stream holds. */
#include <xxhash.h>

static_assert(sizeof(XXH3_state_t) <= sizeof(struct digest_stream), "the state fits");
static_assert(alignof(struct digest_stream) >= alignof(XXH3_state_t), "the state is aligned");

struct digest digest_of(const void *data, size_t size)
{
    assert(data != NULL || size == 0);
    XXH128_hash_t hash = XXH3_128bits(data, size);
    return (struct digest){.high = hash.high64, .low = hash.low64};
}

void digest_format(struct digest digest, char out[static DIGEST_TEXT_BYTES])
{
    uint8_t bytes[DIGEST_BYTES];
    digest_encode(digest, bytes);
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    out[DIGEST_TEXT_BYTES - 1] = '\0';
}

bool digest_parse(const char *text, struct digest *out)
{
    assert(text != NULL);
    uint64_t halves[2] = {0, 0};
    for (size_t i = 0; i < 2 * DIGEST_BYTES; i++) {
        char c = text[i];
        uint64_t digit;
        if (c >= '0' && c <= '9') {
            digit = (uint64_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (uint64_t)(c - 'a') + 10;
        } else {
            return false; /* The terminating zero ends here too. */
        }
        halves[i / DIGEST_BYTES] = halves[i / DIGEST_BYTES] << 4 | digit;
    }
    if (text[2 * DIGEST_BYTES] != '\0') { return false; }
    *out = (struct digest){.high = halves[0], .low = halves[1]};
    return true;
}

void digest_encode(struct digest digest, uint8_t out[static DIGEST_BYTES])
{
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(digest.high >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(digest.low >> (56 - 8 * i));
    }
}

struct digest digest_decode(const uint8_t in[static DIGEST_BYTES])
{
    struct digest digest = {0, 0};
    for (unsigned i = 0; i < 8; i++) {
        digest.high = digest.high << 8 | in[i];
        digest.low = digest.low << 8 | in[8 + i];
    }
    return digest;
}

void digest_begin(struct digest_stream *stream)
{
    XXH3_state_t *state = (XXH3_state_t *)(void *)stream->state;
    memset(state, 0, sizeof *state); /* xxHash requires it before the first reset. */
    XXH_errorcode code = XXH3_128bits_reset(state);
    assert(code == XXH_OK);
}

void digest_add(struct digest_stream *stream, const void *data, size_t size)
{
    XXH_errorcode code = XXH3_128bits_update((XXH3_state_t *)(void *)stream->state, data, size);
    assert(code == XXH_OK);
}

struct digest digest_end(const struct digest_stream *stream)
{
    XXH128_hash_t hash = XXH3_128bits_digest((const XXH3_state_t *)(const void *)stream->state);
    return (struct digest){.high = hash.high64, .low = hash.low64};
}

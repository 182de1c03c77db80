#include "common/base/digest.h"

#include <assert.h>

#include "common/base/digest_private.h"

/* The choice stays the same for the life of the process, so a stream keeps its code. */
static const struct digest_code *code_of_processor(void)
{
#if defined(__x86_64__)
    const struct digest_code *code = digest_code_avx2();
    if (code != NULL && __builtin_cpu_supports("avx2")) { return code; }
#endif
    return digest_code_library();
}

struct digest digest_of(const void *data, size_t size)
{
    assert(data != NULL || size == 0);
    return code_of_processor()->of(data, size);
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
    assert((uintptr_t)stream % alignof(struct digest_stream) == 0);
    code_of_processor()->begin(stream);
}

void digest_add(struct digest_stream *stream, const void *data, size_t size)
{
    code_of_processor()->add(stream, data, size);
}

struct digest digest_end(const struct digest_stream *stream)
{
    return code_of_processor()->end(stream);
}

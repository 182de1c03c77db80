/*
 * common/base/digest_private.h: the two builds of XXH3-128 between which digest.c chooses: that of
 * the library, which is for any processor, and the same source compiled for AVX2, which is twice as
 * fast. Both have the same values. A stream that one of them began is only used by the same one:
 * another version of xxHash may have another layout of the state.
 *
 * Only digest.c and the test of digests include it. Threads: as common/base/digest.h.
 */
#ifndef COMMON_BASE_DIGEST_PRIVATE_H
#define COMMON_BASE_DIGEST_PRIVATE_H

#include "common/base/digest.h"

struct digest_code {
    struct digest (*of)(const void *data, size_t size);
    void (*begin)(struct digest_stream *stream);
    void (*add)(struct digest_stream *stream, const void *data, size_t size);
    struct digest (*end)(const struct digest_stream *stream);
};

const struct digest_code *digest_code_library(void);

/* NULL: the compiler, or the kind of processor, has no AVX2. Otherwise the caller checks that this
 * processor has it. */
const struct digest_code *digest_code_avx2(void);

#endif

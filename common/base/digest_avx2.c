/* XXH3-128 for processors with AVX2, from the source of xxHash that its header has; CMake compiles
 * this file with -mavx2 if the processors of this kind can have it. */
#if defined(__AVX2__)
#define XXH_INLINE_ALL
#include <xxhash.h>

#define DIGEST_CODE digest_code_avx2
#include "common/base/digest_code.inc"
#else
#include "common/base/digest_private.h"

const struct digest_code *digest_code_avx2(void)
{
    return NULL;
}
#endif

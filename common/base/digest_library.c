/* XXH3-128 of the library, for any processor. */
#define XXH_STATIC_LINKING_ONLY /* For the layout of the state, which digest_stream holds. */
#include <xxhash.h>

#define DIGEST_CODE digest_code_library
#include "common/base/digest_code.inc"

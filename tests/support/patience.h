/* tests/support/patience.h: the bounds of waits in tests. Builds with sanitizers are several times
 * slower: tests/CMakeLists.txt sets a factor for them. */
#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

#include <stdint.h>
#include <stdlib.h>

/* `ms` times TANIST_TEST_PATIENCE, which is 1 if it is not set. */
static inline uint64_t patience_ms(uint64_t ms)
{
    const char *text = getenv("TANIST_TEST_PATIENCE");
    const unsigned long factor = text != NULL ? strtoul(text, NULL, 10) : 1;
    return ms * (factor > 0 ? factor : 1);
}

#endif

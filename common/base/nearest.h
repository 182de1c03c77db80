/* common/base/nearest.h: "did you mean". Pure. */
#ifndef COMMON_BASE_NEAREST_H
#define COMMON_BASE_NEAREST_H

#include <stddef.h>

/*
 * The candidate most like `word`: fewest letters to insert, remove, replace or swap with the
 * neighbour (Damerau 1964), or one that ends with ".word". NULL when none is near enough to be
 * meant.
 */
const char *nearest_word(const char *word, const char *const *candidates, size_t count);

#endif

/* common/base/nearest.h: suggestions for misspelt words ("did you mean ..."). Pure. */
#ifndef COMMON_BASE_NEAREST_H
#define COMMON_BASE_NEAREST_H

#include <stddef.h>

/*
 * The candidate that is most like `word`: the fewest letters to insert, remove, replace or swap
 * with a neighbour (Damerau 1964), or one that ends with ".word". NULL: none is similar enough.
 */
const char *nearest_word(const char *word, const char *const *candidates, size_t count);

#endif

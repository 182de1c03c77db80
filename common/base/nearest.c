#include "common/base/nearest.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/minmax.h"

enum { WORD_MAX = 64 };

/* Optimal string alignment distance, three rows of its table. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    assert(a_length <= WORD_MAX && b_length <= WORD_MAX);
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= b_length; j++) { rows[0][j] = j; }
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] =
                size_min(above[j - 1] + (a[i - 1] != b[j - 1]), size_min(above[j], row[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) { row[j] = size_min(row[j], second[j - 2] + 1); }
        }
    }
    return rows[a_length % 3][b_length];
}

static bool is_last_part(const char *word, size_t length, const char *candidate)
{
    const char *dot = strrchr(candidate, '.');
    return dot != NULL && length > 0 && strcmp(dot + 1, word) == 0;
}

const char *nearest_word(const char *word, const char *const *candidates, size_t count)
{
    assert(word != NULL);
    size_t length = strlen(word), best = 0;
    const char *found = NULL;
    if (length > WORD_MAX) { return NULL; }
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        if (other > WORD_MAX) { continue; }
        size_t d = is_last_part(word, length, candidates[i])
                       ? 1
                       : distance(word, length, candidates[i], other);
        bool near = d <= 1 + size_min(length, other) / 4;
        if (near && (found == NULL || d < best)) {
            found = candidates[i];
            best = d;
        }
    }
    return found;
}

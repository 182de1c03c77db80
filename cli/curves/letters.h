/*
 * cli/curves/letters.h: the characters of ASCII as lines, for images.
 *
 * Pure. Threads: any.
 */
#ifndef CLI_CURVES_LETTERS_H
#define CLI_CURVES_LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places are on a grid: x from 0 to the right, y from 0 at the top of capitals downwards. */
enum { LETTER_BASELINE = 6, LETTER_PLACES_MAX = 12 };

struct letter_place {
    int x, y;
};

struct letter {
    uint32_t width;
    const char *strokes; /* Those that letter_stroke() has not returned yet. */
};

/* The letter at `*text`, which moves behind it. A character outside of ASCII, in UTF-8, is one box.
 * False: the text ends. */
bool letter_next(const char **text, struct letter *letter);

/* The places of the letter's next stroke, each joined with the one before it. 0: the letter
 * ends. */
size_t letter_stroke(struct letter *letter, struct letter_place places[static LETTER_PLACES_MAX]);

#endif

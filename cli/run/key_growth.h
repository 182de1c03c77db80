/*
 * cli/run/key_growth.h: how many different keys of a table more examples will have, as a part of
 * them shows. The growth of the part from its first quarter to its half and from there to its end
 * is continued: from each doubling to the next one, the exponent of the growth falls by the same
 * factor, or stays. Keys whose frequencies follow a power law have fewer in the end, so the
 * estimate is rather too large for them.
 *
 * Pure. Threads: any.
 */
#ifndef CLI_RUN_KEY_GROWTH_H
#define CLI_RUN_KEY_GROWTH_H

#include <stdint.h>

enum { KEY_MARKS = 3 };

/* All zero: a table without keys. */
struct key_growth {
    uint64_t examples;            /* The examples of the part; above 0 if there are keys. */
    uint64_t distinct[KEY_MARKS]; /* In a quarter of them, in half of them, and in all. */
};

/* The different keys of `examples`; exactly those of the part if it has as many. */
uint64_t key_growth_at(const struct key_growth *growth, uint64_t examples);

#endif

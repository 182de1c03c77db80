/*
 * cli/plan/key_growth.h: how many different keys of a table more examples will have, as a part of
 * them shows. The growth of the part from its first quarter to its half and from there to its end
 * is continued: each doubling of the examples multiplies the keys by 2 to the power of an exponent,
 * which is 1 while all keys are new. By how much it falls short of 1 grows by the same factor with
 * each doubling. So it does with keys that are used equally often (the factor is 2 at first) and
 * with an unlimited number of keys whose frequencies follow a power law (the factor is 1). Of 24
 * computed distributions of 10^4 to 10^7 keys, with frequencies of equal size or by powers up to
 * 1.5, 32,768 examples show the keys of 300 times as many within 0.6 to 2.5 times.
 *
 * Pure. Threads: any.
 */
#ifndef CLI_PLAN_KEY_GROWTH_H
#define CLI_PLAN_KEY_GROWTH_H

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

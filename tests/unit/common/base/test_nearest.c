/* "Did you mean": similar words are suggested, others are not. */
#include "common/base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const words[] = {"status", "stop", "watch", "train.steps", "checkpoints"};

static const char *near(const char *word)
{
    return nearest_word(word, words, sizeof words / sizeof *words);
}

/* One letter inserted, removed, replaced or swapped; and the last part of a dotted name. */
static void similar_word_is_found(void **state)
{
    (void)state;
    assert_string_equal(near("statsu"), "status");
    assert_string_equal(near("stp"), "stop");
    assert_string_equal(near("wacth"), "watch");
    assert_string_equal(near("checkpoint"), "checkpoints");
    assert_string_equal(near("steps"), "train.steps");
}

/* A word that is similar to none gets no suggestion. */
static void other_word_is_not_found(void **state)
{
    (void)state;
    assert_null(near("banana"));
    assert_null(near(""));
    assert_null(
        near("a-very-long-word-that-is-longer-than-any-word-could-be-in-this-table-of-words"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(similar_word_is_found),
                                       cmocka_unit_test(other_word_is_not_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

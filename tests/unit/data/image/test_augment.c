/* Augmentation: parts, mirrors and values as functions of seed, epoch and example. */
#include "data/image/augment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct augment typical = {
    .from = {4, 5, 1}, .height = 4, .width = 5, .margin = 1, .flip = true, .spread = {1, 1, 1}};

static bool equal(struct augment_choice a, struct augment_choice b)
{
    return a.top == b.top && a.left == b.left && a.flipped == b.flipped;
}

/* The same numbers give the same choice; all places and both directions occur about equally. */
static void test_choices_are_functions_of_their_numbers(void **state)
{
    (void)state;
    enum { EXAMPLES = 9000 };
    uint32_t tops[3] = {0}, lefts[3] = {0}, flipped = 0, epochs = 0, seeds = 0;
    for (uint64_t example = 0; example < EXAMPLES; example++) {
        const struct augment_choice choice = augment_choose(&typical, 7, 3, example);
        assert_true(choice.top < 3 && choice.left < 3);
        tops[choice.top]++;
        lefts[choice.left]++;
        flipped += choice.flipped;
        assert_true(equal(choice, augment_choose(&typical, 7, 3, example)));
        epochs += equal(choice, augment_choose(&typical, 7, 4, example));
        seeds += equal(choice, augment_choose(&typical, 8, 3, example));
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(tops[i], EXAMPLES / 3 - 200, EXAMPLES / 3 + 200);
        assert_in_range(lefts[i], EXAMPLES / 3 - 200, EXAMPLES / 3 + 200);
    }
    assert_in_range(flipped, EXAMPLES / 2 - 200, EXAMPLES / 2 + 200);
    assert_in_range(epochs, EXAMPLES / 18 - 150, EXAMPLES / 18 + 150);
    assert_in_range(seeds, EXAMPLES / 18 - 150, EXAMPLES / 18 + 150);
}

static void expect_values(const struct augment *augment, struct augment_choice choice,
                          const uint8_t *pixels, const float *values, size_t count)
{
    float out[64];
    augment_apply(augment, choice, pixels, out);
    for (size_t i = 0; i < count; i++) { assert_true(out[i] == values[i]); }
}

/* A part is copied, mirrored if chosen, and the margin is black. */
static void test_parts_are_copied(void **state)
{
    (void)state;
    static const uint8_t pixels[] = {51, 102, 153, 204, 255, 0}; /* Multiples of 1/5. */
    struct augment augment = {.from = {2, 3, 1}, .height = 2, .width = 2, .spread = {1}};
    expect_values(&augment, (struct augment_choice){.left = 1}, pixels,
                  (const float[]){0.4F, 0.6F, 1, 0}, 4);
    expect_values(&augment, (struct augment_choice){.left = 1, .flipped = true}, pixels,
                  (const float[]){0.6F, 0.4F, 0, 1}, 4);
    augment.margin = 1;
    expect_values(&augment, (struct augment_choice){0}, pixels, (const float[]){0, 0, 0, 0.2F}, 4);
    expect_values(&augment, (struct augment_choice){.top = 2, .left = 3}, pixels,
                  (const float[]){0, 0, 0, 0}, 4);
    expect_values(&augment, (struct augment_choice){.top = 1, .left = 3}, pixels,
                  (const float[]){0.6F, 0, 0, 0}, 4);
}

/* Each channel has its mean and spread, in the margin, too. */
static void test_channels_are_normalised(void **state)
{
    (void)state;
    static const uint8_t pixels[] = {255, 0, 51};
    const struct augment augment = {.from = {1, 1, 3},
                                    .height = 1,
                                    .width = 2,
                                    .margin = 1,
                                    .mean = {0.5F, 0.25F, 0.2F},
                                    .spread = {0.5F, 0.5F, 2}};
    expect_values(&augment, (struct augment_choice){.top = 1, .left = 1}, pixels,
                  (const float[]){1, -0.5F, 0, -1, -0.5F, -0.1F}, 6);
}

/* The middle is used for evaluation. */
static void test_the_middle_is_fixed(void **state)
{
    (void)state;
    const struct augment augment = {.from = {10, 21, 3}, .height = 4, .width = 8, .flip = true};
    const struct augment_choice choice = augment_middle(&augment);
    assert_int_equal(choice.top, 3);
    assert_int_equal(choice.left, 6);
    assert_false(choice.flipped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices_are_functions_of_their_numbers),
        cmocka_unit_test(test_parts_are_copied),
        cmocka_unit_test(test_channels_are_normalised),
        cmocka_unit_test(test_the_middle_is_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Slices and their owners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/assign.h"

static struct assignment now;

/* One step: `ready` as a string of '1' and '0'; owners as one digit a slice, '-' nobody. */
static void expect(uint32_t slices, const char *ready, const char *owners)
{
    bool flags[WORKERS_MAX] = {0};
    struct assignment out;
    char text[SLICES_MAX + 1] = {0};
    for (size_t i = 0; i < strlen(ready); i++) { flags[i] = ready[i] == '1'; }
    assign_slices(&now, slices, flags, &out);
    for (uint32_t v = 0; v < out.slice_count; v++) {
        text[v] = out.worker[v] == UINT16_MAX ? '-' : (char)('0' + out.worker[v]);
    }
    assert_string_equal(text, owners);
    now = out;
}

/* Nobody, then contiguous parts; who goes hands on, who comes back gets his part again. */
static void test_life(void **state)
{
    (void)state;
    now = (struct assignment){0};
    expect(8, "000", "--------");
    expect(8, "100", "00000000");
    expect(8, "110", "00001111");
    expect(8, "111", "00111222");
    expect(8, "101", "00002222");
    expect(8, "001", "22222222");
    expect(8, "000", "22222222");
    expect(8, "111", "00111222");
}

/* More workers than slices: some own nothing, and nothing moves for that. */
static void test_more_workers(void **state)
{
    (void)state;
    now = (struct assignment){0};
    expect(2, "1111", "13");
    expect(2, "1111", "13");
    expect(2, "1011", "03");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_more_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The assignment of slices to workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/assign.h"

static struct assignment now;

/* One assignment: `ready` as a string of '1' and '0'; owners as one digit a slice, '-' for none. */
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

/* Contiguous parts; a lost worker loses its slices to the others, and gets a part when it returns.
 */
static void slices_follow_the_ready_workers(void **state)
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

/* With more workers than slices some own none, and no slice moves for that. */
static void more_workers_than_slices_move_none(void **state)
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
        cmocka_unit_test(slices_follow_the_ready_workers),
        cmocka_unit_test(more_workers_than_slices_move_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Checkpoints that stay beside the newest ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

static int setup(void **state)
{
    (void)state;
    configure();
    return 0;
}

/* With tables one checkpoint more stays: the last one before the newest block of 16 ids, whose
 * files no newer one has. */
static void one_of_an_earlier_chain_stays(void **state)
{
    enum { SAVES = 40 };
    bool present[SAVES + 1] = {false};
    (void)state;
    config.steps = 1000000;
    config.checkpoint_every_steps = 20;
    config.has_rows = true;
    begin_running();
    for (uint64_t id = 1; id <= SAVES; id++) {
        ps_at(0, 1, 20 * id);
        ps_saved(0, id, 20 * id);
        ps_saved(1, id, 20 * id);
        if (actions.write == NULL) { settle(); }
        written();
        present[id] = true;
        for (uint32_t i = 0; i < actions.delete_count; i++) { present[actions.deletes[i]] = false; }
        for (uint64_t old = 1; old <= id; old++) {
            const bool former = old + 1 == manifest_chain_begin(id);
            assert_int_equal(present[old], old + 1 >= id || former);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_of_an_earlier_chain_stays, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

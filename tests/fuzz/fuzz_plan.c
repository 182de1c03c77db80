/* Fuzz target: any text is a plan or gives an error; a plan gives a schedule whose faults are
 * within bounds, or an error. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "chaos/plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const struct schedule *schedule)
{
    assert(schedule->count <= INJECTIONS_MAX);
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct injection *injection = &schedule->list[i];
        assert(injection->id == i + 1);
        assert((unsigned)injection->fault < FAULT_COUNT);
        assert(injection->selector[0] != '\0');
        assert(injection->trigger.count > 0);
        assert(injection->trigger.step <= 1000);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct cluster_shape shape = {.coordinators = 2,
                                               .ps = 2,
                                               .workers = 2,
                                               .evaluators = 1,
                                               .servers = 3,
                                               .steps = 1000,
                                               .session_timeout_ms = 500};
    static struct plan plan;
    struct error error = {0};
    struct schedule schedule = {0};
    json_t *json = json_loadb((const char *)bytes, size, 0, NULL);
    if (json == NULL) { return 0; }
    if (plan_from_json(json, &plan, &error) != TN_OK) {
        assert(error.text[0] != '\0');
    } else {
        if (schedule_draw(&plan, size, 1, &shape, &schedule, &error) == TN_OK) {
            check(&schedule);
        } else {
            assert(error.text[0] != '\0' && schedule.list == NULL);
        }
        schedule_free(&schedule);
        plan_free(&plan);
    }
    json_decref(json);
    return 0;
}

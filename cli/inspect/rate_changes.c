#include "cli/inspect/rate_changes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "kernels/optimizer/schedule.h"

void rate_changes_add(json_t *root, const struct job *job, uint64_t step)
{
    const struct schedule schedule = schedule_of_job(job);
    json_t *steps = json_array();
    assert(job != NULL);
    for (uint32_t i = 0; i < job->train.before_count; i++) {
        json_array_append_new(steps, json_integer((json_int_t)job->train.before[i].until));
    }
    json_object_set_new(root, "learning_rate", json_real(schedule_rate(&schedule, step)));
    json_object_set_new(root, "rate_changed_at", steps);
}

void rate_changes_print(const struct job *job, uint64_t step)
{
    const struct schedule schedule = schedule_of_job(job);
    const uint32_t count = job->train.before_count;
    if (count == 0) { return; }
    printf("learning rate: %.6g, changed at step", schedule_rate(&schedule, step));
    for (uint32_t i = 0; i < count; i++) {
        printf("%s %" PRIu64, i > 0 ? "," : "", job->train.before[i].until);
    }
    printf("\n");
}

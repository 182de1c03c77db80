/* C22: the number of workers that are to run, within the range that the job declares. */
#include <assert.h>

#include "common/base/text.h"
#include "coordinator/assign.h"
#include "coordinator/chief_private.h"

/* The job that this chief was started with decides: a former start may have had another range. */
void plan_workers(struct plan *p)
{
    const struct chief_config *config = &p->c->config;
    uint32_t workers = 0;
    if (config->workers_least != 0) {
        workers = u32_min(u32_max(p->run->workers, config->workers_least), config->workers);
    }
    assert(workers <= WORKERS_MAX);
    if (workers == p->run->workers || run_is_over(p->run)) { return; }
    p->run->workers = workers;
    plan_need(p, PLAN_SOFT);
}

void plan_scale(struct plan *p, uint64_t workers, const char *by)
{
    const struct chief_config *config = &p->c->config;
    struct run *run = p->run;
    assert(!run_is_over(run));
    if (config->workers_least == 0 || workers < config->workers_least ||
        workers > config->workers || workers == run->workers) {
        return;
    }
    struct history_entry *entry = plan_entry(p, HISTORY_CHANGED);
    struct text text = text_begin(entry->cause, sizeof entry->cause);
    text_add(&text, "the run has ");
    text_add_number(&text, workers);
    text_add(&text, workers == 1 ? " worker instead of " : " workers instead of ");
    text_add_number(&text, run->workers);
    text_add(&text, ", requested by ");
    text_add(&text, by);
    run->workers = (uint32_t)workers;
    plan_need(p, PLAN_HARD);
}

bool chief_left_in_order(const struct chief *c, uint32_t worker)
{
    const struct chief_peer *peer = &c->workers[worker];
    /* The worker may have read the assignment before the chief learned that it is written. */
    const bool is_newer = c->writing && c->write.assigns;
    const struct assignment *assignment = is_newer ? &c->write.assignment : &c->assignment;
    assert(worker < c->config.workers);
    return peer->reported && peer->report.leaving != 0 && !assign_has(assignment, worker);
}

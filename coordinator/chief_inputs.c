/* The arithmetic and the data of the run: C13. */
#include <assert.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"

static bool is_complete(const struct plan *p)
{
    const struct inputs *known = &p->run->inputs;
    bool fingerprint = known->fingerprint[0] != '\0' || !p->c->config.same_bits;
    return fingerprint && inputs_have_data(known);
}

/* Adopt what the run does not know yet. */
static void adopt(struct plan *p, const struct inputs *found, const char *from)
{
    struct inputs *known = &p->run->inputs;
    bool fingerprint =
        p->c->config.same_bits && known->fingerprint[0] == '\0' && found->fingerprint[0] != '\0';
    bool data = !inputs_have_data(known) && inputs_have_data(found);
    if (!fingerprint && !data) { return; }
    if (fingerprint) {
        text_set(known->fingerprint, sizeof known->fingerprint, found->fingerprint);
    }
    if (data) {
        known->data[0] = found->data[0];
        known->data[1] = found->data[1];
    }
    text_set(known->from, sizeof known->from, from);
    plan_need(p, PLAN_HARD);
}

static void adopt_checkpoint(struct plan *p, const struct inputs *found, uint64_t id)
{
    char from[INPUTS_FROM_MAX];
    struct text text = text_begin(from, sizeof from);
    assert(found != NULL);
    text_add(&text, "checkpoint ");
    text_add_number(&text, id);
    adopt(p, found, from);
}

static void adopt_worker(struct plan *p, uint32_t index)
{
    char from[INPUTS_FROM_MAX];
    struct text text = text_begin(from, sizeof from);
    assert(index < p->c->config.workers);
    task_append(&text, (struct task){.role = ROLE_WORKER, .index = index});
    adopt(p, &p->c->workers[index].report.inputs, from);
}

/* A checkpoint comes first, also one that only a disk has; so no worker counts before every holder
 * has reported. */
void plan_inputs(struct plan *p)
{
    const struct chief *c = p->c;
    const struct report *newest = NULL;
    assert(p->run == &p->w->run);
    if (run_is_over(p->run) || is_complete(p)) { return; }
    if (c->checkpoint_count > 0) {
        const struct chief_checkpoint *last = &c->checkpoints[c->checkpoint_count - 1];
        adopt_checkpoint(p, &last->inputs, last->id);
    }
    if (!chief_has_reported(c, p->run)) { return; }
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        const struct report *report = &chief_holder(c, i)->report;
        if (report->disk_checkpoint == 0) { continue; }
        if (newest == NULL || report->disk_checkpoint > newest->disk_checkpoint) {
            newest = report;
        }
    }
    if (newest != NULL) { adopt_checkpoint(p, &newest->inputs, newest->disk_checkpoint); }
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (chief_worker_ready(&c->workers[i])) { adopt_worker(p, i); }
    }
}

bool chief_worker_agrees(const struct chief *c, const struct run *run, uint32_t index)
{
    assert(index < c->config.workers);
    const struct inputs *own = &c->workers[index].report.inputs;
    return chief_worker_ready(&c->workers[index]) &&
           inputs_agree(&run->inputs, own, c->config.same_bits);
}

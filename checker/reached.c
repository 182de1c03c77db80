#include "checker/reached.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/cluster/znodes.h"

void reached_begin(struct reached *reached, uint64_t load_step)
{
    reached->all = reached->ps = load_step;
    memset(reached->workers, 0, sizeof reached->workers);
}

void reached_on_change(struct reached *reached, const struct zk_change *change)
{
    struct task task;
    struct member member;
    const char *name = strstr(change->path, "/members/");
    if (name == NULL || !task_parse(name + strlen("/members/"), &task)) { return; }
    if (task.role != ROLE_WORKER || task.index >= WORKERS_MAX) { return; }
    const bool registers =
        change->kind != ZK_DELETE &&
        member_decode(change->blob->data, change->blob->size, &member, NULL) == TN_OK;
    const uint64_t incarnation = registers ? member.incarnation : 0;
    if (incarnation == reached->incarnations[task.index]) { return; }
    reached->incarnations[task.index] = incarnation;
    reached->workers[task.index] = 0;
}

void reached_by_ps(struct reached *reached, uint64_t step)
{
    reached->ps = u64_max(reached->ps, step);
    reached->all = u64_max(reached->all, step);
}

void reached_by_worker(struct reached *reached, uint32_t index, uint64_t incarnation, uint64_t step)
{
    assert(index < WORKERS_MAX && incarnation != 0);
    reached->all = u64_max(reached->all, step);
    if (reached->incarnations[index] != incarnation) { return; }
    reached->workers[index] = u64_max(reached->workers[index], step);
}

uint64_t reached_present(const struct reached *reached)
{
    uint64_t step = reached->ps;
    for (uint32_t i = 0; i < WORKERS_MAX; i++) { step = u64_max(step, reached->workers[i]); }
    return step;
}

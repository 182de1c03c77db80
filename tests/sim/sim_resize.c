/* Another number of ps, or none, or other borders between their rows: everything ends, and starts
 * again with the changed job, as `--resume` has it (cli/run/resume_change.h). */
#include <assert.h>

#include "common/cluster/bootstrap.h"
#include "tests/sim/cluster.h"

enum { DOWN_MS = 300, RETRY_US = 20000 };

bool sim_is_declared(const struct sim_cluster *cluster, uint32_t task)
{
    assert(task < cluster->task_count);
    const struct task *each = &cluster->tasks[task];
    return each->role != ROLE_PS || each->index < cluster->setup.job.cluster.ps;
}

/* /run as it is when a run is started again. False: ZooKeeper does not answer, or it is damaged. */
static bool reform(struct sim_cluster *cluster)
{
    char path[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
    struct run run;
    znode_path(path, cluster->setup.job.name, "run");
    if (!zk_model_serves(cluster->zk)) { return false; }
    const struct zk_node *node = zk_tree_find(zk_model_tree(cluster->zk), path);
    if (node == NULL || node->blob == NULL ||
        run_decode(node->blob->data, node->blob->size, &run, NULL) != TN_OK) {
        return false;
    }
    bootstrap_reformed(&run);
    const struct zk_write write = {.kind = ZK_SET,
                                   .path = path,
                                   .data = text,
                                   .size = run_encode(&run, text),
                                   .version = ZK_ANY_VERSION};
    zk_model_write(cluster->zk, &write, 1);
    return true;
}

static void on_down(struct world *world, void *target, uint64_t ps, uint64_t borders, void *data)
{
    struct sim_cluster *cluster = target;
    (void)data;
    if (!reform(cluster)) {
        world_after(world, RETRY_US, on_down, cluster, ps, borders, NULL);
        return;
    }
    struct job *job = &cluster->setup.job;
    world_log(world, "%u ps from now on, before %u", (uint32_t)ps, job->cluster.ps);
    job->cluster.ps = (uint32_t)ps;
    job->placement.rows = sim_rows_borders((uint32_t)ps, (uint32_t)borders);
    job->strategy.type = ps > 0 ? STRATEGY_TYPE_PS : STRATEGY_TYPE_MIRROR;
    cluster->key++;
    cluster->resizes++;
    for (uint32_t i = 0; i < cluster->agent_count; i++) {
        if (!cluster->agents[i].alive) { sim_agent_start(&cluster->agents[i]); }
    }
}

void sim_resize(struct sim_cluster *cluster, uint32_t ps, uint32_t borders)
{
    assert(ps <= cluster->setup.ps_most && !cluster->setup.one_host);
    for (uint32_t i = 0; i < cluster->agent_count; i++) {
        sim_agent_die(&cluster->agents[i], false, UINT64_MAX);
    }
    const uint64_t down_us = world_below(&cluster->world, DOWN_MS * UINT64_C(1000));
    world_after(&cluster->world, down_us, on_down, cluster, ps, borders, NULL);
}

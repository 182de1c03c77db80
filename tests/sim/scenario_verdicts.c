#include "tests/sim/scenario_verdicts.h"

enum { EVALUATED_MIN = 3 /* A run has at least 31 checkpoints. */ };

const char *spec_exists(const struct sim_cluster *cluster)
{
    char path[ZK_PATH_MAX];
    znode_path(path, cluster->setup.job.name, "spec");
    const struct zk_node *znode = zk_tree_find(zk_model_tree(cluster->zk), path);
    return znode == NULL ? "/spec was not restored" : NULL;
}

const char *no_step_is_lost(const struct sim_cluster *cluster)
{
    if (cluster->drains_late > 0) { return "a host was not drained in good order"; }
    return cluster->checker.steps_redone > 0 ? "steps were redone" : NULL;
}

/* The steps since the last checkpoint are lost with the other ps; the drain does not wait for its
 * deadline. */
const char *ends_in_good_order(const struct sim_cluster *cluster)
{
    return cluster->drains_late > 0 ? "a host was not drained in good order" : NULL;
}

/* The rules of the checker are all that must hold. */
const char *loads_again(const struct sim_cluster *cluster)
{
    return cluster->checker.loads < 2 ? "the ps did not load again" : NULL;
}

const char *keeps_the_rules(const struct sim_cluster *cluster)
{
    return cluster->checker.done ? NULL : "the run is not done";
}

const char *loses_no_checkpoint(const struct sim_cluster *cluster)
{
    return cluster->losses_accepted > 0 ? "the run was held although no disk lost a file" : NULL;
}

const char *is_resized(const struct sim_cluster *cluster)
{
    if (cluster->resizes != 2) { return "the number of ps did not change twice"; }
    return cluster->checker.loads < 3 ? "the ps did not load again" : NULL;
}

const char *is_scaled(const struct sim_cluster *cluster)
{
    return cluster->left == 0 ? "no worker left the run" : no_step_is_lost(cluster);
}

const char *rows_are_sent(const struct sim_cluster *cluster)
{
    const struct job *job = &cluster->setup.job;
    const bool several = job->train.mode == TRAIN_SYNC && job->train.slices > 1;
    if (cluster->setup.shares_rows && several && row_sharing_given(cluster->sharing) == 0) {
        return "no worker got a row from another one";
    }
    return cluster->rows_checked == 0 ? "no rows were sent" : NULL;
}

static const char *state_is_found(const struct sim_cluster *cluster)
{
    uint64_t found = 0;
    for (uint32_t t = 0; t < cluster->task_count; t++) { found += cluster->kept[t].found; }
    return found == 0 ? "no ps found the state of a former one" : NULL;
}

const char *nothing_is_loaded_again(const struct sim_cluster *cluster)
{
    const char *fault = state_is_found(cluster);
    if (fault != NULL) { return fault; }
    if (cluster->checker.loads > 1) { return "the ps loaded again"; }
    return no_step_is_lost(cluster);
}

const char *rows_are_kept(const struct sim_cluster *cluster)
{
    const char *fault = rows_are_sent(cluster);
    return fault != NULL ? fault : nothing_is_loaded_again(cluster);
}

const char *kept_rows_are_loaded(const struct sim_cluster *cluster)
{
    const char *fault = rows_are_sent(cluster);
    if (fault == NULL) { fault = state_is_found(cluster); }
    return fault != NULL ? fault : loads_again(cluster);
}

const char *no_checkpoint_is_skipped(const struct sim_cluster *cluster)
{
    if (cluster->checker.run.skipped_checkpoints > 0) { return "a checkpoint was skipped"; }
    return no_step_is_lost(cluster);
}

const char *stops_early(const struct sim_cluster *cluster)
{
    const uint64_t step = cluster->checker.run.evaluation.step;
    return step >= cluster->setup.job.train.steps ? "the run did not stop early" : NULL;
}

/* The request was granted, whether training had begun or not. */
const char *is_stopped(const struct sim_cluster *cluster)
{
    if (cluster->checker.run.phase == RUN_FAILED) { return NULL; }
    return stops_early(cluster);
}

const char *is_stopped_in_order(const struct sim_cluster *cluster)
{
    const char *fault = is_stopped(cluster);
    return fault != NULL ? fault : no_step_is_lost(cluster);
}

const char *checkpoints_are_evaluated(const struct sim_cluster *cluster)
{
    const struct checker *checker = &cluster->checker;
    return checker->evaluated < EVALUATED_MIN ? "few checkpoints were evaluated" : NULL;
}

/* At the end the slow worker owns few slices, and slices moved seldom: when the workers joined, at
 * the death and the return of one, and for speed. */
const char *slow_worker_owns_few(const struct sim_cluster *cluster)
{
    enum { MOVES_MAX = 8 };
    char path[ZK_PATH_MAX];
    struct assignment assignment;
    uint32_t slow = 0;
    znode_path(path, cluster->setup.job.name, "assignment");
    const struct zk_node *znode = zk_tree_find(zk_model_tree(cluster->zk), path);
    if (znode == NULL || znode->blob == NULL ||
        assignment_decode(znode->blob->data, znode->blob->size, &assignment, NULL) != TN_OK) {
        return "/assignment cannot be read";
    }
    for (uint32_t v = 0; v < assignment.slice_count; v++) {
        slow += assignment.worker[v] == SLOW_WORKER;
    }
    if (slow > SLOW_SLICES / 4) { return "the slow worker owns too many slices"; }
    return znode->stat.version > MOVES_MAX ? "slices moved too often" : no_step_is_lost(cluster);
}

const char *worker_is_refused(const struct sim_cluster *cluster)
{
    if (cluster->others_started == 0) { return "no worker with other inputs was started"; }
    if (cluster->others_refused != cluster->others_started) {
        return "a worker with other inputs was not refused";
    }
    return no_step_is_lost(cluster);
}

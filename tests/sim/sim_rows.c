/* Tables of rows: which jobs have them, and each row that a ps sends or saves, compared with the
 * reference. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cluster/row_body.h"
#include "common/job/table_rules.h"
#include "data/job_columns.h"
#include "tests/sim/cluster.h"

/* In a third of the tables, keys get a row late, and some counts are forgotten before. */
static void set_admission(const struct job *job, uint32_t table, struct job_table_rule *rule)
{
    struct random random = {.state = (job->seed + table) ^ 0x61646d6974000000u};
    if (random_below(&random, 3) != 0) { return; }
    rule->admit_after = 2 + random_below(&random, 3);
    rule->admit_within_steps = 1 + random_below(&random, 20);
}

/* The rows of some tables expire, after so few steps that many are trained again. Tables whose rows
 * do not expire list the rows of deltas in another way, so most seeds have tables of both kinds. */
static void set_rules(struct job *job)
{
    static const char *const names[] = {"*C1*", "*C2*", "*C3*"};
    enum { TABLES = sizeof names / sizeof *names };
    struct random random = {.state = job->seed ^ 0x6578706972650000u};
    job->train.table_rule_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) {
        struct job_table_rule *rule = &job->train.table_rules[t];
        const bool expires = random_below(&random, 2) == 1;
        const uint64_t steps = 1 + random_below(&random, 8);
        *rule = (struct job_table_rule){.expire_after_steps = expires ? steps : 0};
        set_admission(job, t, rule);
        (void)snprintf(rule->match, sizeof rule->match, "%s", names[t]);
    }
}

void sim_rows_job(struct job *job, const char *optimizer)
{
    static const char *const settings[] = {
        "model.type=layers",
        "model.layers=[{\"dense\": {\"units\": 8, \"activation\": \"relu\"}}, {\"dense\": 1}]",
        "model.outputs=1",
        "model.loss=sigmoid_cross_entropy",
        "data.type=criteo-like",
        "data.columns={\"I1\": \"number\", \"I2\": \"number\","
        " \"C1\": {\"as\": \"category\", \"hash\": 256, \"embed\": 3, \"table\": true},"
        " \"C2\": {\"as\": \"category\", \"hash\": 16, \"embed\": 1, \"table\": true},"
        " \"C3\": {\"as\": \"category\", \"hash\": 11, \"embed\": 3, \"table\": true}}",
    };
    struct job unset;
    struct error error;
    enum tn_status status = TN_OK;
    job_init(&unset);
    job->train.mode = TRAIN_SYNC;
    job->train.clip_norm = job->train.ema = 0;
    job->cluster.evaluators = 0;
    job->model.inputs = unset.model.inputs; /* The columns decide. */
    job->data.examples = 512;               /* So that some rows are trained only now and then. */
    job->model.inputs_given = job->model.embeddings_given = false;
    for (size_t i = 0; i < sizeof settings / sizeof *settings && status == TN_OK; i++) {
        status = job_set(job, settings[i], &error);
    }
    if (status == TN_OK) { status = job_set(job, optimizer, &error); }
    if (status == TN_OK) { status = job_columns_settle(job, &error); }
    set_rules(job);
    assert(status == TN_OK);
}

bool sim_rows_are_shared(const struct job *job)
{
    struct random random = {.state = job->seed ^ 0x7368617265000000u};
    return random_below(&random, 2) == 0;
}

void sim_rows_draw(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x726f777300000000u};
    static const char *const optimizers[] = {
        "train.table_optimizer=sgd", "train.table_optimizer=row_adagrad",
        "train.table_optimizer=lazy_adam", "train.table_optimizer=ftrl"};
    if (setup->ledger || random_below(&random, 4) != 0) { return; }
    sim_rows_job(&setup->job, optimizers[random_below(&random, 4)]);
    setup->shares_rows = sim_rows_are_shared(&setup->job);
}

struct row_borders sim_rows_borders(uint32_t ps, uint32_t seed)
{
    struct random random = {.state = seed ^ 0x626f726465727300u};
    struct row_borders borders = {.count = 0};
    uint32_t first = 0;
    if (seed == 0) { return borders; }
    for (uint32_t left = ps - 1; left > 0; left--) {
        first += 1 + (uint32_t)random_below(&random, ROW_BUCKETS - left - first);
        borders.buckets[borders.count++] = (uint16_t)first;
    }
    return borders;
}

/* The entry of a lookup. An older one is forgotten. */
static struct sim_lookup *lookup_at(struct sim_cluster *cluster, uint64_t worker, uint64_t ps,
                                    uint32_t number)
{
    const uint64_t mixed = (worker * 31 + ps) * 31 + number;
    return &cluster->lookups[(mixed * 0x9e3779b97f4a7c15ULL >> 32) % SIM_LOOKUPS];
}

void sim_rows_asked(struct sim_cluster *cluster, const struct frame_header *header,
                    const struct process *ps, const void *body)
{
    struct sim_lookup *lookup =
        lookup_at(cluster, header->sender, ps->config.incarnation, header->first);
    assert(header->body_bytes <= sizeof lookup->body);
    *lookup = (struct sim_lookup){
        .worker = header->sender, .ps = ps->config.incarnation, .header = *header};
    memcpy(lookup->body, body, header->body_bytes);
}

/* Whether the answer has the rows of `step`, as many as were asked for. */
static bool has_rows(struct sim_cluster *cluster, const struct sim_lookup *lookup, uint64_t step,
                     size_t bytes, const uint8_t *rows)
{
    const struct variable_table *variables = &cluster->model->table;
    const struct row_body_rules rules = {.variables = variables};
    struct row_body_reader reader = row_body_read(&rules, lookup->body, lookup->header.body_bytes);
    struct row_body_row row;
    size_t at = 0;
    while (row_body_next(&reader, &row)) {
        const size_t size = variables->row_tables[row.table].width * sizeof(float);
        const float *wanted = reference_row(cluster->reference, step, row.table, row.key);
        if (at + size > bytes || memcmp(rows + at, wanted, size) != 0) { return false; }
        at += size;
        cluster->rows_checked++;
    }
    return at == bytes;
}

/* Async: the order of updates is known if there is one slice. When the test set is evaluated, the
 * push of the step may have been applied. */
static void check(struct sim_cluster *cluster, const struct sim_lookup *lookup,
                  const struct frame_header *header, uint32_t ps, const uint8_t *rows)
{
    const struct job *job = &cluster->setup.job;
    const bool is_async = job->train.mode == TRAIN_ASYNC;
    if (is_async && job->train.slices > 1) { return; }
    if (has_rows(cluster, lookup, header->step, header->body_bytes, rows)) { return; }
    if (is_async && has_rows(cluster, lookup, header->step + 1, header->body_bytes, rows)) {
        return;
    }
    world_fail(&cluster->world, "I6: ps:%u sent wrong rows of step %" PRIu64, ps, header->step);
}

void sim_rows_answered(struct sim_cluster *cluster, const struct frame_header *header,
                       const struct process *ps, const struct process *worker, const void *body)
{
    const struct sim_lookup *lookup =
        lookup_at(cluster, worker->config.incarnation, ps->config.incarnation, header->first);
    if (lookup->worker != worker->config.incarnation || lookup->ps != ps->config.incarnation ||
        lookup->header.first != header->first) {
        return;
    }
    if (lookup->header.step != header->step || lookup->header.generation != header->generation ||
        lookup->header.sequence != header->sequence) {
        world_fail(&cluster->world,
                   "P14: ps:%u answered a lookup of step %" PRIu64 " by step %" PRIu64,
                   ps->task.index, lookup->header.step, header->step);
        return;
    }
    check(cluster, lookup, header, ps->task.index, body);
}

/* ---------------------------------------------------------------------- checkpoints */

/* A row that is in no file has its initial values. */
static bool is_saved(struct sim_cluster *cluster, uint32_t table, uint64_t key)
{
    const struct run *run = &cluster->checker.run;
    const size_t size = cluster->model->table.row_tables[table].width * sizeof(float);
    const float *wanted = reference_row(cluster->reference, run->committed_step, table, key);
    const float *saved;
    if (!disk_model_find_row(cluster->disk, run->committed_checkpoint, table, key, &saved)) {
        return true;
    }
    cluster->rows_checked++;
    if (saved == NULL) { saved = reference_row(cluster->reference, 0, table, key); }
    return memcmp(saved, wanted, size) == 0;
}

/* The rows of tables that expire are compared when they are sent, after a load: older files have
 * rows that have expired. */
void sim_rows_committed(struct sim_cluster *cluster)
{
    const struct run *run = &cluster->checker.run;
    const struct variable_table *variables = &cluster->model->table;
    if (!cluster->checker.config.exact_cuts) { return; }
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        const struct job_table_rule rule =
            table_rule_of(&cluster->setup.job, &variables->row_tables[t]);
        for (uint64_t key = 0; key < REFERENCE_KEYS && rule.expire_after_steps == 0; key++) {
            if (is_saved(cluster, t, key)) { continue; }
            world_fail(&cluster->world,
                       "I4: checkpoint %" PRIu64 " has not the row %" PRIu64 " of table %" PRIu32
                       " of step %" PRIu64,
                       run->committed_checkpoint, key, t, run->committed_step);
            return;
        }
    }
}

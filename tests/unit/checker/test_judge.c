/* The judge, with transaction logs of a few servers that the tests write in ZooKeeper's format. */
#include "checker/judge.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cluster/manifest.h"
#include "common/cluster/znodes.h"

#include <setjmp.h>

#include <cmocka.h>

enum { OP_CREATE = 1, OP_SET = 5, OP_CHECK = 13, OP_MULTI = 14, OP_CLOSE = -11, BYTES_MAX = 65536 };

struct log_bytes {
    size_t size;
    uint8_t bytes[BYTES_MAX];
};

static void put(struct log_bytes *log, uint64_t value, size_t bytes)
{
    for (size_t i = bytes; i-- > 0;) { log->bytes[log->size++] = (uint8_t)(value >> (8 * i)); }
}

static void put_bytes(struct log_bytes *log, const void *data, size_t size)
{
    put(log, size, 4);
    memcpy(log->bytes + log->size, data, size);
    log->size += size;
}

/* ------------------------------------------------------------ a log file */

struct stage {
    char dir[64];
    struct log_bytes log; /* The log of one server, being written. */
};

static void begin_log(struct stage *stage)
{
    stage->log.size = 0;
    put(&stage->log, 0x5a4b4c47, 4);
    put(&stage->log, 2, 4);
    put(&stage->log, 0, 8);
}

static void begin_record(struct log_bytes *record, uint64_t zxid, int op)
{
    record->size = 0;
    put(record, 77, 8); /* Session. */
    put(record, 1, 4);
    put(record, zxid, 8);
    put(record, 1000 + zxid, 8);
    put(record, (uint32_t)op, 4);
}

static void add_record(struct stage *stage, const struct log_bytes *record)
{
    put(&stage->log, 0, 8); /* The checksum is not checked. */
    put_bytes(&stage->log, record->bytes, record->size);
    put(&stage->log, 'B', 1);
}

static void put_create(struct log_bytes *record, const char *path, const void *data, size_t size,
                       bool ephemeral)
{
    put_bytes(record, path, strlen(path));
    put_bytes(record, data, size);
    put(record, 0, 4); /* No access list. */
    put(record, ephemeral, 1);
    put(record, 1, 4);
}

static void add_node(struct stage *stage, uint64_t zxid, const char *path, const char *data,
                     bool ephemeral)
{
    static struct log_bytes record;
    begin_record(&record, zxid, OP_CREATE);
    put_create(&record, path, data, strlen(data), ephemeral);
    add_record(stage, &record);
}

static void add_create(struct stage *stage, uint64_t zxid, const char *path, bool ephemeral)
{
    add_node(stage, zxid, path, "", ephemeral);
}

static void add_set(struct stage *stage, uint64_t zxid, const char *path, const char *data,
                    bool fenced)
{
    static struct log_bytes record, part;
    begin_record(&record, zxid, OP_MULTI);
    put(&record, fenced ? 2 : 1, 4);
    part.size = 0;
    put_bytes(&part, "/t/chief", 8);
    put(&part, 1, 4);
    if (fenced) { put(&record, OP_CHECK, 4); }
    if (fenced) { put_bytes(&record, part.bytes, part.size); }
    part.size = 0;
    put_bytes(&part, path, strlen(path));
    put_bytes(&part, data, strlen(data));
    put(&part, 2, 4);
    put(&record, OP_SET, 4);
    put_bytes(&record, part.bytes, part.size);
    add_record(stage, &record);
}

static void add_close(struct stage *stage, uint64_t zxid)
{
    static struct log_bytes record;
    begin_record(&record, zxid, OP_CLOSE);
    add_record(stage, &record);
}

static void end_log(struct stage *stage, const char *life, int server)
{
    char path[256], name[8];
    const char *parts[] = {life, name, "data", "version-2"};
    (void)snprintf(name, sizeof name, "%d", server);
    (void)snprintf(path, sizeof path, "%s", stage->dir);
    for (size_t i = 0; i < 4; i++) {
        (void)strcat(strcat(path, "/"), parts[i]);
        (void)mkdir(path, 0700);
    }
    FILE *file = fopen(strcat(path, "/log.1"), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(stage->log.bytes, 1, stage->log.size, file), stage->log.size);
    assert_int_equal(fclose(file), 0);
}

/* ---------------------------------------------------------------- orders */

static void add_chief(struct stage *stage, uint64_t zxid, uint64_t epoch)
{
    static char text[ZNODE_JSON_MAX];
    struct chief_record record = {.epoch = epoch, .incarnation = epoch + 100, .pid = 7};
    (void)snprintf(record.address, sizeof record.address, "tcp://127.0.0.1:4711");
    (void)chief_record_encode(&record, text);
    add_set(stage, zxid, "/t/chief", text, false);
}

static void add_order(struct stage *stage, uint64_t zxid, uint64_t epoch, enum run_phase phase,
                      uint64_t generation, bool fenced)
{
    static char text[ZNODE_JSON_MAX];
    struct run run = {.phase = phase, .epoch = epoch, .generation = generation};
    run.evaluation.step = phase == RUN_DONE ? 300 : STEP_NONE;
    run.evaluate_step = STEP_NONE;
    (void)run_encode(&run, text);
    add_set(stage, zxid, "/t/run", text, fenced);
}

/* As a chief writes it while the cluster forms, or, of revision 0, a program that starts a job. */
static void add_forming(struct stage *stage, uint64_t zxid, uint64_t revision, bool fenced)
{
    static char text[ZNODE_JSON_MAX];
    struct run run = {.phase = RUN_FORMING, .epoch = 1, .revision = revision, .generation = 1};
    run.evaluation.step = run.evaluate_step = STEP_NONE;
    (void)run_encode(&run, text);
    add_set(stage, zxid, "/t/run", text, fenced);
}

/* The first transactions of a cluster, up to zxid 8, with a chief of `epoch`. */
static void add_beginning(struct stage *stage, uint64_t epoch)
{
    add_create(stage, 1, "/t", false);
    add_create(stage, 2, "/t/members", false);
    add_create(stage, 3, "/t/chief", false);
    add_create(stage, 4, "/t/run", false);
    add_create(stage, 5, "/t/members/ps-0", true);
    add_chief(stage, 6, epoch);
    add_order(stage, 7, epoch, RUN_LOADING, 1, true);
    add_order(stage, 8, epoch, RUN_RUNNING, 1, true);
}

static void add_checkpoint(struct stage *stage, uint64_t zxid, uint64_t epoch, uint64_t id)
{
    char *text = NULL, path[64];
    size_t size;
    struct manifest manifest = {.id = id,
                                .generation = 1,
                                .step = id * 100,
                                .epoch = epoch,
                                .parameter_count = 8,
                                .slices = 4,
                                .state_arrays = 1,
                                .shard_count = 1,
                                .optimizer = "sgd",
                                .mode = "sync",
                                .kernels = "plain",
                                .shards = {{.count = 8, .bytes = 4096, .place = "here:/x"}}};
    struct error error = {0};
    if (manifest_encode(&manifest, &text, &size, &error) != TN_OK) { fail_msg("%s", error.text); }
    (void)snprintf(path, sizeof path, "/t/checkpoints/%d", (int)id);
    add_node(stage, zxid, path, text, false);
    free(text);
}

static enum tn_status judge(const struct stage *stage, const char *former, struct judgement *out,
                            struct error *error)
{
    static struct job job;
    char last[128], before[128];
    const char *folders[2] = {before, last};
    job_init(&job);
    job.train.steps = 300;
    (void)snprintf(last, sizeof last, "%s/zookeeper", stage->dir);
    if (former != NULL) { (void)snprintf(before, sizeof before, "%s/%s", stage->dir, former); }
    struct judge_input input = {.job = &job, .ensembles = folders, .ensemble_count = 2};
    if (former == NULL) { input.ensembles = folders + 1; }
    if (former == NULL) { input.ensemble_count = 1; }
    return judge_run(&input, out, error);
}

static void assert_verdict(const struct stage *stage, const char *former, const char *want)
{
    struct judgement out;
    struct error error = {0};
    assert_int_equal(judge(stage, former, &out, &error), TN_OK);
    assert_string_equal(out.text, want);
    assert_int_equal(out.passed, strcmp(want, "no rule broken") == 0);
}

static int make_stage(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    (void)snprintf(stage->dir, sizeof stage->dir, "/tmp/tanist-judge-XXXXXX");
    *state = stage;
    begin_log(stage);
    return mkdtemp(stage->dir) == NULL;
}

static int remove_stage(void **state)
{
    char command[128];
    const struct stage *stage = *state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", stage->dir);
    free(*state);
    return system(command);
}

/* ----------------------------------------------------------------- tests */

/* Correct orders pass and are counted, as are the znodes that remain. */
static void correct_run_passes(void **state)
{
    struct stage *stage = *state;
    struct judgement out;
    struct error error = {0};
    add_beginning(stage, 1);
    add_order(stage, 9, 1, RUN_DONE, 1, true);
    add_close(stage, 10);
    end_log(stage, "zookeeper", 1);
    assert_int_equal(judge(stage, NULL, &out, &error), TN_OK);
    assert_string_equal(out.text, "no rule broken");
    assert_int_equal(out.transactions, 10);
    assert_int_equal(out.elections, 1);
    assert_int_equal(out.loads, 1);
    assert_int_equal(out.znodes, 4); /* The ephemeral one was deleted with its session. */
    assert_int_equal(out.census.members, 0);
    assert_int_equal(out.run.phase, RUN_DONE);
}

/* An order breaks a rule if it is not fenced, from a deposed chief, or of a lower generation. */
static void wrong_orders_break_rules(void **state)
{
    struct stage *stage = *state;
    add_beginning(stage, 1);
    size_t size = stage->log.size;
    add_order(stage, 9, 1, RUN_PAUSED, 1, false);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I2: an order was not conditional on /chief");
    stage->log.size = size;
    add_forming(stage, 9, 0, false);
    add_forming(stage, 10, 1, true);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "no rule broken");
    stage->log.size = size;
    add_forming(stage, 9, 1, false);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I2: an order was not conditional on /chief");
    stage->log.size = size;
    add_chief(stage, 9, 2);
    add_order(stage, 10, 1, RUN_PAUSED, 1, true);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I2: an order of epoch 1 in the term of epoch 2");
    stage->log.size = size;
    add_order(stage, 9, 1, RUN_RUNNING, 0, true);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I3: generation 0 after 1");
}

static void add_save(struct stage *stage, uint64_t zxid, uint64_t id, uint64_t step)
{
    static char text[ZNODE_JSON_MAX];
    struct run run = {.phase = RUN_RUNNING, .epoch = 1, .generation = 1};
    run.last_checkpoint = run.save_checkpoint = id;
    run.save_step = step;
    run.evaluation.step = run.evaluate_step = STEP_NONE;
    (void)run_encode(&run, text);
    add_set(stage, zxid, "/t/run", text, true);
}

/* A checkpoint is ordered under a new id, which keeps its step; ids are not committed twice. */
static void checkpoint_id_is_used_once(void **state)
{
    struct stage *stage = *state;
    add_beginning(stage, 1);
    add_create(stage, 9, "/t/checkpoints", false);
    add_save(stage, 10, 1, 100);
    add_save(stage, 11, 2, 110);
    add_save(stage, 12, 2, 110);
    size_t size = stage->log.size;
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "no rule broken");
    add_save(stage, 13, 2, 120);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I3: checkpoint id 2 is used for step 110 and for step 120");
    stage->log.size = size;
    add_order(stage, 13, 1, RUN_RUNNING, 1, true);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I3: the last checkpoint id is 0 after 2");
    stage->log.size = size;
    add_save(stage, 13, 3, 130);
    add_save(stage, 14, 2, 140);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I3: the last checkpoint id is 2 after 3");
    stage->log.size = size;
    add_checkpoint(stage, 13, 1, 2);
    add_checkpoint(stage, 14, 1, 1);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I3: checkpoint 1 is committed after checkpoint 2");
}

/* After a wipe no id is ordered that a committed checkpoint has. */
static void checkpoint_ids_survive_a_wipe(void **state)
{
    struct stage *stage = *state;
    add_beginning(stage, 1);
    add_create(stage, 9, "/t/checkpoints", false);
    add_save(stage, 10, 4, 100);
    add_checkpoint(stage, 11, 0, 4);
    add_save(stage, 12, 5, 110);
    add_checkpoint(stage, 13, 1, 5);
    end_log(stage, "wiped-1", 1);
    begin_log(stage);
    add_beginning(stage, 1);
    size_t size = stage->log.size;
    add_save(stage, 9, 6, 100);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, "wiped-1", "no rule broken");
    stage->log.size = size;
    add_save(stage, 9, 5, 100);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, "wiped-1",
                   "ensemble 2: I3: checkpoint id 5 is used again; ids up to 5 were used");
}

/* A job that is restarted after all its processes died keeps the epoch of its last order, even if
 * another chief was elected since and died before it gave an order. */
static void restarted_job_keeps_its_epoch(void **state)
{
    struct stage *stage = *state;
    add_beginning(stage, 1);
    add_chief(stage, 9, 2);
    add_order(stage, 10, 1, RUN_FORMING, 1, false);
    add_chief(stage, 11, 3);
    add_order(stage, 12, 3, RUN_LOADING, 2, true);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "no rule broken");
    stage->log.size = 0;
    begin_log(stage);
    add_beginning(stage, 1);
    add_chief(stage, 9, 2);
    add_order(stage, 10, 3, RUN_FORMING, 1, false);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, NULL, "I2: an order of epoch 3 in the term of epoch 2");
}

/* The log of one server fills the gaps of another; transactions in no log are a finding. */
static void logs_of_all_servers_are_merged(void **state)
{
    struct stage *stage = *state;
    add_beginning(stage, 1);
    end_log(stage, "zookeeper", 1);
    begin_log(stage);
    add_order(stage, 8, 1, RUN_RUNNING, 1, true);
    add_order(stage, 9, 1, RUN_DONE, 1, true);
    end_log(stage, "zookeeper", 3);
    assert_verdict(stage, NULL, "no rule broken");
    begin_log(stage);
    add_order(stage, 11, 1, RUN_DONE, 1, true);
    end_log(stage, "zookeeper", 3);
    assert_verdict(stage, NULL, "2 transactions are in no server's log");
}

/* A proposal that only a deposed leader logged was never committed. */
static void abandoned_proposals_do_not_count(void **state)
{
    struct stage *stage = *state;
    struct judgement out;
    struct error error = {0};
    add_beginning(stage, 1);
    size_t size = stage->log.size;
    add_order(stage, 9, 7, RUN_FAILED, 1, false);
    end_log(stage, "zookeeper", 1);
    stage->log.size = size;
    add_order(stage, (uint64_t)1 << 32 | 1, 1, RUN_DONE, 1, true);
    end_log(stage, "zookeeper", 2);
    assert_int_equal(judge(stage, NULL, &out, &error), TN_OK);
    assert_string_equal(out.text, "no rule broken");
    assert_int_equal(out.transactions, 9);
}

/* After a wipe the epochs and generations of the old ensemble do not count. */
static void wiped_ensemble_starts_again(void **state)
{
    struct stage *stage = *state;
    add_beginning(stage, 3);
    end_log(stage, "wiped-1", 1);
    begin_log(stage);
    add_beginning(stage, 1);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, "wiped-1", "no rule broken");
    begin_log(stage);
    add_beginning(stage, 1);
    add_order(stage, 9, 2, RUN_PAUSED, 1, true);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, "wiped-1", "ensemble 2: I2: an order of epoch 2 in the term of epoch 1");
}

/* After a wipe epochs must be above those of manifests that were copied to disks. */
static void epochs_survive_a_wipe(void **state)
{
    struct stage *stage = *state;
    add_beginning(stage, 3);
    add_create(stage, 9, "/t/checkpoints", false);
    add_checkpoint(stage, 10, 3, 1);
    add_checkpoint(stage, 11, 3, 2); /* Now the first one was surely copied. */
    end_log(stage, "wiped-1", 1);
    begin_log(stage);
    add_beginning(stage, 3);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, "wiped-1", "ensemble 2: I1: an order of epoch 3 after a wipe at epoch 3");
    begin_log(stage);
    add_beginning(stage, 4);
    end_log(stage, "zookeeper", 1);
    assert_verdict(stage, "wiped-1", "no rule broken");
}

/* A run without logs, or with files that are not logs, cannot be judged. */
static void run_without_logs_is_not_judged(void **state)
{
    struct stage *stage = *state;
    struct judgement out;
    struct error error = {0};
    assert_int_equal(judge(stage, NULL, &out, &error), TN_ENOENT);
    stage->log.size = 0; /* The server was killed before its first write. */
    end_log(stage, "zookeeper", 1);
    assert_int_equal(judge(stage, NULL, &out, &error), TN_ENOENT);
    begin_log(stage);
    stage->log.bytes[0] = 'x';
    end_log(stage, "zookeeper", 1);
    assert_int_equal(judge(stage, NULL, &out, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "log.1 is not a transaction log"));
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, make_stage, remove_stage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(correct_run_passes),
        STAGED(wrong_orders_break_rules),
        STAGED(checkpoint_id_is_used_once),
        STAGED(checkpoint_ids_survive_a_wipe),
        STAGED(restarted_job_keeps_its_epoch),
        STAGED(logs_of_all_servers_are_merged),
        STAGED(abandoned_proposals_do_not_count),
        STAGED(run_without_logs_is_not_judged),
        STAGED(wiped_ensemble_starts_again),
        STAGED(epochs_survive_a_wipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

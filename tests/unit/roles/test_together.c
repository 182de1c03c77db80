/* Ps and workers together: the bits of training do not depend on which worker computes a slice, or
 * on which node dies when. */
#include "kernels/optimizer/norm.h"
#include "tests/unit/roles/together.h"

static const char *const sync_settings[] = {"data.type=synthetic",      "data.examples=300",
                                            "data.test_examples=50",    "model.inputs=8",
                                            "model.outputs=5",          "train.batch=30",
                                            "train.slices=5",           "train.optimizer=adam",
                                            "train.learning_rate=0.01", "cluster.ps=2",
                                            "cluster.workers=2",        "checkpoint.keep=2",
                                            "model.type=softmax",       "model.hidden=[]",
                                            "train.mode=sync",          NULL};

/* The same, with the norm of each gradient limited. */
static const char *norm_settings[32];

/* With shards of several chunks. */
static const char *wide_settings[32];

static int make_settings(void **state)
{
    (void)state;
    int i = 0;
    for (; sync_settings[i] != NULL; i++) {
        norm_settings[i] = wide_settings[i] = sync_settings[i];
    }
    wide_settings[i] = "model.inputs=30";
    norm_settings[i] = "train.clip_norm=0.1";
    return 0;
}

/* ---------------------------------------------------------- expected results */

/* Training by its definition, in one process. */
static void reference(float *values)
{
    uint64_t count = w.variables.parameter_count;
    struct model *model;
    struct compute compute;
    assert_int_equal(model_open(&w.job, &model, NULL), TN_OK);
    struct compute_config config = {
        .job = &w.job,
        .model = model,
        .programs = "reference",
        .kernels = kernels_reference(),
        .train = w.train,
        .test = w.test,
        .pool = w.pool,
    };
    assert_int_equal(compute_open(&compute, &config, NULL), TN_OK);
    struct optimizer optimizer = optimizer_of_job(&w.job, &w.variables);
    float *old[OPTIMIZER_ARRAYS_MAX] = {NULL}, *new[OPTIMIZER_ARRAYS_MAX] = {NULL};
    for (int a = 0; a < 3; a++) {
        old[a] = calloc(count, sizeof(float));
        new[a] = calloc(count, sizeof(float));
    }
    variables_init_range(&w.variables, w.job.seed, 0, count, old[0]);
    for (uint64_t step = 0; step < STEPS; step++) {
        const float *sum = compute_node(&compute, old[0], step, (struct slice_node){0, 5}, NULL);
        struct norm_part whole = norm_begin(0);
        norm_add(&whole, count, sum);
        optimizer.norm = norm_of(&whole);
        optimizer_apply(&optimizer, kernels_reference(), step, 0, count, sum,
                        (const float *const *)old, new);
        for (int a = 0; a < 3; a++) { memcpy(old[a], new[a], count * sizeof(float)); }
    }
    memcpy(values, old[0], count * sizeof(float));
    for (int a = 0; a < 3; a++) {
        free(old[a]);
        free(new[a]);
    }
    compute_close(&compute);
    model_close(model);
}

/* Two ps and two workers reach the bits of training in one process, and report their results. */
static void test_bits_equal_those_of_one_process(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, sync_settings, "00110");
        run.evaluate_step = STEPS;
        order();
        until(evaluated);
        expect_reference_bits(reference);
        const struct evaluation *found = &w.nodes[PS].report.evaluation;
        assert_true(found->loss > 0 && found->accuracy >= 0 && found->train_loss > 0);
        assert_int_equal(w.nodes[PS].report.ready, 1);
        assert_int_equal(w.nodes[PS].report.generation, 1);
        free_world();
    }
}

/* A worker dies at any time, and its slices are reassigned or wait for its restart: the bits are
 * the same. */
static void test_dying_worker_changes_no_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, sync_settings, "00110");
        until(half_way);
        pass(seed * 7 % 50);
        world_kill(&w, PS + seed % WORKERS);
        pass(20);
        if (seed % 3 != 0) { assign(seed % WORKERS == 0 ? "11111" : "00000"); }
        pass(seed % 40);
        world_begin(&w, PS + seed % WORKERS);
        if (seed % 3 == 1) { assign("10101"); }
        until(at_the_end);
        expect_reference_bits(reference);
        free_world();
    }
}

/* Connections break often; no contribution is lost or counted twice. */
static void test_broken_connections_change_no_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, sync_settings, "01101");
        for (int i = 0; i < 15 && !at_the_end(); i++) {
            pass(40);
            uint64_t id = 1 + random_below(&w.random, w.next_conn);
            world_close_connection(&w, id);
        }
        until(at_the_end);
        expect_reference_bits(reference);
        free_world();
    }
}

/* A ps dies after a checkpoint, and all load it as a new generation: the bits are the same. */
static void test_dying_ps_changes_no_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, sync_settings, "00110");
        order_checkpoint();
        until(all_saved);
        commit(1, CHECKPOINT_STEP);
        if (seed % 2 == 0) { order(); }
        lose_ps_and_load(seed);
        until(at_the_end);
        expect_reference_bits(reference);
        assert_int_equal(w.nodes[PS].report.generation, 2);
        free_world();
    }
}

/* The ps exchange parts of norms: neither broken connections nor the death of a ps change bits. */
static void test_norms_have_the_same_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, norm_settings, "01101");
        order_checkpoint();
        for (int i = 0; i < 15 && !all_saved(); i++) {
            pass(40);
            world_close_connection(&w, 1 + random_below(&w.random, w.next_conn));
        }
        until(all_saved);
        commit(1, CHECKPOINT_STEP);
        lose_ps_and_load(seed);
        until(at_the_end);
        expect_reference_bits(reference);
        free_world();
    }
}

static bool both_failed(void)
{
    return w.nodes[0].report.failed_load == 1 && w.nodes[1].report.failed_load == 1;
}

/* A checkpoint that cannot be read is reported with the generation; another order is carried
 * out. */
static void test_damaged_checkpoint_is_reported(void **state)
{
    (void)state;
    begin(3, sync_settings, "00110");
    order_checkpoint();
    until(all_saved);
    commit(1, CHECKPOINT_STEP);
    w.nodes[0].store.broken = w.nodes[1].store.broken = true;
    run.phase = RUN_LOADING;
    run.generation = 2;
    run.load_checkpoint = 1;
    order();
    until(both_failed);
    assert_int_equal(w.nodes[0].report.failed_load_generation, 2);
    assert_int_equal(w.nodes[0].report.generation, 0);
    load(3, 0, 0);
    until(at_the_end);
    expect_reference_bits(reference);
    free_world();
}

/* At the end saves are hurried, manifests are copied, old checkpoints are removed, and all nodes
 * exit with 0. */
static void test_nodes_leave_at_the_end(void **state)
{
    (void)state;
    begin(5, sync_settings, "00110");
    until(at_the_end);
    for (uint64_t id = 1; id <= 3; id++) {
        run.save_checkpoint = id;
        run.save_step = STEPS;
        order();
        until(all_saved);
        commit(id, STEPS);
    }
    run.phase = RUN_DONE;
    order();
    until(all_left);
    for (uint32_t i = 0; i < NODES; i++) { assert_int_equal(exit_codes[i], 0); }
    for (uint32_t p = 0; p < PS; p++) {
        const struct roles_store *store = &w.nodes[p].store;
        assert_int_equal(store->manifests[store->manifest_count - 1].id, 3);
        assert_int_equal(store->hurries, 3);
        assert_int_equal(store->below, 3);
        assert_int_equal(store->kept_count, 2);
        assert_int_equal(store->kept[0], 3);
        assert_int_equal(store->kept[1], 2);
    }
    free_world();
}

/* Nodes of a failed run exit with 1; a node that was asked to leave exits with 0. */
static void test_exit_codes_of_a_failed_run(void **state)
{
    (void)state;
    begin(6, sync_settings, "00110");
    world_handle(&w.nodes[PS], (struct node_event){.type = NODE_LEAVE});
    run.phase = RUN_FAILED;
    order();
    until(all_left);
    assert_int_equal(exit_codes[PS], 0);
    assert_int_equal(exit_codes[PS + 1], 1);
    assert_int_equal(exit_codes[0], 1);
    free_world();
}

/* Send a frame to ps 0 as worker 0, on a new connection. Returns the id of the connection. */
static uint64_t send_frame(struct frame_header header, size_t body_bytes)
{
    conn_id conn = world_dial(&w.nodes[PS], "node:0");
    struct buffer *body = NULL;
    if (body_bytes > 0) {
        body = buffer_acquire(w.pool, body_bytes);
        memset(body->data, 0, body_bytes);
        body->size = body_bytes;
    }
    world_send(&w.nodes[PS], conn, &header, body);
    return conn.v;
}

/* The last chunk of a push, which is sent first, at `last` with `rest` bytes; and then, on the same
 * connection, one that does not follow it. */
static uint64_t send_chunks(uint64_t last, size_t rest, uint64_t offset, uint64_t step,
                            uint8_t type, size_t bytes)
{
    struct frame_header header = {.type = FRAME_PUSH, .generation = 1, .count = 1, .offset = last};
    conn_id conn = {send_frame(header, rest)};
    header.type = type;
    header.offset = offset;
    header.step = step;
    struct buffer *body = bytes > 0 ? buffer_acquire(w.pool, bytes) : NULL;
    if (body != NULL) { memset(body->data, 0, bytes); }
    world_send(&w.nodes[PS], conn, &header, body);
    return conn.v;
}

/* A chunk that is not the next one, or not of the same body, closes the connection; a repeated one
 * is ignored. */
static void test_invalid_chunks_close_their_connection(void **state)
{
    (void)state;
    const uint64_t chunk = WORLD_CHUNK_BYTES;
    begin(9, wide_settings, "00110");
    const uint64_t shard =
        placement_range(w.variables.parameter_count, PS, 0).count * sizeof(float);
    const uint64_t last = (shard - 1) / chunk * chunk;
    const size_t rest = shard - last;
    assert_true(last > 2 * chunk);
    const struct {
        uint64_t offset, step;
        uint8_t type;
        size_t bytes;
    } bad[] = {{last - 2 * chunk, 0, FRAME_PUSH, chunk},
               {last - chunk, 1, FRAME_PUSH, chunk},
               {last, 1, FRAME_PUSH, rest},
               {last - chunk, 0, FRAME_PUSH, 4},
               {last - chunk + 4, 0, FRAME_PUSH, chunk},
               {0, 0, FRAME_PUSH, chunk},
               {UINT64_MAX - 3, 0, FRAME_PUSH, chunk},
               {0, 0, FRAME_PULL, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t conn =
            send_chunks(last, rest, bad[i].offset, bad[i].step, bad[i].type, bad[i].bytes);
        for (int n = 0; n < 2000 && w.connections[conn].open; n++) { world_step(&w); }
        assert_false(w.connections[conn].open);
    }
    uint64_t repeated = send_chunks(last, rest, last, 0, FRAME_PUSH, rest);
    until(at_the_end);
    assert_true(w.connections[repeated].open);
    expect_reference_bits(reference);
    free_world();
}

/* Invalid frames close their connection and do not affect training. */
static void test_invalid_frames_close_their_connection(void **state)
{
    (void)state;
    begin(7, norm_settings, "00110");
    size_t shard = placement_range(w.variables.parameter_count, PS, 0).count * sizeof(float);
    const struct {
        uint8_t type;
        uint32_t first, count;
        size_t bytes;
    } bad[] = {{FRAME_PUSH, 0, 1, shard - 4}, {FRAME_PUSH, 0, 1, 0},
               {FRAME_PUSH, 1, 2, shard},     {FRAME_PUSH, UINT32_MAX, 2, shard},
               {FRAME_PUSH, 0, 0, shard},     {FRAME_VALUES, 0, 0, shard},
               {FRAME_REPORT, 0, 0, 512},     {FRAME_NORM_PART, 0, 0, 8},
               {FRAME_NORM_PART, 1, 0, 0},    {FRAME_NORM_PART, 1, 0, 648},
               {FRAME_NORM_PART, 2, 0, 8},    {FRAME_NORM_PART, UINT32_MAX, 0, 8}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct frame_header header = {
            .type = bad[i].type, .generation = 1, .first = bad[i].first, .count = bad[i].count};
        uint64_t conn = send_frame(header, bad[i].bytes);
        for (int n = 0; n < 2000 && w.connections[conn].open; n++) { world_step(&w); }
        assert_false(w.connections[conn].open);
    }
    until(at_the_end);
    expect_reference_bits(reference);
    free_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_equal_those_of_one_process),
        cmocka_unit_test(test_dying_worker_changes_no_bits),
        cmocka_unit_test(test_broken_connections_change_no_bits),
        cmocka_unit_test(test_dying_ps_changes_no_bits),
        cmocka_unit_test(test_norms_have_the_same_bits),
        cmocka_unit_test(test_damaged_checkpoint_is_reported),
        cmocka_unit_test(test_nodes_leave_at_the_end),
        cmocka_unit_test(test_exit_codes_of_a_failed_run),
        cmocka_unit_test(test_invalid_frames_close_their_connection),
        cmocka_unit_test(test_invalid_chunks_close_their_connection),
    };
    return cmocka_run_group_tests(tests, make_settings, NULL);
}

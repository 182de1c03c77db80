/* group/member.h: a group of members, each with its part of a model, has the sums of a process that
 * has the whole model, whatever happens to members and connections. */
#include "group/member.h"

#include <math.h>

#include "graph/ops/ops.h"
#include "graph/program.h"
#include "group/member_frame.h"
#include "tests/unit/group/faulty_network.h"
#include "tests/unit/support/models.h"

enum { BATCH = 11, SLICES = 5, SEED = 7, GENERATION = 3, STEPS = 2, NODES = 3 };

static const struct slice_node nodes[NODES] = {{0, 4}, {4, 1}, {0, 5}};

struct process {
    struct group_member *member;
    float *sum;
};

/* The head's orders: node `next % NODES` of step `next / NODES`. */
struct group {
    struct training_cut cut;
    struct network network;
    struct buffer_pool *pool;
    struct process processes[NETWORK_MEMBERS];
    float *values[STEPS][NETWORK_MEMBERS]; /* By step and member. */
    uint64_t heads, now_ms;
    uint32_t next, orders;
    bool is_ordered, is_hostile; /* `is_hostile`: there are faulty frames and answers. */
    const float *expected[STEPS * NODES];
    double losses[STEPS * NODES];
};

/* ------------------------------------------------------------------- examples */

static void fill_view(const char *field, uint64_t step, uint32_t slice, struct tn_view view)
{
    const uint32_t examples = slices_positions(SLICES, BATCH, slice).count;
    const uint32_t first = slices_positions(SLICES, BATCH, slice).first;
    const size_t elements = (size_t)shape_elements(&view.shape), each = elements / examples;
    for (size_t i = 0; i < elements; i++) {
        const size_t at = (first * each + i) * 7 + (size_t)field[0] + step * 131;
        switch (view.type) {
        case TN_FLOAT32: ((float *)view.data)[i] = sinf((float)at); break;
        case TN_INT32: ((int32_t *)view.data)[i] = (int32_t)(at % 5); break;
        case TN_INT64: ((int64_t *)view.data)[i] = (int64_t)(at % 5); break;
        case TN_UINT8: ((uint8_t *)view.data)[i] = (uint8_t)(at % 5); break;
        }
    }
}

static enum tn_status fill(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error)
{
    (void)ctx;
    (void)error;
    fill_view(field, label->step, label->slice, view);
    return TN_OK;
}

/* ---------------------------------------------------------- the whole model's */

struct whole {
    struct tn_program *programs[2]; /* For 2 examples, and for 3. */
    float *values[STEPS];
    uint64_t parameters;
};

static float *sum_whole(const struct whole *whole, uint64_t step, struct slice_node node,
                        double *loss)
{
    float *gradient = calloc(whole->parameters, sizeof *gradient);
    assert_non_null(gradient);
    if (node.count > 1) {
        struct slice_node left, right;
        double losses[2];
        slices_children(node, &left, &right);
        float *first = sum_whole(whole, step, left, &losses[0]);
        float *second = sum_whole(whole, step, right, &losses[1]);
        for (uint64_t i = 0; i < whole->parameters; i++) { gradient[i] = first[i] + second[i]; }
        *loss = losses[0] + losses[1];
        free(first);
        free(second);
        return gradient;
    }
    const struct slice_range range = slices_positions(SLICES, BATCH, node.first);
    struct tn_program *program = whole->programs[range.count - 2];
    for (uint32_t i = 0; i < program->graph->count; i++) {
        const char *name = program->graph->nodes[i].attributes.name;
        if (program->graph->nodes[i].op != &op_placeholder) { continue; }
        const struct tn_view view = tn_program_field(program, name);
        if (view.data != NULL) { fill_view(name, step, node.first, view); }
    }
    struct tn_run run = {.struct_size = sizeof run,
                         .values = whole->values[step],
                         .seed = SEED,
                         .step = step,
                         .first = range.first,
                         .scale = 1.0F / BATCH,
                         .gradient = gradient};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    *loss = run.loss_sum;
    return gradient;
}

static void open_whole(struct whole *whole, const struct tn_graph *graph)
{
    for (uint32_t i = 0; i < 2; i++) {
        whole->programs[i] = new_program(graph, (struct tn_program_options){.examples = i + 2});
    }
    whole->parameters = tn_program_parameters(whole->programs[0]);
    for (uint32_t s = 0; s < STEPS; s++) {
        whole->values[s] = calloc(whole->parameters, sizeof(float));
        assert_non_null(whole->values[s]);
        tn_program_initialize(whole->programs[0], SEED + s, whole->values[s]);
    }
}

static void close_whole(struct whole *whole)
{
    for (uint32_t i = 0; i < 2; i++) { tn_program_destroy(whole->programs[i]); }
    for (uint32_t s = 0; s < STEPS; s++) { free(whole->values[s]); }
}

/* -------------------------------------------------------------------- members */

static struct group group;

static uint32_t number_of(const struct process *process)
{
    return (uint32_t)(process - group.processes);
}

static enum member_answer prepare(void *ctx, struct computation_order *order)
{
    const struct process *process = ctx;
    assert_true(member_is_ready(process->member)); /* No order outlives its attempt. */
    if (group.is_hostile && network_draw(&group.network, 20) == 0) { return MEMBER_REFUSES; }
    if (number_of(process) != 0 && network_draw(&group.network, 8) != 0) { return MEMBER_WAITS; }
    order->values = group.values[order->step][number_of(process)];
    order->sum = process->sum;
    return MEMBER_BEGINS;
}

static uint32_t find_order(const struct computation_order *order)
{
    uint32_t n = 0;
    while (nodes[n].first != order->node.first || nodes[n].count != order->node.count) { n++; }
    assert_true(n < NODES && order->generation == GENERATION);
    return (uint32_t)order->step * NODES + n;
}

/* The sums are those of the whole model. */
static void computed(void *ctx, const struct computation_order *order, double loss)
{
    const struct process *process = ctx;
    const uint32_t number = find_order(order);
    for (uint32_t i = 0; i < group.cut.variable_count; i++) {
        const struct cut_variable *variable = &group.cut.variables[i];
        if (variable->task != number_of(process)) { continue; }
        assert_memory_equal(process->sum + variable->task_offset,
                            group.expected[number] + variable->offset,
                            variable->count * sizeof(float));
    }
    assert_true(loss == group.losses[number]);
    memset(process->sum, 0xFF, group.cut.floats[number_of(process)] * sizeof(float));
}

static void done(void *ctx, const struct schedule_label *label)
{
    assert_true(ctx == &group.processes[0] && group.is_ordered);
    assert_int_equal(label->step, group.next / NODES);
    assert_int_equal(label->slice, nodes[group.next % NODES].first);
    group.is_ordered = false;
    group.next++;
}

/* The worst case: the head begins at the first step again. */
static void reset(void *ctx)
{
    if (ctx != &group.processes[0]) { return; }
    group.is_ordered = false;
    group.next = 0;
}

static void ready(void *ctx)
{
    const struct process *process = ctx;
    assert_true(process->member == NULL || member_is_ready(process->member));
}

/* No member sends such messages here. */
static const char *take_message(void *ctx, uint32_t peer, const struct member_frame *message,
                                struct buffer *body)
{
    (void)ctx;
    (void)peer;
    (void)message;
    (void)body;
    return "there is none";
}

static uint64_t expects(void *ctx, uint32_t peer, const struct member_frame *message)
{
    (void)ctx;
    (void)peer;
    (void)message;
    return 0;
}

static void start(struct process *process, uint32_t number)
{
    struct error error = {.text = ""};
    static const char *const addresses[] = {"0", "1", "2", "3"};
    group.heads += 1000000;
    const struct member_config config = {
        .cut = &group.cut,
        .member = number,
        .members = group.network.members,
        .slices = SLICES,
        .batch = BATCH,
        .seed = SEED,
        .pool = group.pool,
        .transport = network_port(&group.network, number),
        .first_attempt = group.heads,
        .calls = {.fill = fill,
                  .prepare = prepare,
                  .computed = computed,
                  .done = done,
                  .reset = reset,
                  .ready = ready,
                  .message = take_message,
                  .expects = expects,
                  .ctx = process},
    };
    if (member_create(&config, &process->member, &error) != TN_OK) { fail_msg("%s", error.text); }
    for (uint32_t m = 0; m < number; m++) { member_locate(process->member, m, addresses[m]); }
    process->sum = calloc(group.cut.floats[number] + 1, sizeof(float));
    assert_non_null(process->sum);
}

static void end(struct process *process)
{
    network_forget(&group.network, number_of(process));
    member_destroy(process->member);
    free(process->sum);
}

static void restart(uint32_t number)
{
    end(&group.processes[number]);
    start(&group.processes[number], number);
    reset(&group.processes[number]);
}

static void order_next(void)
{
    struct group_member *head = group.processes[0].member;
    const bool is_over = group.next == STEPS * NODES;
    if (group.is_ordered || is_over || !member_is_complete(head)) { return; }
    group.is_ordered = true;
    group.orders++;
    assert_int_equal(
        member_order(head, GENERATION, group.next / NODES, nodes[group.next % NODES], NULL), TN_OK);
}

static void deliver_one(void)
{
    uint32_t number;
    bool taken;
    struct transport_event event;
    if (!network_next(&group.network, &event, &number)) { return; }
    struct group_member *member = group.processes[number].member;
    assert_int_equal(member_handle(member, &event, group.now_ms, &taken, NULL), TN_OK);
    if (!taken && event.type == TRANSPORT_FRAME) { buffer_release(event.body); }
}

/* A member that waits to dial is woken in time. */
static void tick(void)
{
    group.now_ms++;
    struct group_member *member =
        group.processes[network_draw(&group.network, group.network.members)].member;
    if (group.now_ms >= member_deadline_ms(member)) { member_tick(member, group.now_ms); }
    assert_int_equal(member_resume(member, NULL), TN_OK);
}

/* ----------------------------------------------------------------------- runs */

static void open_group(const struct tn_graph *graph, const struct whole *whole, uint32_t members,
                       uint64_t seed)
{
    struct error error = {.text = ""};
    memset(&group, 0, sizeof group);
    group.network.random.state = seed;
    group.network.members = members;
    group.pool = buffer_pool_create(0);
    assert_non_null(group.pool);
    if (training_cut_create(graph, members, &group.cut, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    for (uint32_t i = 0; i < STEPS * NODES; i++) {
        group.expected[i] = sum_whole(whole, i / NODES, nodes[i % NODES], &group.losses[i]);
    }
    for (uint32_t s = 0; s < STEPS; s++) {
        for (uint32_t m = 0; m < members; m++) {
            group.values[s][m] = calloc(group.cut.floats[m] + 1, sizeof(float));
            assert_non_null(group.values[s][m]);
        }
        for (uint32_t i = 0; i < group.cut.variable_count; i++) {
            const struct cut_variable *variable = &group.cut.variables[i];
            memcpy(group.values[s][variable->task] + variable->task_offset,
                   whole->values[s] + variable->offset, variable->count * sizeof(float));
        }
    }
    for (uint32_t m = 0; m < members; m++) { start(&group.processes[m], m); }
}

static void close_group(void)
{
    for (uint32_t m = 0; m < group.network.members; m++) { end(&group.processes[m]); }
    for (uint32_t i = 0; i < STEPS * NODES; i++) { free((void *)group.expected[i]); }
    for (uint32_t s = 0; s < STEPS; s++) {
        for (uint32_t m = 0; m < group.network.members; m++) { free(group.values[s][m]); }
    }
    training_cut_free(&group.cut);
    buffer_pool_destroy(group.pool);
}

/* Send a frame that no member sends. */
static void send_faulty_frame(void)
{
    static const struct member_frame tensor = {.kind = MEMBER_FRAME_TENSOR};
    struct network *network = &group.network;
    const struct end *end = &network->ends[network_draw(network, NETWORK_ENDS)];
    struct frame_header header = member_frame_write(&tensor);
    if (end->conn.v == 0) { return; }
    switch (network_draw(network, 6)) {
    case 0: header.type = FRAME_PUSH; break;
    case 1: header.epoch = MEMBER_FRAME_KINDS; break;
    case 2: header.first = SLICES; break;
    case 3: header.count = 9999; break; /* Its edge. */
    case 4:
        header.epoch = MEMBER_FRAME_ORDER;
        header.first = 1; /* Not a node. */
        header.count = 3;
        break;
    case 5:
        header.count = network_draw(network, group.cut.partition.edge_count);
        header.offset = 13;
        break;
    }
    network_send(&network->ports[end->member], end->conn, &header, NULL);
}

static void fail_something(void)
{
    struct network *network = &group.network;
    if (group.is_hostile) {
        send_faulty_frame();
        return;
    }
    if (network_draw(network, 4) == 0) {
        restart(network_draw(network, network->members));
    } else {
        network_break(network, &network->ends[network_draw(network, NETWORK_ENDS)]);
    }
}

/* Events until all orders are carried out. `rarity`: one event of this number is a fault, as long
 * as there are faults. */
static void run(uint32_t faults, uint32_t rarity, bool is_hostile)
{
    uint32_t events = 0;
    while (group.next < STEPS * NODES || faults > 0) {
        assert_true(events++ < 10000000); /* No fault leaves it waiting. */
        if (faults > 0 && network_draw(&group.network, rarity) == 0) {
            faults--;
            group.is_hostile = is_hostile && faults > 0;
            fail_something();
        }
        order_next();
        tick();
        deliver_one();
    }
}

/* A layer on each member, and one more on the first, so that values go back and forth. */
static struct tn_graph *layers_on(uint32_t members)
{
    static const char *const devices[] = {"/job:worker/task:0", "/job:worker/task:1",
                                          "/job:worker/task:2"};
    static const char *const names[] = {"a", "b", "c", "d"};
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 6));
    for (uint32_t i = 0; i <= members; i++) {
        tn_device_begin(graph, devices[i % members]);
        x = tn_activate(graph, dense_layer(graph, names[i], x, 7), TN_TANH);
        x = tn_dropout(graph, names[i], x, 0.25F);
        tn_device_end(graph);
    }
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, labels_field(graph)), 1);
    return graph;
}

static void all_orders(struct tn_graph *graph, uint32_t members, uint32_t seeds, uint32_t faults,
                       uint32_t rarity, bool is_hostile)
{
    struct whole whole;
    open_whole(&whole, graph);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        open_group(graph, &whole, members, seed);
        run(faults, rarity, is_hostile);
        if (faults == 0) { assert_int_equal(group.orders, STEPS * NODES); }
        close_group();
    }
    close_whole(&whole);
    tn_graph_destroy(graph);
}

/* Without faults, each order is carried out once. */
static void undisturbed(void **state)
{
    (void)state;
    all_orders(layers_on(1), 1, 1, 0, 1, false);
    all_orders(layers_on(2), 2, 5, 0, 1, false);
    all_orders(layers_on(3), 3, 5, 0, 1, false);
}

/* Members end and connections break at any time; the sums are those of the whole model. */
static void deaths_and_lost_connections(void **state)
{
    (void)state;
    all_orders(layers_on(2), 2, 60, 30, 300, false);
    all_orders(layers_on(3), 3, 60, 30, 500, false);
}

/* The same at a rate at which hardly an attempt gets far. */
static void many_faults(void **state)
{
    (void)state;
    all_orders(layers_on(3), 3, 20, 2000, 20, false);
}

/* A frame that no member sends, and an order for which a member lacks the values, cost only a
 * connection. */
static void faulty_frames(void **state)
{
    (void)state;
    all_orders(layers_on(3), 3, 40, 40, 200, true);
}

static enum tn_status create_on(struct tn_graph *graph, uint32_t task, struct error *error)
{
    struct training_cut cut;
    struct part_runner *runner = NULL;
    assert_int_equal(training_cut_create(graph, 2, &cut, NULL), TN_OK);
    struct buffer_pool *pool = buffer_pool_create(0);
    const struct part_runner_config config = {
        .cut = &cut, .task = task, .sizes = {2}, .pool = pool};
    const enum tn_status status = part_runner_create(&config, &runner, error);
    part_runner_destroy(runner);
    training_cut_free(&cut);
    buffer_pool_destroy(pool);
    return status;
}

/* A member that has nothing to compute is an error that names it. */
static void a_member_without_parts(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    struct tn_graph *graph = layers_on(1);
    assert_int_equal(create_on(graph, 0, &error), TN_OK);
    assert_int_equal(create_on(graph, 1, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "/job:worker/task:1"));
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undisturbed),
        cmocka_unit_test(deaths_and_lost_connections),
        cmocka_unit_test(many_faults),
        cmocka_unit_test(faulty_frames),
        cmocka_unit_test(a_member_without_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

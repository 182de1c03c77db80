#include "worker/compute_team.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "graph/device_sums.h"
#include "kernels/sparse/row_tree.h"

/* A member adds elements in parts that stay in its cache. */
enum { TILE = 4096, LINE = 16 /* Floats. */ };

/* Its sum is on the host, or in the memory of the GPU of its member. */
struct piece {
    struct slice_node node;
    uint32_t member, vector; /* The member that computes it, and the vector of its sums. */
    float *sum;
    double loss;
};

struct team_member {
    struct compute own;       /* Unused by the first member. */
    struct compute *compute;  /* `own`, or the leader's. */
    struct device_sums *sums; /* NULL: sums are on the host. */
    struct compute_chunk chunk;
    struct error error; /* Its first error in this node. */
};

struct compute_team {
    uint32_t count;
    struct thread_team *threads;
    const struct compute *leader;
    /* Memory for the sum of each piece but the first, which is that of the node. */
    struct buffer *buffers[SLICES_MAX];
    /* These belong to the node that is computed. */
    struct piece pieces[SLICES_MAX];
    uint32_t piece_count;
    struct slice_sum additions[SLICES_MAX]; /* They name pieces by their numbers. */
    uint32_t addition_count;
    struct compute_loss losses[SLICES_MAX];
    /* Without tables unused. The rows of each piece; their sum, whose memory is apart from that of
     * the leader's slices, as these need less; and how they are added. */
    struct row_sums rows[SLICES_MAX], sum_of_rows;
    struct row_tree row_tree;
    struct team_member members[];
};

/* ------------------------------------------------------------ pieces */

/* Add the largest nodes of the tree below `node` within the slices [first, end). */
static void list_nodes(struct slice_node node, uint32_t first, uint32_t end,
                       struct slice_node out[static SLICES_MAX], uint32_t *count)
{
    if (node.first >= end || node.first + node.count <= first) { return; }
    if (node.first < first || node.first + node.count > end) {
        struct slice_node left, right;
        slices_children(node, &left, &right);
        list_nodes(left, first, end, out, count);
        list_nodes(right, first, end, out, count);
        return;
    }
    assert(*count < SLICES_MAX);
    out[(*count)++] = node;
}

/* Slices are dealt as evenly as their number allows, neighbours to the same member. */
uint32_t compute_team_parts(uint32_t members, uint32_t member, struct slice_node node,
                            struct slice_node out[static SLICES_MAX])
{
    uint32_t count = 0;
    assert(member < members);
    if (node.count == 1) { /* The first member computes it alone. */
        out[0] = node;
        return member == 0 ? 1 : 0;
    }
    const struct thread_share share = thread_team_share(members, member, node.count, 1);
    list_nodes(node, node.first + (uint32_t)share.first, node.first + (uint32_t)share.end, out,
               &count);
    return count;
}

static void deal_pieces(struct compute_team *team, struct slice_node node)
{
    struct slice_node parts[SLICES_MAX];
    team->piece_count = 0;
    for (uint32_t m = 0; m < team->count; m++) {
        const uint32_t count = compute_team_parts(team->count, m, node, parts);
        assert(team->piece_count + count <= SLICES_MAX);
        for (uint32_t i = 0; i < count; i++) {
            team->pieces[team->piece_count++] =
                (struct piece){.node = parts[i], .member = m, .vector = i};
        }
    }
}

/* The vectors of a member for one node: its pieces, of which the last one has the levels of its
 * tree behind it. */
static uint32_t vectors_of(uint32_t members, uint32_t member, struct slice_node node)
{
    struct slice_node parts[SLICES_MAX];
    const uint32_t count = compute_team_parts(members, member, node, parts);
    uint32_t most = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t depth = 0;
        while ((1U << depth) < parts[i].count) { depth++; }
        most = u32_max(most, i + depth + 1);
    }
    return most;
}

uint32_t compute_team_vectors(uint32_t members, struct slice_node node)
{
    uint32_t most = 1;
    for (uint32_t m = 0; m < members; m++) { most = u32_max(most, vectors_of(members, m, node)); }
    if (node.count == 1) { return most; }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    return u32_max(
        most, u32_max(compute_team_vectors(members, left), compute_team_vectors(members, right)));
}

/* ------------------------------------------------------------ opening */

static enum tn_status open_member(struct compute_team *team, uint32_t number,
                                  const struct compute *leader, struct error *error)
{
    struct team_member *member = &team->members[number];
    struct compute_config config = leader->config;
    config.programs = leader->all_programs;
    if (config.gpus > 1) { config.test = NULL; }
    config.details = NULL;
    config.member = number;
    config.reader = leader->reader;
    enum tn_status status = compute_open(&member->own, &config, error);
    if (status != TN_OK) { return status; }
    member->own.losses_of_slices = team->losses;
    member->compute = &member->own;
    member->chunk.training = member->own.training;
    return TN_OK;
}

static enum tn_status open_rows(struct compute_team *team, struct error *error)
{
    const struct variable_table *variables = &team->leader->config.model->table;
    const uint64_t counts = row_tree_counts(team->count, variables);
    team->row_tree = (struct row_tree){.parts = team->rows,
                                       .additions = team->additions,
                                       .members = team->count,
                                       .sum = &team->sum_of_rows};
    team->row_tree.counts = calloc(counts + 1, sizeof *team->row_tree.counts);
    return team->row_tree.counts != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory");
}

static void close_rows(struct compute_team *team)
{
    for (uint32_t i = 0; i < SLICES_MAX; i++) { row_sums_close(&team->rows[i]); }
    row_sums_close(&team->sum_of_rows);
    free(team->row_tree.counts);
}

static void close_sums(struct compute_team *team)
{
    for (uint32_t i = 0; i < team->count; i++) {
        device_sums_close(team->members[i].sums);
        team->members[i].sums = NULL;
    }
}

/* All members or none. */
static enum tn_status open_sums(struct compute_team *team, const struct compute *leader,
                                struct error *error)
{
    if (leader->config.evaluates_only || leader->config.gpus <= 1) { return TN_OK; }
    const struct slice_node all = {0, leader->config.job->train.slices};
    const uint32_t vectors = compute_team_vectors(team->count, all);
    struct error reason = {.status = TN_OK};
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < team->count && status == TN_OK; i++) {
        struct team_member *member = &team->members[i];
        const struct compute *compute = i == 0 ? leader : &member->own;
        status = training_open_sums(compute->training, vectors, &member->sums, &reason);
    }
    if (status == TN_OK) { return TN_OK; }
    if (status != TN_ENOMEM) { return error_set(error, status, "%s", reason.text); }
    log_warn("gradients are added on the CPU, as GPUs have too little memory: %s", reason.text);
    close_sums(team);
    return TN_OK;
}

/* Arithmetic operations of a step. */
static double flops_of(const struct compute *leader)
{
    return training_flops(leader->training) * leader->config.job->train.slices;
}

bool compute_team_is_small(const struct compute *leader)
{
    const struct compute_config *config = &leader->config;
    return config->fewer_threads && config->gpus <= 1 && leader->team != NULL &&
           flops_of(leader) < (double)leader->team->count * COMPUTE_SMALL_FLOPS;
}

uint32_t compute_team_members(const struct compute *leader)
{
    const struct compute_config *config = &leader->config;
    if (config->gpus > 1) { return config->gpus; }
    uint32_t count = u32_min(config->threads, THREAD_TEAM_MAX);
    if (!config->fewer_threads) { return u32_max(count, 1); }
    const double flops = flops_of(leader);
    count = u32_min(count, config->job->train.slices);
    if (flops < (double)count * COMPUTE_THREAD_FLOPS) {
        count = (uint32_t)(flops / COMPUTE_THREAD_FLOPS);
    }
    return u32_max(count, 1);
}

enum tn_status compute_team_open(struct compute *leader, struct error *error)
{
    const uint32_t count = compute_team_members(leader);
    if (count == 1) { return TN_OK; }
    struct compute_team *team = calloc(1, sizeof *team + count * sizeof team->members[0]);
    if (team == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    team->count = count;
    team->leader = leader;
    team->members[0].compute = leader;
    team->members[0].chunk.training = leader->training;
    enum tn_status status = TN_OK;
    for (uint32_t i = 1; i < count && status == TN_OK; i++) {
        status = open_member(team, i, leader, error);
        if (status != TN_OK) {
            const char *unit = leader->config.gpus > 1 ? "GPU" : "thread";
            status = error_context(error, "%s %" PRIu32 " of %u", unit, i + 1, count);
        }
    }
    if (status == TN_OK) { status = open_rows(team, error); }
    if (status == TN_OK) { status = open_sums(team, leader, error); }
    if (status == TN_OK) { status = thread_team_open(count, &team->threads, error); }
    if (status == TN_OK) {
        leader->team = team;
    } else {
        compute_team_close(team);
    }
    return status;
}

void compute_team_close(struct compute_team *team)
{
    if (team == NULL) { return; }
    thread_team_close(team->threads);
    close_sums(team);
    close_rows(team);
    for (uint32_t i = 1; i < team->count; i++) { compute_close(&team->members[i].own); }
    for (uint32_t i = 0; i < SLICES_MAX; i++) { buffer_release(team->buffers[i]); }
    free(team);
}

struct thread_team *compute_team_threads(const struct compute_team *team)
{
    return team == NULL || team->leader->config.gpus > 1 ? NULL : team->threads;
}

/* The slices that the members read. */
struct reading {
    struct compute_team *team;
    uint64_t step;
    const struct slice_set *slices;
};

static void read_slices_of(void *context, uint32_t number)
{
    const struct reading *reading = context;
    const struct compute_team *team = reading->team;
    const uint32_t slices = team->leader->config.job->train.slices;
    uint32_t seen = 0;
    for (uint32_t v = 0; v < slices; v++) {
        if (!slice_set_has_all(reading->slices, (struct slice_node){v, 1})) { continue; }
        if (seen++ % team->count != number) { continue; }
        compute_read_keys(team->members[number].compute, reading->step, v);
    }
}

void compute_team_read(struct compute_team *team, uint64_t step, const struct slice_set *slices)
{
    struct reading reading = {.team = team, .step = step, .slices = slices};
    thread_team_run(team->threads, read_slices_of, &reading);
}

struct compute_chunk *compute_team_chunk(struct compute_team *team, uint32_t member)
{
    assert(member < team->count);
    return &team->members[member].chunk;
}

/* ------------------------------------------------------------ sums */

static void compute_pieces(void *context, uint32_t number)
{
    struct compute_team *team = context;
    struct team_member *member = &team->members[number];
    struct compute *compute = member->compute;
    enum tn_status status = TN_OK;
    compute->sums = member->sums;
    for (uint32_t i = 0; i < team->piece_count && status == TN_OK; i++) {
        struct piece *piece = &team->pieces[i];
        if (piece->member != number) { continue; }
        compute->vector = piece->vector;
        status = compute_part(compute, piece->node, piece->sum, &member->error);
        piece->loss = compute->losses[0];
        if (status == TN_OK && compute->config.rows != NULL) {
            compute_take_node_rows(compute, &team->rows[i]);
        }
    }
    compute->sums = NULL;
    member->error.status = status;
}

static void swap_rows(struct row_sums *a, struct row_sums *b)
{
    const struct row_sums rows = *a;
    *a = *b;
    *b = rows;
}

/* The rows of the sum before this one, which the leader has given or has got back. */
static enum tn_status find_memory_of_rows(struct compute_team *team, struct compute *leader,
                                          struct error *error)
{
    if (leader->config.rows == NULL) { return TN_OK; }
    swap_rows(&leader->rows[0], &team->sum_of_rows);
    if (team->sum_of_rows.tables != NULL) { return TN_OK; }
    return row_sums_open(&leader->config.model->table, &team->sum_of_rows, error);
}

static enum tn_status find_memory(struct compute_team *team, struct compute *leader,
                                  struct error *error)
{
    const size_t bytes = leader->parameters * sizeof(float);
    if (team->members[0].sums != NULL) { return TN_OK; }
    team->pieces[0].sum = leader->sum;
    for (uint32_t i = 1; i < team->piece_count; i++) {
        struct buffer **buffer = &team->buffers[i];
        if (*buffer == NULL) { *buffer = buffer_acquire(leader->config.pool, bytes); }
        if (*buffer == NULL) {
            return error_set(
                error, TN_ENOMEM,
                "out of memory for the gradients of %" PRIu64 " parameters on %" PRIu32 " %s",
                leader->parameters, team->count, leader->config.gpus > 1 ? "GPUs" : "threads");
        }
        team->pieces[i].sum = (*buffer)->data;
    }
    return find_memory_of_rows(team, leader, error);
}

/* The additions that lead from the pieces to the node, whose sum becomes that of piece 0. */
static void plan_additions(struct compute_team *team, const struct compute *leader,
                           struct slice_node node)
{
    struct slice_node parts[SLICES_MAX];
    uint32_t piece_of_slice[SLICES_MAX];
    for (uint32_t i = 0; i < team->piece_count; i++) {
        parts[i] = team->pieces[i].node;
        piece_of_slice[parts[i].first] = i;
    }
    team->addition_count = slices_plan(leader->config.job->train.slices, node, parts,
                                       team->piece_count, team->additions);
    for (uint32_t i = 0; i < team->addition_count; i++) {
        struct slice_sum *addition = &team->additions[i];
        *addition = (struct slice_sum){.into = piece_of_slice[addition->into],
                                       .from = piece_of_slice[addition->from]};
    }
}

static void compute_all(struct compute_team *team, const struct compute *leader)
{
    for (uint32_t i = 1; i < team->count; i++) {
        struct compute *compute = team->members[i].compute;
        compute->values = leader->values;
        compute->step = leader->step;
        compute->version = leader->version;
    }
    thread_team_run(team->threads, compute_pieces, team);
}

/* A failed GPU comes before other errors, as nothing that it computed can be trusted; otherwise the
 * error of the first slices. */
static enum tn_status find_error(const struct compute_team *team, struct error *error)
{
    const struct error *found = NULL;
    for (uint32_t i = 0; i < team->count; i++) {
        const struct error *own = &team->members[i].error;
        if (own->status == TN_OK) { continue; }
        const bool is_first_failure =
            own->status == TN_EDEVICE && found != NULL && found->status != TN_EDEVICE;
        if (found == NULL || is_first_failure) { found = own; }
    }
    return found == NULL ? TN_OK : error_set(error, found->status, "%s", found->text);
}

/* A member's range of the sums on the host, and the number of its rows. */
static void add_range(void *context, uint32_t number)
{
    struct compute_team *team = context;
    const struct compute *leader = team->leader;
    const struct thread_share share =
        thread_team_share(team->count, number, leader->parameters, LINE);
    for (uint64_t at = share.first, size; at < share.end; at += size) {
        size = u64_min(share.end - at, TILE);
        for (uint32_t i = 0; i < team->addition_count; i++) {
            leader->config.kernels->add(size, team->pieces[team->additions[i].from].sum + at,
                                        team->pieces[team->additions[i].into].sum + at);
        }
    }
    if (leader->config.rows != NULL) { row_tree_count(&team->row_tree, number); }
}

static void add_range_of_rows(void *context, uint32_t number)
{
    const struct compute_team *team = context;
    row_tree_add(&team->row_tree, number);
}

/* Vectors, and rows of tables. */
static enum tn_status add_on_host(struct compute_team *team, struct error *error)
{
    const bool has_rows = team->leader->config.rows != NULL;
    team->row_tree.part_count = team->piece_count;
    thread_team_run(team->threads, add_range, team);
    if (!has_rows) { return TN_OK; }
    enum tn_status status = row_tree_reserve(&team->row_tree, error);
    if (status == TN_OK) { thread_team_run(team->threads, add_range_of_rows, team); }
    return status;
}

/* On GPUs each addition is queued behind the kernels of both. */
static enum tn_status add_pieces(struct compute_team *team, struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < team->addition_count && status == TN_OK; i++) {
        struct piece *into = &team->pieces[team->additions[i].into];
        const struct piece *from = &team->pieces[team->additions[i].from];
        struct device_sums *sums = team->members[into->member].sums;
        into->loss += from->loss;
        if (sums == NULL) { continue; }
        status = device_sums_add(sums, into->vector, team->members[from->member].sums, from->vector,
                                 error);
    }
    return team->members[0].sums == NULL ? add_on_host(team, error) : status;
}

/* A GPU that failed may have passed on a wrong sum: the sum is used if all of them have done their
 * work. They are waited for also after an error, as another one may read their memory. */
static enum tn_status fetch_sum(const struct compute_team *team, float *sum, enum tn_status status,
                                struct error *error)
{
    if (team->members[0].sums == NULL) { return status; }
    if (status == TN_OK) { status = device_sums_fetch(team->members[0].sums, 0, sum, error); }
    for (uint32_t i = 0; i < team->count; i++) {
        struct error *reason = status == TN_OK ? error : NULL;
        const enum tn_status waited = device_sums_wait(team->members[i].sums, reason);
        if (status == TN_OK) { status = waited; }
    }
    return status;
}

enum tn_status compute_team_sum(struct compute_team *team, struct compute *leader,
                                struct slice_node node, struct error *error)
{
    float *sum = leader->sum;
    const struct compute_watch *watch = leader->watch;
    deal_pieces(team, node);
    plan_additions(team, leader, node);
    enum tn_status status = find_memory(team, leader, error);
    if (status != TN_OK) { return status; }
    leader->watch = NULL;
    leader->losses_of_slices = team->losses;
    compute_all(team, leader);
    leader->losses_of_slices = NULL;
    leader->watch = watch;
    leader->sum = sum;
    status = find_error(team, error);
    if (status == TN_OK) { status = add_pieces(team, error); }
    status = fetch_sum(team, sum, status, error);
    if (status != TN_OK) { return status; }
    leader->losses[0] = team->pieces[0].loss;
    leader->final_from = 0;
    swap_rows(&leader->rows[0], &team->sum_of_rows);
    for (uint32_t v = node.first; v < node.first + node.count; v++) {
        recent_losses_add(&leader->recent, leader->step, team->losses[v].loss_sum,
                          team->losses[v].examples);
    }
    if (watch != NULL && isfinite(leader->losses[0])) {
        watch->became_final(watch->user, 0, leader->parameters);
    }
    return TN_OK;
}

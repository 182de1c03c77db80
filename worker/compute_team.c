#include "worker/compute_team.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "graph/device_sums.h"
#include "kernels/gpu/devices.h"

/* A number of members that is not a power of two gets this many subtrees each, so that the shares
 * differ less. */
enum { UNEVEN_PIECES = 4, PIECES_MAX = 32 };

/* Its sum is on the host, or in the memory of the GPU of its member. */
struct piece {
    struct slice_node node;
    uint32_t member, vector; /* The member that computes it, and the vector of its sums. */
    struct buffer *buffer;   /* NULL: the sum of the first piece is in that of the node. */
    float *sum;
    double loss;
};

struct team_member {
    struct compute_team *team;
    uint32_t number;
    struct compute own;       /* Unused by the first member. */
    struct compute *compute;  /* `own`, or the leader's. */
    struct device_sums *sums; /* NULL: sums are on the host. */
    pthread_t thread;
    bool has_thread;
    struct error error; /* Its first error in this node. */
};

struct compute_team {
    struct team_member members[JOB_GPUS_MAX];
    uint32_t count;
    uint32_t pieces_of_node; /* The largest number of pieces. */
    /* These belong to the node that is computed. */
    struct piece pieces[PIECES_MAX];
    uint32_t piece_count;
    struct compute_loss losses[SLICES_MAX];
    pthread_mutex_t mutex; /* Protects all below. */
    pthread_cond_t begun, done;
    uint64_t round;   /* The number of nodes so far. */
    uint32_t working; /* Members with a thread that compute. */
    bool stopping;
};

/* ------------------------------------------------------------ the choice of GPUs */

#define NUMBERED(name)                                                                             \
    {                                                                                              \
        name, name ":0", name ":1", name ":2", name ":3", name ":4", name ":5", name ":6",         \
            name ":7", name ":8", name ":9", name ":10", name ":11", name ":12", name ":13",       \
            name ":14", name ":15"                                                                 \
    }

enum { NAMES = 16 };

/* The kernels of a GPU by its number, behind those of the first one; NULL: others. */
static const char *const *find_names(const char *programs)
{
    static const char *const names[][1 + NAMES] = {
        NUMBERED("cuda"),
        NUMBERED("cublas"),
        NUMBERED("cublas-tf32"),
        NUMBERED("cublas-bf16"),
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i][0], programs) == 0) { return names[i] + 1; }
    }
    return NULL;
}

enum tn_status compute_team_programs(const struct compute_config *config, uint32_t member,
                                     const char **programs, struct error *error)
{
    const char *const *names = find_names(config->programs);
    uint32_t count = 0;
    *programs = config->programs;
    if (names == NULL) { return TN_OK; }
    /* An error is found again, and explained, when the first GPU is opened. */
    if (gpu_devices_count(&count, NULL) != TN_OK || count == 0) { return TN_OK; }
    if (config->gpus > count) {
        return error_set(error, TN_ENOENT,
                         "train.gpus is %" PRIu32 ", but the driver shows %" PRIu32
                         " GPU%s to this worker: give --set train.gpus=%" PRIu32
                         ", or let CUDA_VISIBLE_DEVICES list more",
                         config->gpus, count, count == 1 ? "" : "s", count);
    }
    count = u32_min(count, NAMES);
    *programs = names[(config->first_gpu + member) % count];
    return TN_OK;
}

/* ------------------------------------------------------------ members */

static void compute_pieces(struct team_member *member)
{
    struct compute_team *team = member->team;
    struct compute *compute = member->compute;
    enum tn_status status = TN_OK;
    compute->sums = member->sums;
    for (uint32_t i = 0; i < team->piece_count && status == TN_OK; i++) {
        struct piece *piece = &team->pieces[i];
        if (piece->member != member->number) { continue; }
        compute->vector = piece->vector;
        status = compute_part(compute, piece->node, piece->sum, &member->error);
        piece->loss = compute->losses[0];
    }
    compute->sums = NULL;
    member->error.status = status;
}

static void *serve(void *context)
{
    struct team_member *member = context;
    struct compute_team *team = member->team;
    uint64_t round = 0;
    (void)pthread_mutex_lock(&team->mutex);
    for (;;) {
        while (!team->stopping && team->round == round) {
            (void)pthread_cond_wait(&team->begun, &team->mutex);
        }
        if (team->stopping) { break; }
        round = team->round;
        (void)pthread_mutex_unlock(&team->mutex);
        compute_pieces(member);
        (void)pthread_mutex_lock(&team->mutex);
        if (--team->working == 0) { (void)pthread_cond_signal(&team->done); }
    }
    (void)pthread_mutex_unlock(&team->mutex);
    return NULL;
}

static enum tn_status open_member(struct compute_team *team, uint32_t number,
                                  const struct compute *leader, struct error *error)
{
    struct team_member *member = &team->members[number];
    struct compute_config config = leader->config;
    config.programs = leader->all_programs;
    config.test = NULL;
    config.details = NULL;
    config.member = number;
    enum tn_status status = compute_open(&member->own, &config, error);
    if (status != TN_OK) { return status; }
    member->own.losses_of_slices = team->losses;
    member->compute = &member->own;
    sigset_t all, before; /* Signals are for the process's other threads. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    member->has_thread = pthread_create(&member->thread, NULL, serve, member) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (member->has_thread) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "a thread for GPU %" PRIu32 " cannot be created", number);
}

static uint32_t choose_pieces(uint32_t members)
{
    const bool is_power = (members & (members - 1)) == 0;
    uint32_t pieces = 1;
    while (pieces < members * (is_power ? 1 : UNEVEN_PIECES)) { pieces *= 2; }
    return u32_min(pieces, PIECES_MAX);
}

/* The vectors of a GPU: its pieces, and the levels below the last one. */
static uint32_t count_vectors(uint32_t members, uint32_t slices)
{
    uint32_t depth = 0, cut = 0; /* The levels of the tree, and those above the pieces. */
    while ((1U << depth) < slices) { depth++; }
    while (cut < depth && (1U << cut) < choose_pieces(members)) { cut++; }
    return ((1U << cut) + members - 1) / members + depth - cut;
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
    const uint32_t vectors = count_vectors(team->count, leader->config.job->train.slices);
    struct error reason = {.status = TN_OK};
    enum tn_status status = TN_OK;
    if (leader->config.evaluates_only) { return TN_OK; }
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

enum tn_status compute_team_open(const struct compute *leader, struct compute_team **out,
                                 struct error *error)
{
    const uint32_t count = leader->config.gpus;
    assert(count >= 2 && count <= JOB_GPUS_MAX);
    struct compute_team *team = calloc(1, sizeof *team);
    *out = NULL;
    if (team == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    team->count = count;
    team->pieces_of_node = choose_pieces(count);
    (void)pthread_mutex_init(&team->mutex, NULL);
    (void)pthread_cond_init(&team->begun, NULL);
    (void)pthread_cond_init(&team->done, NULL);
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < count; i++) {
        team->members[i] = (struct team_member){.team = team, .number = i};
    }
    for (uint32_t i = 1; i < count && status == TN_OK; i++) {
        status = open_member(team, i, leader, error);
        if (status != TN_OK) {
            status = error_context(error, "GPU %" PRIu32 " of %u", i + 1, count);
        }
    }
    if (status == TN_OK) { status = open_sums(team, leader, error); }
    if (status == TN_OK) {
        *out = team;
    } else {
        compute_team_close(team);
    }
    return status;
}

void compute_team_close(struct compute_team *team)
{
    if (team == NULL) { return; }
    (void)pthread_mutex_lock(&team->mutex);
    team->stopping = true;
    (void)pthread_cond_broadcast(&team->begun);
    (void)pthread_mutex_unlock(&team->mutex);
    for (uint32_t i = 1; i < team->count; i++) {
        if (team->members[i].has_thread) { (void)pthread_join(team->members[i].thread, NULL); }
    }
    close_sums(team);
    for (uint32_t i = 1; i < team->count; i++) { compute_close(&team->members[i].own); }
    for (uint32_t i = 0; i < PIECES_MAX; i++) { buffer_release(team->pieces[i].buffer); }
    (void)pthread_cond_destroy(&team->done);
    (void)pthread_cond_destroy(&team->begun);
    (void)pthread_mutex_destroy(&team->mutex);
    free(team);
}

/* ------------------------------------------------------------ sums */

static void list_pieces(struct compute_team *team, struct slice_node node, uint32_t most)
{
    if (most == 1 || node.count == 1) {
        assert(team->piece_count < PIECES_MAX);
        team->pieces[team->piece_count++].node = node;
        return;
    }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    list_pieces(team, left, most / 2);
    list_pieces(team, right, most / 2);
}

/* Pieces are dealt as evenly as their number allows, neighbours to the same member. */
static void deal_pieces(struct compute_team *team)
{
    uint32_t vector = 0;
    for (uint32_t i = 0; i < team->piece_count; i++) {
        struct piece *piece = &team->pieces[i];
        piece->member = i * team->count / team->piece_count;
        vector = i > 0 && piece->member == piece[-1].member ? vector + 1 : 0;
        piece->vector = vector;
        piece->sum = NULL;
    }
}

static enum tn_status find_memory(struct compute_team *team, const struct compute *leader,
                                  struct error *error)
{
    const size_t bytes = leader->parameters * sizeof(float);
    if (team->members[0].sums != NULL) { return TN_OK; }
    team->pieces[0].sum = leader->sum;
    for (uint32_t i = 1; i < team->piece_count; i++) {
        struct piece *piece = &team->pieces[i];
        if (piece->buffer == NULL) { piece->buffer = buffer_acquire(leader->config.pool, bytes); }
        if (piece->buffer == NULL) {
            return error_set(error, TN_ENOMEM,
                             "out of memory for the gradients of %" PRIu64
                             " parameters for %" PRIu32 " GPUs",
                             leader->parameters, team->count);
        }
        piece->sum = piece->buffer->data;
    }
    return TN_OK;
}

static void compute_all(struct compute_team *team, struct compute *leader)
{
    for (uint32_t i = 1; i < team->count; i++) {
        struct compute *compute = team->members[i].compute;
        compute->values = leader->values;
        compute->step = leader->step;
        compute->version = leader->version;
    }
    (void)pthread_mutex_lock(&team->mutex);
    team->round++;
    team->working = team->count - 1;
    (void)pthread_cond_broadcast(&team->begun);
    (void)pthread_mutex_unlock(&team->mutex);
    team->members[0].compute = leader;
    compute_pieces(&team->members[0]);
    (void)pthread_mutex_lock(&team->mutex);
    while (team->working > 0) { (void)pthread_cond_wait(&team->done, &team->mutex); }
    (void)pthread_mutex_unlock(&team->mutex);
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

/* On a GPU the addition is queued behind the kernels of both. */
static enum tn_status add_piece(const struct compute_team *team, const struct compute *leader,
                                struct piece *into, const struct piece *from, struct error *error)
{
    struct device_sums *sums = team->members[into->member].sums;
    into->loss += from->loss;
    if (sums != NULL) {
        return device_sums_add(sums, into->vector, team->members[from->member].sums, from->vector,
                               error);
    }
    leader->config.kernels->add(leader->parameters, from->sum, into->sum);
    return TN_OK;
}

/* The first piece of a node, which becomes the sum of the node. */
static struct piece *first_piece(struct compute_team *team, struct slice_node node)
{
    uint32_t i = 0;
    while (team->pieces[i].node.first != node.first) { i++; }
    assert(i < team->piece_count);
    return &team->pieces[i];
}

static enum tn_status add_pieces(struct compute_team *team, const struct compute *leader,
                                 struct slice_node node, uint32_t most, struct error *error)
{
    if (most == 1 || node.count == 1) { return TN_OK; }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    enum tn_status status = add_pieces(team, leader, left, most / 2, error);
    if (status == TN_OK) { status = add_pieces(team, leader, right, most / 2, error); }
    if (status != TN_OK) { return status; }
    return add_piece(team, leader, first_piece(team, node), first_piece(team, right), error);
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
    team->piece_count = 0;
    list_pieces(team, node, team->pieces_of_node);
    deal_pieces(team);
    enum tn_status status = find_memory(team, leader, error);
    if (status != TN_OK) { return status; }
    leader->watch = NULL;
    leader->losses_of_slices = team->losses;
    compute_all(team, leader);
    leader->losses_of_slices = NULL;
    leader->watch = watch;
    leader->sum = sum;
    status = find_error(team, error);
    if (status == TN_OK) { status = add_pieces(team, leader, node, team->pieces_of_node, error); }
    status = fetch_sum(team, sum, status, error);
    if (status != TN_OK) { return status; }
    leader->losses[0] = team->pieces[0].loss;
    leader->final_from = 0;
    for (uint32_t v = node.first; v < node.first + node.count; v++) {
        recent_losses_add(&leader->recent, leader->step, team->losses[v].loss_sum,
                          team->losses[v].examples);
    }
    if (watch != NULL && isfinite(leader->losses[0])) {
        watch->became_final(watch->user, 0, leader->parameters);
    }
    return TN_OK;
}

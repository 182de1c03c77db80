/* session/client_run.c: tn_session_run(): choose a plan, bring it to the servers, and wait. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "graph/core/build.h"
#include "session/client.h"

/* ------------------------------------------------------------------------------ waiting */

static bool is_ready(const struct tn_session *session, uint32_t server)
{
    const uint32_t place = (uint32_t)(session->plan - session->plans);
    return (session->members[server].ready >> place & 1) != 0;
}

static bool is_done(const struct tn_session *session, uint32_t server)
{
    return session->members[server].done;
}

static bool is_connected(const struct tn_session *session, uint32_t server)
{
    return session->members[server].conn.v != 0;
}

typedef bool (*member_predicate)(const struct tn_session *session, uint32_t server);

static bool all(const struct tn_session *session, member_predicate predicate)
{
    for (uint32_t i = 0; i < session->member_count; i++) {
        if (session_takes_part(session, i) && !predicate(session, i)) { return false; }
    }
    return true;
}

static enum tn_status time_is_over(const struct tn_session *session, member_predicate predicate,
                                   struct error *error)
{
    char text[ERROR_TEXT_MAX / 2] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < session->member_count && length < sizeof text; i++) {
        char name[SERVER_NAME_MAX];
        if (!session_takes_part(session, i) || predicate(session, i)) { continue; }
        const int more = snprintf(text + length, sizeof text - length, "%s%s",
                                  length > 0 ? ", " : "", session_server_name(session, i, name));
        length += more > 0 ? (size_t)more : 0;
    }
    return error_set(error, TN_ETIMEDOUT,
                     "run %" PRIu64 ": no answer within %" PRIu64
                     " ms from %s: raise timeout_ms, or look at the server's log",
                     session->run, session->timeout_ms, text);
}

static enum tn_status wait_for(struct tn_session *session, member_predicate predicate,
                               uint64_t deadline_ms, struct error *error)
{
    while (session->failure.status == TN_OK && !all(session, predicate)) {
        if (!session_handle_event(session, deadline_ms)) {
            return time_is_over(session, predicate, error);
        }
    }
    if (session->failure.status == TN_OK) { return TN_OK; }
    *error = session->failure;
    return error->status;
}

/* -------------------------------------------------------------------------------- runs */

/* A free place, or that of the plan which was used least recently. */
static uint32_t free_place(struct tn_session *session)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < SESSION_PLANS_MAX; i++) {
        const struct client_plan *plan = &session->plans[i], *best = &session->plans[place];
        const bool is_better = plan->number == 0 || plan->used < best->used;
        if (best->number != 0 && is_better) { place = i; }
    }
    if (session->plans[place].number != 0) { session_drop_plan(session, place); }
    return place;
}

/* Plans differ in their results and in the number of examples. */
static struct client_plan *find_plan(struct tn_session *session, const struct client_plan *like)
{
    for (uint32_t i = 0; i < SESSION_PLANS_MAX; i++) {
        struct client_plan *plan = &session->plans[i];
        if (plan->number != 0 && plan->examples == like->examples &&
            client_plan_computes(plan, like->results, like->result_count)) {
            return plan;
        }
    }
    return NULL;
}

static enum tn_status choose_plan(struct tn_session *session, const tn_tensor *results,
                                  uint32_t count, const struct tn_feed *feeds, uint32_t feed_count,
                                  struct client_plan **out, struct error *error)
{
    struct client_plan plan;
    enum tn_status status = client_plan_create(&session->placed, results, count, &plan, error);
    if (status == TN_OK) {
        status = client_plan_check_feeds(&plan, &session->placed, feeds, feed_count, &plan.examples,
                                         error);
    }
    *out = status == TN_OK ? find_plan(session, &plan) : NULL;
    if (status != TN_OK || *out != NULL) {
        client_plan_free(&plan);
        return status;
    }
    *out = &session->plans[free_place(session)];
    plan.number = ++session->plan_numbers;
    **out = plan;
    return TN_OK;
}

static enum tn_status find_results(const struct tn_session *session, const struct tn_fetch *fetches,
                                   uint32_t count, tn_tensor *results, struct error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        results[i] = placed_graph_find(&session->placed, fetches[i].name);
        if (results[i].v != 0) { continue; }
        return error_set(error, TN_EINVAL,
                         "fetch '%s' is not an output or metric of the graph: call tn_output()",
                         fetches[i].name);
    }
    return TN_OK;
}

static void take_results(const struct tn_session *session, struct tn_fetch *fetches, uint32_t count)
{
    const struct client_plan *plan = session->plan;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = client_plan_result_edge(plan, i);
        const struct partition_edge *edge = &plan->partition.edges[number];
        assert(plan->arrived[number] != NULL); /* Each server sends its results before DONE. */
        fetches[i].value = (struct tn_view){
            .type = edge->type,
            .shape = shape_with_batch(edge->shape, plan->examples),
            .data = plan->arrived[number]->data,
        };
    }
}

static enum tn_status attempt(struct tn_session *session, const struct tn_feed *feeds,
                              uint64_t deadline_ms, struct error *error)
{
    session->run++;
    session->failure = (struct error){.status = TN_OK};
    enum tn_status status = session_prepare(session, error);
    if (status == TN_OK) { status = wait_for(session, is_ready, deadline_ms, error); }
    if (status == TN_OK) { status = session_begin_run(session, feeds, error); }
    if (status == TN_OK) { status = wait_for(session, is_done, deadline_ms, error); }
    return status;
}

static enum tn_status run(struct tn_session *session, const struct tn_feed *feeds,
                          uint32_t feed_count, struct tn_fetch *fetches, uint32_t fetch_count,
                          struct error *error)
{
    struct client_plan *plan;
    tn_tensor results[GRAPH_MARKS_MAX];
    const uint64_t now_ms = clock_monotonic_ms();
    const uint64_t deadline_ms = now_ms + u64_min(session->timeout_ms, UINT64_MAX - now_ms);
    if (fetch_count == 0 || fetch_count > GRAPH_MARKS_MAX) {
        return error_set(error, TN_EINVAL, "%" PRIu32 " fetches: give from 1 to %d", fetch_count,
                         GRAPH_MARKS_MAX);
    }
    while (session_handle_event(session, 0)) {
    } /* Connections that have closed since the last run. */
    for (uint32_t i = 0; i < SESSION_PLANS_MAX; i++) {
        client_plan_forget_results(&session->plans[i]);
    }
    enum tn_status status = find_results(session, fetches, fetch_count, results, error);
    if (status == TN_OK) {
        status = choose_plan(session, results, fetch_count, feeds, feed_count, &plan, error);
    }
    if (status != TN_OK) { return status; }
    session->plan = plan;
    status = attempt(session, feeds, deadline_ms, error);
    /* A server had an old connection to another one, which both of us reach: it dials again. */
    if (status == TN_ECLOSED && all(session, is_connected)) {
        status = attempt(session, feeds, deadline_ms, error);
    }
    plan->used = session->run;
    if (status == TN_OK) { take_results(session, fetches, fetch_count); }
    session->plan = NULL;
    return status;
}

enum tn_status tn_session_run(struct tn_session *session, const struct tn_feed *feeds,
                              uint32_t feed_count, struct tn_fetch *fetches, uint32_t fetch_count,
                              struct tn_error *error)
{
    struct error text = {.status = TN_OK};
    assert(session != NULL && (feeds != NULL || feed_count == 0) && fetches != NULL);
    const enum tn_status status = run(session, feeds, feed_count, fetches, fetch_count, &text);
    return status == TN_OK ? TN_OK : error_export(&text, error);
}

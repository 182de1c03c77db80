#include "agent/job_change.h"

#include <assert.h>
#include <stdio.h>

#include "common/base/log.h"

void job_change_start(struct job_change *change, const char *cluster, uint64_t agent,
                      uint64_t next_op, const struct zk_port *zk, uint64_t now_ms)
{
    char path[ZK_PATH_MAX];
    assert(agent != 0);
    *change = (struct job_change){.agent = agent, .next_op = next_op};
    change_request_path(path, cluster);
    znode_watch_start(&change->watch, WATCH_DATA, path, zk, &change->next_op, now_ms);
}

void job_change_restart(struct job_change *change, const struct zk_port *zk, uint64_t now_ms)
{
    char path[ZK_PATH_MAX];
    assert(change->agent != 0);
    (void)snprintf(path, sizeof path, "%s", change->watch.path);
    znode_watch_start(&change->watch, WATCH_DATA, path, zk, &change->next_op, now_ms);
}

static void write_request(struct job_change *change, const struct change_request *request,
                          int32_t version, const struct zk_port *zk)
{
    char text[ZNODE_JSON_MAX];
    const struct zk_write write = {.kind = ZK_SET,
                                   .path = change->watch.path,
                                   .data = text,
                                   .size = change_request_encode(request, text),
                                   .version = version};
    change->write_op = ++change->next_op;
    zk->write(zk->ctx, change->write_op, &write, 1);
}

/* A write that is lost or refused is repeated when the znode is read again: read_after_write(). */
static void publish(struct job_change *change, enum change_state state, const char *text,
                    const struct zk_port *zk)
{
    change->request.state = state;
    change->request.agent = change->agent;
    (void)snprintf(change->request.text, sizeof change->request.text, "%s", text);
    write_request(change, &change->request, change->version, zk);
}

static void refuse_other(struct job_change *change, struct change_request *other, int32_t version,
                         const char *text, const struct zk_port *zk)
{
    assert(other->state < CHANGE_DONE);
    other->state = CHANGE_REFUSED;
    (void)snprintf(other->text, sizeof other->text, "%s", text);
    write_request(change, other, version, zk);
}

/* The znode that this agent has answered was read again. */
static enum job_change_order read_again(struct job_change *change,
                                        const struct change_request *found,
                                        const struct zk_port *zk)
{
    const bool agrees =
        found->state == change->request.state && found->agent == change->request.agent;
    if (!agrees) {
        write_request(change, &change->request, change->version, zk);
        return JOB_CHANGE_NOTHING;
    }
    if (change->stage != JOB_CHANGE_ANSWERING) { return JOB_CHANGE_NOTHING; }
    change->stage = JOB_CHANGE_STOPPING;
    return JOB_CHANGE_BEGIN;
}

static enum job_change_order read_new(struct job_change *change, struct change_request *found,
                                      const struct zk_event *event, const struct zk_port *zk)
{
    char text[CHANGE_TEXT_MAX];
    if (found->state >= CHANGE_DONE) { return JOB_CHANGE_NOTHING; }
    if (found->state != CHANGE_WANTED) {
        refuse_other(change, found, event->stat.version,
                     "the agent that had accepted the request ended before it reported", zk);
        return JOB_CHANGE_NOTHING;
    }
    if (change->stage > JOB_CHANGE_ANSWERING) {
        (void)snprintf(text, sizeof text, "another change is being made (%.200s): wait for it",
                       change->request.text);
        refuse_other(change, found, event->stat.version, text, zk);
        return JOB_CHANGE_NOTHING;
    }
    change->stage = JOB_CHANGE_IDLE;
    change->created_zxid = event->stat.created_zxid;
    change->version = event->stat.version;
    change->request = *found;
    return JOB_CHANGE_CHECK;
}

/* Nothing changes the znode, and so fires the watch, when a write failed. */
static void read_after_write(struct job_change *change, const struct zk_event *event,
                             const struct zk_port *zk)
{
    if (event->type != ZK_RESULT || event->op != change->write_op) { return; }
    if (event->outcome != ZK_OK) { znode_watch_refresh(&change->watch, zk, &change->next_op); }
}

enum job_change_order job_change_handle(struct job_change *change, const struct zk_event *event,
                                        const struct zk_port *zk, uint64_t now_ms)
{
    struct change_request found;
    struct error error;
    read_after_write(change, event, zk);
    switch (znode_watch_handle(&change->watch, event, zk, &change->next_op, now_ms)) {
    case WATCH_NOTHING: return JOB_CHANGE_NOTHING;
    case WATCH_ABSENT:
        /* Withdrawn before it was accepted. */
        if (change->stage == JOB_CHANGE_ANSWERING) { change->stage = JOB_CHANGE_IDLE; }
        return JOB_CHANGE_NOTHING;
    case WATCH_PRESENT: break;
    }
    if (change_request_decode(event->data, event->size, &found, &error) != TN_OK) {
        log_warn("request to change the job ignored: %s", error.text);
        return JOB_CHANGE_NOTHING;
    }
    if (change->created_zxid != 0 && event->stat.created_zxid == change->created_zxid) {
        change->version = event->stat.version;
        return read_again(change, &found, zk);
    }
    return read_new(change, &found, event, zk);
}

void job_change_accept(struct job_change *change, const char *text, const struct zk_port *zk)
{
    assert(change->stage == JOB_CHANGE_IDLE);
    change->stage = JOB_CHANGE_ANSWERING;
    publish(change, CHANGE_ACCEPTED, text, zk);
}

void job_change_refuse(struct job_change *change, enum tn_status reason, const char *text,
                       const struct zk_port *zk)
{
    assert(reason != TN_OK);
    change->request.invalid = reason == TN_EINVAL;
    change->stage = JOB_CHANGE_IDLE;
    publish(change, CHANGE_REFUSED, text, zk);
}

void job_change_stopped(struct job_change *change, uint64_t now_ms, uint32_t session_timeout_ms)
{
    assert(change->stage == JOB_CHANGE_STOPPING);
    change->stage = JOB_CHANGE_APPLYING;
    change->retry_at_ms = now_ms;
    change->give_up_ms = now_ms + session_timeout_ms + JOB_CHANGE_MARGIN_MS;
    change->delay_reported = false;
}

void job_change_applied(struct job_change *change, uint64_t generation, const struct zk_port *zk)
{
    char text[CHANGE_TEXT_MAX];
    assert(change->stage == JOB_CHANGE_APPLYING);
    change->stage = JOB_CHANGE_STARTING;
    change->generation = generation;
    (void)snprintf(text, sizeof text, "%s", change->request.text);
    publish(change, CHANGE_APPLIED, text, zk);
}

bool job_change_note(struct job_change *change, const struct history_entry *entry,
                     const struct zk_port *zk)
{
    char text[CHANGE_TEXT_MAX];
    if (change->stage != JOB_CHANGE_STARTING || entry->kind != HISTORY_RECOVERED) { return false; }
    if (entry->generation <= change->generation) { return false; }
    change->stage = JOB_CHANGE_IDLE;
    change->request.step = entry->step;
    change->request.paused_ms = entry->took_ms;
    change->request.steps_redone = entry->steps_redone;
    (void)snprintf(text, sizeof text, "%s", change->request.text);
    publish(change, CHANGE_DONE, text, zk);
    return true;
}

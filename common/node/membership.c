#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/text.h"
#include "common/faults/failpoint.h"
#include "common/node/membership_private.h"
#include "tanist/status.h"

void membership_set_why(struct membership *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(m->why, sizeof m->why, format, arguments);
    va_end(arguments);
}

void membership_init(struct membership *m, const struct node_identity *identity,
                     const struct node_ports *ports)
{
    assert(ports != NULL && identity->incarnation != 0);
    *m = (struct membership){.identity = *identity, .ports = ports};
    m->redial_delay_ms = CHIEF_REDIAL_MS;
    m->next_log_ms = UINT64_MAX;
    membership_set_why(m, "a connection to ZooKeeper");
}

uint64_t membership_next_op(struct membership *m)
{
    assert(m->next_op < UINT64_MAX);
    return ++m->next_op;
}

unsigned membership_end(struct membership *m, int exit_code)
{
    assert(exit_code != 0 && m->exit_code == 0);
    m->exit_code = exit_code;
    log_error("leaving: %s", m->why);
    return MEMBERSHIP_ENDED;
}

/* -------------------------------------------------------- /chief and /run */

/* Only after the registration: a server that lags behind may return an old /run, with an order to
 * load a generation that the others have trained long ago. A server that returns our registration
 * returns nothing older than that. */
void membership_follow_run(struct membership *m)
{
    char path[ZK_PATH_MAX];
    znode_path(path, m->identity.cluster, "run");
    znode_watch_start(&m->run_watch, WATCH_DATA, path, &m->ports->zk, &m->next_op, m->now_ms);
}

static void update_context(const struct membership *m)
{
    uint64_t epoch = u64_max(m->chief.epoch, m->run.epoch);
    log_set_context(epoch, m->run.generation);
}

static void close_link(struct membership *m)
{
    conn_id link = m->link;
    m->link = (conn_id){0};
    m->link_open = false;
    m->sent = 0;
    if (link.v != 0) { m->ports->transport.close(m->ports->transport.ctx, link); }
}

static unsigned chief_read(struct membership *m, const struct zk_event *event)
{
    assert(event->outcome == ZK_OK);
    struct chief_record record;
    struct error error;
    if (event->size == 0) { return MEMBERSHIP_CHIEF_LOST; /* Or there was no chief yet. */ }
    if (chief_record_decode(event->data, event->size, &record, &error) != TN_OK) {
        log_warn("%s; ignored", error.text);
        return MEMBERSHIP_CHIEF_LOST;
    }
    bool other = !m->has_chief || record.incarnation != m->chief.incarnation;
    if (!other && record.epoch == m->chief.epoch) { return 0; }
    m->chief = record;
    m->has_chief = true;
    update_context(m);
    if (other) {
        char name[TASK_NAME_MAX];
        task_format(record.task, ':', name, sizeof name);
        log_info("chief is %s at %s, epoch %" PRIu64 " (%s)", name, record.address, record.epoch,
                 record.cause);
        close_link(m);
        m->acknowledged = 0;
        m->redial_at_ms = m->now_ms;
        m->redial_delay_ms = CHIEF_REDIAL_MS;
    }
    return MEMBERSHIP_CHIEF;
}

static unsigned run_read(struct membership *m, const struct zk_event *event)
{
    assert(event->outcome == ZK_OK);
    struct run run;
    struct error error;
    bool same = event->stat.modified_zxid == m->run_zxid && event->stat.version == m->run_version;
    if (m->has_run && same) { return 0; }
    if (run_decode(event->data, event->size, &run, &error) != TN_OK) {
        log_warn("%s; ignored", error.text);
        return MEMBERSHIP_RUN_LOST;
    }
    if (!m->has_run || run.phase != m->run.phase || run.generation != m->run.generation) {
        log_info("run is %s, generation %" PRIu64 "%s%s", run_phase_name(run.phase), run.generation,
                 run.reason[0] != '\0' ? ": " : "", run.reason);
    }
    m->run = run;
    m->run_version = event->stat.version;
    m->run_zxid = event->stat.modified_zxid;
    m->has_run = true;
    update_context(m);
    if (run.phase == RUN_FORMING || run.phase == RUN_PAUSED) { FAILPOINT("node.idle"); }
    return MEMBERSHIP_RUN;
}

static unsigned watches_handle(struct membership *m, const struct zk_event *event)
{
    const struct zk_port *zk = &m->ports->zk;
    unsigned changes = 0;
    switch (znode_watch_handle(&m->self_watch, event, zk, &m->next_op, m->now_ms)) {
    case WATCH_NOTHING: break;
    case WATCH_PRESENT: changes |= register_read(m, event); break;
    case WATCH_ABSENT: changes |= register_absent(m); break;
    }
    switch (znode_watch_handle(&m->chief_watch, event, zk, &m->next_op, m->now_ms)) {
    case WATCH_NOTHING: break;
    case WATCH_PRESENT: changes |= chief_read(m, event); break;
    case WATCH_ABSENT: changes |= MEMBERSHIP_CHIEF_LOST; break;
    }
    switch (znode_watch_handle(&m->run_watch, event, zk, &m->next_op, m->now_ms)) {
    case WATCH_NOTHING: break;
    case WATCH_PRESENT: changes |= run_read(m, event); break;
    case WATCH_ABSENT: changes |= MEMBERSHIP_RUN_LOST; break;
    }
    return changes;
}

static void watches_start(struct membership *m)
{
    assert(m->session != 0);
    const struct zk_port *zk = &m->ports->zk;
    char path[ZK_PATH_MAX];
    znode_member_path(path, m->identity.cluster, m->identity.task);
    znode_watch_start(&m->self_watch, WATCH_DATA, path, zk, &m->next_op, m->now_ms);
    znode_path(path, m->identity.cluster, "chief");
    znode_watch_start(&m->chief_watch, WATCH_DATA, path, zk, &m->next_op, m->now_ms);
}

static unsigned zk_handle(struct membership *m, const struct zk_event *event)
{
    if (event->type == ZK_EXPIRED) {
        membership_set_why(m, "ZooKeeper ended our session");
        return membership_end(m, TN_EXIT_SESSION_EXPIRED);
    }
    if (event->type == ZK_DISCONNECTED) { m->zk_connected = false; }
    if (event->type == ZK_CONNECTED) {
        m->zk_connected = true;
        /* During an outage a leftover cannot time out: its grace period starts again. */
        if (m->taken_since_ms != 0) { m->taken_since_ms = m->now_ms; }
        m->taken_rechecked = false;
        if (m->session == 0) {
            m->session = event->session;
            watches_start(m);
            return 0;
        }
        m->session = event->session;
    }
    if (event->type == ZK_RESULT && m->register_op != 0 && event->op == m->register_op) {
        register_answered(m, event);
        return 0;
    }
    return watches_handle(m, event);
}

/* ----------------------------------------------------------------- reports */

/* The chief does not have our task: it was declared with fewer of the role. */
static unsigned end_undeclared(struct membership *m, const struct frame_header *header)
{
    char name[TASK_NAME_MAX];
    task_format(m->identity.task, ':', name, sizeof name);
    membership_set_why(
        m,
        "the chief's job has %" PRIu32
        " tasks of this role, so %s is not part of the cluster: give every host the same job "
        "file and host lists",
        header->count, name);
    return membership_end(m, TN_EXIT_INVALID_INPUT);
}

static unsigned transport_handle(struct membership *m, const struct transport_event *event)
{
    assert(event != NULL);
    if (m->link.v == 0 || event->conn.v != m->link.v) { return 0; }
    switch (event->type) {
    case TRANSPORT_OPENED:
        m->link_open = true;
        m->sent = 0;
        break;
    case TRANSPORT_FRAME:
        if (event->header.type != FRAME_REPORT_ACK) { break; }
        if (event->header.first == REPORT_ACK_UNDECLARED) {
            return end_undeclared(m, &event->header);
        }
        if (event->header.sequence > m->report.sequence) {
            break; /* This node has not sent that report. */
        }
        m->acknowledged = u64_max(m->acknowledged, event->header.sequence);
        m->redial_delay_ms = CHIEF_REDIAL_MS;
        if (event->header.epoch > m->chief.epoch) {
            znode_watch_refresh(&m->chief_watch, &m->ports->zk, &m->next_op);
        }
        break;
    case TRANSPORT_CLOSED:
        m->link = (conn_id){0};
        m->link_open = false;
        m->redial_at_ms = m->now_ms + m->redial_delay_ms;
        m->redial_delay_ms = u32_min(2 * m->redial_delay_ms, CHIEF_REDIAL_MAX_MS);
        break;
    }
    return 0;
}

/* A node needs the link once it has a report; the chief does not report to itself. */
static bool wants_link(const struct membership *m)
{
    return m->report.sequence != 0 && m->has_chief &&
           m->chief.incarnation != m->identity.incarnation;
}

static uint64_t report_due_ms(const struct membership *m)
{
    assert(m->sent <= m->report.sequence);
    if (!m->link_open) { return UINT64_MAX; }
    if (m->sent == 0) { return 0; }
    if (m->sent != m->report.sequence) { return m->urgent ? 0 : m->sent_at_ms + REPORT_STEP_MS; }
    if (m->acknowledged < m->sent) { return m->sent_at_ms + REPORT_RESEND_MS; }
    return m->sent_at_ms + REPORT_REFRESH_MS;
}

static void send_report(struct membership *m)
{
    assert(m->link_open && m->report.sequence >= m->sent);
    m->sent_at_ms = m->now_ms;
    m->sent = m->report.sequence;
    m->urgent = false;
    struct buffer *body = buffer_acquire(m->ports->buffers, REPORT_BYTES);
    if (body == NULL) { return; /* Out of memory: the next resend repeats it. */ }
    report_encode(&m->report, body->data);
    body->size = REPORT_BYTES;
    const struct frame_header header = {
        .type = FRAME_REPORT,
        .epoch = m->report.epoch,
        .generation = m->report.generation,
        .step = m->report.step,
        .sequence = m->report.sequence,
    };
    m->ports->transport.send(m->ports->transport.ctx, m->link, &header, body);
}

static void drive_link(struct membership *m)
{
    assert(m->ports != NULL);
    if (wants_link(m) && m->link.v == 0 && m->now_ms >= m->redial_at_ms) {
        m->link = m->ports->transport.dial(m->ports->transport.ctx, m->chief.address);
    }
    if (m->now_ms >= report_due_ms(m)) { send_report(m); }
}

void membership_report(struct membership *m, struct report *report)
{
    assert(report != NULL);
    report->task = m->identity.task;
    report->incarnation = m->identity.incarnation;
    report->sequence = m->report.sequence;
    report->epoch = u64_max(m->chief.epoch, m->run.epoch);
    bool same = m->report.sequence != 0 && report_equal_but_step(&m->report, report);
    if (same && m->report.step == report->step) { return; }
    bool last = m->has_run && report->step >= m->run.until && m->report.step < m->run.until;
    m->urgent = m->urgent || !same || last;
    report->sequence++;
    if (same) { /* As with each step of a worker: nothing else is copied. */
        m->report.step = report->step;
        m->report.sequence = report->sequence;
    } else {
        m->report = *report;
    }
    if (m->exit_code == 0) { drive_link(m); }
}

/* ----------------------------------------------------------------- waiting */

/* The task or znode that the node waits for; NULL: it does not wait. */
static const char *waits_for(const struct membership *m)
{
    if (m->session == 0 || !m->zk_connected) { return "a connection to ZooKeeper"; }
    if (!m->registered) { return m->why[0] != '\0' ? m->why : "our registration"; }
    if (!m->has_chief) { return "a chief to be elected"; }
    if (!m->has_run) { return "the chief to write /run"; }
    switch (m->run.phase) {
    case RUN_FORMING:
    case RUN_PAUSED: return m->run.reason[0] != '\0' ? m->run.reason : "the chief's next order";
    case RUN_LOADING: return "every ps to load its parameters";
    case RUN_STOPPING: return "the last checkpoint and evaluation";
    default: return NULL;
    }
}

static void log_waiting(struct membership *m)
{
    const char *what = waits_for(m);
    if (what == NULL) {
        m->next_log_ms = UINT64_MAX;
    } else if (m->next_log_ms == UINT64_MAX) {
        m->waiting_since_ms = m->now_ms;
        m->next_log_ms = m->now_ms + WAIT_LOG_MS;
    } else if (m->now_ms >= m->next_log_ms) {
        log_info("waiting for %" PRIu64 " s: %s", (m->now_ms - m->waiting_since_ms) / 1000, what);
        m->next_log_ms = m->now_ms + WAIT_LOG_MS;
    }
}

void membership_set_problem(struct membership *m, const char *text)
{
    assert(text != NULL);
    if (text_equal(m->problem, text)) { return; }
    text_set(m->problem, sizeof m->problem, text);
    m->problem_log_ms = m->now_ms;
    if (text[0] == '\0') { log_info("the problem is solved"); }
    if (m->registered) { register_rewrite(m); }
}

static void log_problem(struct membership *m)
{
    if (m->problem[0] == '\0' || m->now_ms < m->problem_log_ms) { return; }
    log_error("%s", m->problem);
    m->problem_log_ms = m->now_ms + WAIT_LOG_MS;
}

/* ---------------------------------------------------------------- reactor */

static void run_timers(struct membership *m)
{
    const struct zk_port *zk = &m->ports->zk;
    znode_watch_tick(&m->self_watch, zk, &m->next_op, m->now_ms);
    znode_watch_tick(&m->chief_watch, zk, &m->next_op, m->now_ms);
    znode_watch_tick(&m->run_watch, zk, &m->next_op, m->now_ms);
    register_retry(m);
    drive_link(m);
    log_waiting(m);
    log_problem(m);
}

unsigned membership_handle(struct membership *m, const struct node_event *event)
{
    unsigned changes = 0;
    assert(event != NULL);
    if (m->exit_code != 0) { return 0; }
    assert(event->now_ms >= m->now_ms);
    m->now_ms = event->now_ms;
    m->wall_ms = event->wall_ms;
    if (event->type == NODE_ZK) { changes |= zk_handle(m, event->zk); }
    if (event->type == NODE_TRANSPORT) { changes |= transport_handle(m, event->transport); }
    if (m->exit_code != 0) { return changes; }
    register_check_taken(m);
    run_timers(m);
    return changes;
}

uint64_t membership_deadline_ms(const struct membership *m)
{
    if (m->exit_code != 0) { return UINT64_MAX; }
    uint64_t first = m->next_log_ms;
    if (m->problem[0] != '\0') { first = u64_min(first, m->problem_log_ms); }
    first = u64_min(first, znode_watch_deadline_ms(&m->self_watch));
    first = u64_min(first, znode_watch_deadline_ms(&m->chief_watch));
    first = u64_min(first, znode_watch_deadline_ms(&m->run_watch));
    first = u64_min(first, report_due_ms(m));
    if (wants_link(m) && m->link.v == 0) { first = u64_min(first, m->redial_at_ms); }
    if (m->register_op == 0 && m->register_retry_ms != 0) {
        first = u64_min(first, m->register_retry_ms);
    }
    if (m->taken_since_ms != 0 && !m->taken_rechecked && !m->registered && m->zk_connected) {
        first =
            u64_min(first, m->taken_since_ms + m->identity.session_timeout_ms + REGISTER_GRACE_MS);
    }
    return first;
}

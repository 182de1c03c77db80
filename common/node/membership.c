#include "common/node/membership.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/faults/failpoint.h"
#include "tanist/status.h"

__attribute__((format(printf, 2, 3))) static void say_why(struct membership *m, const char *format,
                                                          ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(m->why, sizeof m->why, format, arguments);
    va_end(arguments);
}

void membership_init(struct membership *m, const struct node_identity *identity,
                     const struct node_ports *ports)
{
    *m = (struct membership){.identity = *identity, .ports = ports};
    m->redial_delay_ms = CHIEF_REDIAL_MS;
    m->say_at_ms = UINT64_MAX;
    say_why(m, "a connection to ZooKeeper");
}

uint64_t membership_next_op(struct membership *m)
{
    return ++m->next_op;
}

static unsigned end(struct membership *m, int exit_code)
{
    m->exit_code = exit_code;
    log_error("leaving: %s", m->why);
    return MEMBERSHIP_ENDED;
}

/* ------------------------------------------------------------ registration */

static void register_self(struct membership *m)
{
    struct member member = {
        .task = m->identity.task,
        .incarnation = m->identity.incarnation,
        .pid = m->identity.pid,
        .since_wall_ms = m->wall_ms,
    };
    memcpy(member.host, m->identity.host, sizeof member.host);
    memcpy(member.address, m->identity.address, sizeof member.address);
    char text[ZNODE_JSON_MAX];
    const struct zk_write create = {
        .kind = ZK_CREATE,
        .path = m->self_mirror.path,
        .size = member_encode(&member, text),
        .data = text,
        .flags = ZK_EPHEMERAL,
    };
    m->register_op = membership_next_op(m);
    m->register_retry_ms = UINT64_MAX;
    FAILPOINT("node.before_register");
    m->ports->zk.write(m->ports->zk.ctx, m->register_op, &create, 1);
}

/* Only what is read counts as registered: an answer may be lost, a leftover may be in our place. */
static void register_answered(struct membership *m, const struct zk_event *event)
{
    m->register_op = 0;
    if (event->outcome == ZK_REFUSED && event->reason != ZK_REASON_NODE_EXISTS) {
        say_why(m, "%s to be created: %s", m->self_mirror.path,
                event->reason == ZK_REASON_NO_NODE   ? "the cluster is not set up yet"
                : event->reason == ZK_REASON_NO_AUTH ? "ZooKeeper denies it"
                                                     : "ZooKeeper refused");
        m->register_retry_ms = m->now_ms + REGISTER_RETRY_MS;
        return;
    }
    mirror_refresh(&m->self_mirror, &m->ports->zk, &m->next_op);
}

static void say_taken(struct membership *m, const struct zk_event *event)
{
    struct member other;
    char name[TASK_NAME_MAX];
    task_format(m->identity.task, ':', name, sizeof name);
    if (member_decode(event->data, event->size, &other, NULL) != TN_OK) {
        say_why(m, "%s is held by an unreadable registration", name);
        return;
    }
    say_why(m, "%s is held by process %llu on %.40s at %.60s", name, (unsigned long long)other.pid,
            other.host, other.address);
}

/* Not before: a server that lags behind may show a new session a /run from before its time, with an
 * order to load what the others have long trained. One that shows us our own registration shows
 * nothing older than that. */
static void run_mirror_start(struct membership *m)
{
    char path[256];
    znode_path(path, m->identity.cluster, "run");
    mirror_start(&m->run_mirror, MIRROR_DATA, path, &m->ports->zk, &m->next_op, m->now_ms);
}

static void forget_taken(struct membership *m)
{
    m->taken_since_ms = 0;
    m->taken_asked = false;
}

static unsigned self_read(struct membership *m, const struct zk_event *event)
{
    if (event->stat.ephemeral_owner != m->session) {
        if (m->taken_since_ms == 0) { m->taken_since_ms = m->now_ms; }
        say_taken(m, event);
        if (!m->registered) { return m->taken_asked ? end(m, TN_EXIT_TASK_TAKEN) : 0; }
        return end(m, TN_EXIT_SESSION_EXPIRED);
    }
    forget_taken(m);
    if (m->registered) { return 0; }
    m->registered = true;
    m->why[0] = '\0';
    run_mirror_start(m);
    log_info("registered at %s", m->identity.address);
    FAILPOINT("node.registered");
    return MEMBERSHIP_REGISTERED;
}

static unsigned self_absent(struct membership *m)
{
    forget_taken(m);
    if (m->registered) {
        /* Whoever removed it told the cluster that we are dead: so be it. */
        say_why(m, "our registration %s was removed", m->self_mirror.path);
        return end(m, TN_EXIT_SESSION_EXPIRED);
    }
    if (m->register_op == 0) { register_self(m); }
    return 0;
}

/* Time may have passed while we were stopped, and he who held our task may have left meanwhile:
 * only what is read after our patience is over counts. */
static void look_again_if_taken(struct membership *m)
{
    if (m->taken_since_ms == 0 || m->taken_asked || m->registered || !m->zk_connected) { return; }
    uint64_t patience = (uint64_t)m->identity.session_timeout_ms + REGISTER_GRACE_MS;
    if (m->now_ms < m->taken_since_ms + patience) { return; }
    m->taken_asked = true;
    mirror_refresh(&m->self_mirror, &m->ports->zk, &m->next_op);
}

/* -------------------------------------------------------- /chief and /run */

static void update_context(const struct membership *m)
{
    uint64_t epoch = m->chief.epoch > m->run.epoch ? m->chief.epoch : m->run.epoch;
    log_set_context(epoch, m->run.generation);
}

static void hang_up(struct membership *m)
{
    conn_id link = m->link;
    m->link = (conn_id){0};
    m->link_open = false;
    m->sent = 0;
    if (link.v != 0) { m->ports->transport.close(m->ports->transport.ctx, link); }
}

static unsigned chief_read(struct membership *m, const struct zk_event *event)
{
    struct chief_record record;
    struct error error;
    if (event->size == 0) { return 0; /* Nobody has held the office yet. */ }
    if (chief_record_decode(event->data, event->size, &record, &error) != TN_OK) {
        log_warn("%s; ignored", error.text);
        return 0;
    }
    bool other = !m->has_chief || record.incarnation != m->chief.incarnation;
    if (!other && record.epoch == m->chief.epoch) { return 0; }
    m->chief = record;
    m->has_chief = true;
    update_context(m);
    if (other) {
        char name[TASK_NAME_MAX];
        task_format(record.task, ':', name, sizeof name);
        log_info("chief is %s at %s, epoch %llu (%s)", name, record.address,
                 (unsigned long long)record.epoch, record.cause);
        hang_up(m);
        m->acknowledged = 0;
        m->redial_at_ms = m->now_ms;
        m->redial_delay_ms = CHIEF_REDIAL_MS;
    }
    return MEMBERSHIP_CHIEF;
}

static unsigned run_read(struct membership *m, const struct zk_event *event)
{
    struct run run;
    struct error error;
    if (m->has_run && event->stat.version == m->run_version) { return 0; }
    if (run_decode(event->data, event->size, &run, &error) != TN_OK) {
        log_warn("%s; ignored", error.text);
        return 0;
    }
    if (!m->has_run || run.phase != m->run.phase || run.generation != m->run.generation) {
        log_info("run is %s, generation %llu%s%s", run_phase_name(run.phase),
                 (unsigned long long)run.generation, run.reason[0] != '\0' ? ": " : "", run.reason);
    }
    m->run = run;
    m->run_version = event->stat.version;
    m->has_run = true;
    update_context(m);
    if (run.phase == RUN_FORMING || run.phase == RUN_PAUSED) { FAILPOINT("node.idle"); }
    return MEMBERSHIP_RUN;
}

static unsigned mirrors_handle(struct membership *m, const struct zk_event *event)
{
    const struct zk_port *zk = &m->ports->zk;
    unsigned news = 0;
    switch (mirror_handle(&m->self_mirror, event, zk, &m->next_op, m->now_ms)) {
    case MIRROR_NOTHING: break;
    case MIRROR_PRESENT: news |= self_read(m, event); break;
    case MIRROR_ABSENT: news |= self_absent(m); break;
    }
    if (mirror_handle(&m->chief_mirror, event, zk, &m->next_op, m->now_ms) == MIRROR_PRESENT) {
        news |= chief_read(m, event);
    }
    if (mirror_handle(&m->run_mirror, event, zk, &m->next_op, m->now_ms) == MIRROR_PRESENT) {
        news |= run_read(m, event);
    }
    return news;
}

static void mirrors_start(struct membership *m)
{
    const struct zk_port *zk = &m->ports->zk;
    char path[256];
    znode_member_path(path, m->identity.cluster, m->identity.task);
    mirror_start(&m->self_mirror, MIRROR_DATA, path, zk, &m->next_op, m->now_ms);
    znode_path(path, m->identity.cluster, "chief");
    mirror_start(&m->chief_mirror, MIRROR_DATA, path, zk, &m->next_op, m->now_ms);
}

static unsigned zk_handle(struct membership *m, const struct zk_event *event)
{
    if (event->type == ZK_EXPIRED) {
        say_why(m, "ZooKeeper ended our session");
        return end(m, TN_EXIT_SESSION_EXPIRED);
    }
    if (event->type == ZK_DISCONNECTED) { m->zk_connected = false; }
    if (event->type == ZK_CONNECTED) {
        m->zk_connected = true;
        /* An outage is nobody's fault: whoever holds our task gets his time again. */
        if (m->taken_since_ms != 0) { m->taken_since_ms = m->now_ms; }
        m->taken_asked = false;
        if (m->session == 0) {
            m->session = event->session;
            mirrors_start(m);
            return 0;
        }
        m->session = event->session;
    }
    if (event->type == ZK_RESULT && m->register_op != 0 && event->op == m->register_op) {
        register_answered(m, event);
        return 0;
    }
    return mirrors_handle(m, event);
}

/* ----------------------------------------------------------------- reports */

static void transport_handle(struct membership *m, const struct transport_event *event)
{
    if (m->link.v == 0 || event->conn.v != m->link.v) { return; }
    switch (event->type) {
    case TRANSPORT_OPENED:
        m->link_open = true;
        m->sent = 0;
        break;
    case TRANSPORT_FRAME:
        if (event->header.type != FRAME_REPORT_ACK) { break; }
        if (event->header.sequence > m->report.sequence) { break; /* Nobody's: not ours. */ }
        if (event->header.sequence > m->acknowledged) { m->acknowledged = event->header.sequence; }
        m->redial_delay_ms = CHIEF_REDIAL_MS;
        if (event->header.epoch > m->chief.epoch) {
            mirror_refresh(&m->chief_mirror, &m->ports->zk, &m->next_op);
        }
        break;
    case TRANSPORT_CLOSED:
        m->link = (conn_id){0};
        m->link_open = false;
        m->redial_at_ms = m->now_ms + m->redial_delay_ms;
        m->redial_delay_ms *= 2;
        if (m->redial_delay_ms > CHIEF_REDIAL_MAX_MS) { m->redial_delay_ms = CHIEF_REDIAL_MAX_MS; }
        break;
    }
}

/* A node reports once it has something to say, and the chief not to itself. */
static bool wants_link(const struct membership *m)
{
    return m->report.sequence != 0 && m->has_chief &&
           m->chief.incarnation != m->identity.incarnation;
}

static uint64_t report_due_ms(const struct membership *m)
{
    if (!m->link_open) { return UINT64_MAX; }
    if (m->sent == 0) { return 0; }
    if (m->sent != m->report.sequence) { return m->urgent ? 0 : m->sent_at_ms + REPORT_STEP_MS; }
    if (m->acknowledged < m->sent) { return m->sent_at_ms + REPORT_RESEND_MS; }
    return m->sent_at_ms + REPORT_REFRESH_MS;
}

static void send_report(struct membership *m)
{
    m->sent_at_ms = m->now_ms;
    m->sent = m->report.sequence;
    m->urgent = false;
    struct buffer *body = buffer_acquire(m->ports->buffers, REPORT_BYTES);
    if (body == NULL) { return; /* Out of memory: again at the next resend. */ }
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

static void pump_link(struct membership *m)
{
    if (wants_link(m) && m->link.v == 0 && m->now_ms >= m->redial_at_ms) {
        m->link = m->ports->transport.dial(m->ports->transport.ctx, m->chief.address);
    }
    if (m->now_ms >= report_due_ms(m)) { send_report(m); }
}

/* Equal but for the step and what is filled in here. */
static bool same_but_step(const struct report *a, const struct report *b)
{
    uint8_t left[REPORT_BYTES], right[REPORT_BYTES];
    struct report copy = *b;
    copy.step = a->step;
    report_encode(a, left);
    report_encode(&copy, right);
    return memcmp(left, right, sizeof left) == 0;
}

void membership_report(struct membership *m, const struct report *report)
{
    struct report next = *report;
    next.task = m->identity.task;
    next.incarnation = m->identity.incarnation;
    next.sequence = m->report.sequence;
    next.epoch = m->chief.epoch > m->run.epoch ? m->chief.epoch : m->run.epoch;
    bool same = m->report.sequence != 0 && same_but_step(&m->report, &next);
    if (same && m->report.step == next.step) { return; }
    bool last = m->has_run && next.step >= m->run.until && m->report.step < m->run.until;
    next.sequence++;
    m->urgent = m->urgent || !same || last;
    m->report = next;
    if (m->exit_code == 0) { pump_link(m); }
}

/* ----------------------------------------------------------------- waiting */

/* What is waited for so long that it must be said, or NULL. */
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

static void say_waiting(struct membership *m)
{
    const char *what = waits_for(m);
    if (what == NULL) {
        m->say_at_ms = UINT64_MAX;
    } else if (m->say_at_ms == UINT64_MAX) {
        m->waiting_since_ms = m->now_ms;
        m->say_at_ms = m->now_ms + WAIT_SAY_MS;
    } else if (m->now_ms >= m->say_at_ms) {
        log_info("waiting for %llu s: %s",
                 (unsigned long long)((m->now_ms - m->waiting_since_ms) / 1000), what);
        m->say_at_ms = m->now_ms + WAIT_SAY_MS;
    }
}

/* ---------------------------------------------------------------- reactor */

static void pump(struct membership *m)
{
    const struct zk_port *zk = &m->ports->zk;
    mirror_tick(&m->self_mirror, zk, &m->next_op, m->now_ms);
    mirror_tick(&m->chief_mirror, zk, &m->next_op, m->now_ms);
    mirror_tick(&m->run_mirror, zk, &m->next_op, m->now_ms);
    if (m->session != 0 && m->register_op == 0 && m->register_retry_ms != 0 &&
        m->now_ms >= m->register_retry_ms && !m->registered) {
        register_self(m);
    }
    pump_link(m);
    say_waiting(m);
}

unsigned membership_handle(struct membership *m, const struct node_event *event)
{
    unsigned news = 0;
    if (m->exit_code != 0) { return 0; }
    assert(event->now_ms >= m->now_ms);
    m->now_ms = event->now_ms;
    m->wall_ms = event->wall_ms;
    if (event->type == NODE_ZK) { news |= zk_handle(m, event->zk); }
    if (event->type == NODE_TRANSPORT) { transport_handle(m, event->transport); }
    if (m->exit_code != 0) { return news; }
    look_again_if_taken(m);
    pump(m);
    return news;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t membership_deadline_ms(const struct membership *m)
{
    if (m->exit_code != 0) { return UINT64_MAX; }
    uint64_t first = m->say_at_ms;
    first = earlier(first, mirror_deadline_ms(&m->self_mirror));
    first = earlier(first, mirror_deadline_ms(&m->chief_mirror));
    first = earlier(first, mirror_deadline_ms(&m->run_mirror));
    first = earlier(first, report_due_ms(m));
    if (wants_link(m) && m->link.v == 0) { first = earlier(first, m->redial_at_ms); }
    if (m->register_op == 0 && m->register_retry_ms != 0 && !m->registered) {
        first = earlier(first, m->register_retry_ms);
    }
    if (m->taken_since_ms != 0 && !m->taken_asked && !m->registered && m->zk_connected) {
        first =
            earlier(first, m->taken_since_ms + m->identity.session_timeout_ms + REGISTER_GRACE_MS);
    }
    return first;
}

/* common/node/membership_register.c: the registration in /members: R1, R2, R3, R10. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/faults/failpoint.h"
#include "common/node/membership_private.h"
#include "tanist/status.h"

static size_t encode_self(const struct membership *m, char text[static ZNODE_JSON_MAX])
{
    struct member member = {
        .task = m->identity.task,
        .incarnation = m->identity.incarnation,
        .pid = m->identity.pid,
        .since_wall_ms = m->since_wall_ms,
    };
    memcpy(member.host, m->identity.host, sizeof member.host);
    memcpy(member.address, m->identity.address, sizeof member.address);
    memcpy(member.machine, m->identity.machine, sizeof member.machine);
    memcpy(member.problem, m->problem, sizeof member.problem);
    return member_encode(&member, text);
}

void register_send(struct membership *m)
{
    assert(!m->registered && m->session != 0);
    char text[ZNODE_JSON_MAX];
    m->since_wall_ms = m->wall_ms;
    const struct zk_write create = {
        .kind = ZK_CREATE,
        .path = m->self_watch.path,
        .size = encode_self(m, text),
        .data = text,
        .flags = ZK_EPHEMERAL,
    };
    m->register_op = membership_next_op(m);
    m->register_retry_ms = UINT64_MAX;
    FAILPOINT("node.before_register");
    m->ports->zk.write(m->ports->zk.ctx, m->register_op, &create, 1);
}

/* R10: the registration is kept as the node wrote it. */
void register_rewrite(struct membership *m)
{
    char text[ZNODE_JSON_MAX];
    assert(m->registered);
    const struct zk_write set = {.kind = ZK_SET,
                                 .path = m->self_watch.path,
                                 .size = encode_self(m, text),
                                 .data = text,
                                 .version = ZK_ANY_VERSION};
    m->register_op = membership_next_op(m);
    m->register_retry_ms = UINT64_MAX;
    m->replaces = false;
    m->ports->zk.write(m->ports->zk.ctx, m->register_op, &set, 1);
}

/* An ACL on the znode forbids to write it, not to replace it. */
static void replace(struct membership *m)
{
    char text[ZNODE_JSON_MAX];
    const struct zk_write writes[] = {
        {.kind = ZK_DELETE, .path = m->self_watch.path, .version = ZK_ANY_VERSION},
        {.kind = ZK_CREATE,
         .path = m->self_watch.path,
         .size = encode_self(m, text),
         .data = text,
         .flags = ZK_EPHEMERAL},
    };
    m->register_op = membership_next_op(m);
    m->replaces = true;
    m->ports->zk.write(m->ports->zk.ctx, m->register_op, writes, 2);
}

/* If neither is permitted, the znode is read again later, and then written if it is not right. */
static void rewrite_answered(struct membership *m, const struct zk_event *event)
{
    assert(m->registered);
    if (event->outcome != ZK_REFUSED) {
        znode_watch_refresh(&m->self_watch, &m->ports->zk, &m->next_op);
        return;
    }
    if (event->reason == ZK_REASON_NO_AUTH && !m->replaces) {
        replace(m);
        return;
    }
    m->register_retry_ms = m->now_ms + REGISTER_RETRY_MS;
}

/* R10: another program may have deleted /members. ZooKeeper refuses this write while the znode of
 * the cluster does not exist. */
static void restore_folder(struct membership *m)
{
    char path[ZK_PATH_MAX];
    znode_path(path, m->identity.cluster, "members");
    const struct zk_write create = {.kind = ZK_CREATE, .path = path};
    m->ports->zk.write(m->ports->zk.ctx, membership_next_op(m), &create, 1);
}

static bool is_as_written(const struct membership *m, const struct zk_event *event)
{
    char text[ZNODE_JSON_MAX];
    size_t size = encode_self(m, text);
    return event->size == size && memcmp(event->data, text, size) == 0;
}

/* The node is registered once it has read its own znode: an answer may be lost, and the znode may
 * be a leftover of a former process. */
void register_answered(struct membership *m, const struct zk_event *event)
{
    assert(m->register_op != 0);
    m->register_op = 0;
    if (m->registered) {
        rewrite_answered(m, event);
        return;
    }
    if (event->outcome == ZK_REFUSED && event->reason != ZK_REASON_NODE_EXISTS) {
        membership_set_why(m, "%s to be created: %s", m->self_watch.path,
                           event->reason == ZK_REASON_NO_NODE   ? "the cluster is not set up yet"
                           : event->reason == ZK_REASON_NO_AUTH ? "ZooKeeper denies it"
                                                                : "ZooKeeper refused");
        m->register_retry_ms = m->now_ms + REGISTER_RETRY_MS;
        if (event->reason == ZK_REASON_NO_NODE) { restore_folder(m); }
        return;
    }
    znode_watch_refresh(&m->self_watch, &m->ports->zk, &m->next_op);
}

static void describe_holder(struct membership *m, const struct zk_event *event)
{
    struct member other;
    char name[TASK_NAME_MAX];
    task_format(m->identity.task, ':', name, sizeof name);
    if (member_decode(event->data, event->size, &other, NULL) != TN_OK) {
        membership_set_why(m, "%s is held by an unreadable registration", name);
        return;
    }
    membership_set_why(m, "%s is held by process %" PRIu64 " on %.40s at %.60s", name, other.pid,
                       other.host, other.address);
}

static void clear_taken(struct membership *m)
{
    m->taken_since_ms = 0;
    m->taken_rechecked = false;
}

void register_retry(struct membership *m)
{
    if (m->session == 0 || m->register_op != 0 || m->register_retry_ms == 0 ||
        m->now_ms < m->register_retry_ms) {
        return;
    }
    if (!m->registered) {
        register_send(m);
        return;
    }
    m->register_retry_ms = UINT64_MAX;
    znode_watch_refresh(&m->self_watch, &m->ports->zk, &m->next_op);
}

unsigned register_read(struct membership *m, const struct zk_event *event)
{
    assert(m->session != 0);
    if (event->stat.ephemeral_owner != m->session) { /* Z5 */
        if (m->taken_since_ms == 0) { m->taken_since_ms = m->now_ms; }
        describe_holder(m, event);
        if (!m->registered) {
            return m->taken_rechecked ? membership_end(m, TN_EXIT_TASK_TAKEN) : 0;
        }
        return membership_end(m, TN_EXIT_SESSION_EXPIRED);
    }
    clear_taken(m);
    const bool first = !m->registered;
    m->registered = true;
    if (m->register_op == 0 && !is_as_written(m, event)) { register_rewrite(m); }
    if (!first) { return 0; }
    m->why[0] = '\0';
    membership_follow_run(m);
    log_info("registered at %s", m->identity.address);
    FAILPOINT("node.registered");
    return MEMBERSHIP_REGISTERED;
}

unsigned register_absent(struct membership *m)
{
    clear_taken(m);
    if (m->registered) {
        /* The rest of the cluster treats this node as dead, so it ends. */
        membership_set_why(m, "our registration %s was removed", m->self_watch.path);
        return membership_end(m, TN_EXIT_SESSION_EXPIRED);
    }
    if (m->register_op == 0) { register_send(m); }
    return 0;
}

/* If this process was stopped meanwhile, the other holder of our task may have left. Only a read
 * after the grace period counts. */
void register_check_taken(struct membership *m)
{
    if (m->taken_since_ms == 0 || m->taken_rechecked || m->registered || !m->zk_connected) {
        return;
    }
    uint64_t grace_ms = (uint64_t)m->identity.session_timeout_ms + REGISTER_GRACE_MS;
    if (m->now_ms < m->taken_since_ms + grace_ms) { return; }
    m->taken_rechecked = true;
    znode_watch_refresh(&m->self_watch, &m->ports->zk, &m->next_op);
}

#include "chaos/cluster/remote.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/cluster/requests.h"

enum { CONNECT_MS = 5000, ANSWER_MS = 4000 };

void remote_init(struct remote *remote, const char *connect, const char *cluster,
                 const char *credentials)
{
    assert(connect != NULL);
    assert(cluster != NULL);
    *remote = (struct remote){.sync = NULL};
    snprintf(remote->connect, sizeof remote->connect, "%s", connect);
    snprintf(remote->cluster, sizeof remote->cluster, "%s", cluster);
    snprintf(remote->credentials, sizeof remote->credentials, "%s",
             credentials != NULL ? credentials : "");
}

void remote_close(struct remote *remote)
{
    zk_sync_close(remote->sync);
    remote->sync = NULL;
}

static enum tn_status connect_if_needed(struct remote *remote, struct error *error)
{
    const char *credentials = *remote->credentials ? remote->credentials : NULL;
    if (remote->sync != NULL) { return TN_OK; }
    return zk_sync_open(remote->connect, credentials, CONNECT_MS, &remote->sync, error);
}

/* A session that is lost is not used again. */
static enum tn_status close_if_lost(struct remote *remote, enum tn_status status)
{
    if (status == TN_EEXPIRED || status == TN_ETIMEDOUT || status == TN_ECONNECT) {
        remote_close(remote);
    }
    return status;
}

enum tn_status remote_find(struct remote *remote, const char *task, struct member *out,
                           struct error *error)
{
    assert(task != NULL);
    enum tn_status status = connect_if_needed(remote, error);
    if (status == TN_OK) {
        status = request_find_member(remote->sync, remote->cluster, task, out, error);
    }
    return close_if_lost(remote, status);
}

enum tn_status remote_signal(struct remote *remote, const struct member *member,
                             enum kill_signal signal, struct error *error)
{
    assert(member != NULL);
    enum tn_status status = connect_if_needed(remote, error);
    if (status == TN_OK) {
        status = request_kill(remote->sync, remote->cluster, member, signal, ANSWER_MS, error);
    }
    return close_if_lost(remote, status);
}

enum tn_status remote_request(struct remote *remote, enum request_kind kind, struct error *error)
{
    struct sent_request sent;
    enum tn_status status = connect_if_needed(remote, error);
    if (status == TN_OK) {
        const struct request request = {.kind = kind};
        status = request_send(remote->sync, remote->cluster, &request, &sent, error);
    }
    return close_if_lost(remote, status);
}

#include "cli/zk_options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/children.h"
#include "agent/ensemble/zoo_cfg.h"
#include "cli/wait_notice.h"
#include "common/base/minmax.h"
#include "common/zk/zk.h"

void zk_options_add(struct options *options, struct zk_options *zk)
{
    options_text(options, "zk", &zk->connect, "CONNECT",
                 "ZooKeeper servers: h1:2181,h2:2181/chroot (or TANIST_ZK).");
    options_text(options, "zk-config", &zk->config, "FILE",
                 "Read the ZooKeeper servers from a zoo.cfg file.");
    options_text(options, "zk-credentials", &zk->credentials, "FILE",
                 "File with user:password for ZooKeeper (or " CREDENTIALS_VARIABLE ").");
}

static enum tn_status connect_of_config(const char *path, char connect[static CONNECT_MAX],
                                        struct error *error)
{
    struct zoo_cfg cfg;
    zoo_cfg_init(&cfg);
    enum tn_status status = zoo_cfg_read(&cfg, path, error);
    return status == TN_OK ? zoo_cfg_connect(&cfg, connect, CONNECT_MAX, error) : status;
}

enum tn_status zk_options_connect(const struct zk_options *zk, char connect[static CONNECT_MAX],
                                  struct error *error)
{
    const char *given = zk->connect;
    connect[0] = '\0';
    if (zk->connect != NULL && zk->config != NULL) {
        return error_set(error, TN_EINVAL, "--zk and --zk-config are both given: give one of them");
    }
    if (zk->config != NULL) { return connect_of_config(zk->config, connect, error); }
    if (given == NULL) { given = getenv("TANIST_ZK"); }
    if (given == NULL || !*given) { return TN_OK; }
    if (strlen(given) >= CONNECT_MAX) {
        return error_set(error, TN_EINVAL, "--zk is too long: give at most %d bytes",
                         CONNECT_MAX - 1);
    }
    memcpy(connect, given, strlen(given) + 1);
    enum tn_status status = zk_check_connect(connect, error);
    return status == TN_OK ? TN_OK : error_context(error, "--zk");
}

static enum tn_status read_first_line(const char *path, char text[static CREDENTIALS_MAX],
                                      struct error *error)
{
    errno = 0;
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(text, CREDENTIALS_MAX, file) != NULL;
    int reason = errno;
    if (file != NULL) { fclose(file); }
    if (!read) {
        return error_set(error, reason == EIO ? TN_EIO : TN_EINVAL,
                         "cannot read the ZooKeeper credentials from %s: %s", path,
                         reason != 0 ? strerror(reason) : "the file is empty");
    }
    text[strcspn(text, "\r\n")] = '\0';
    return TN_OK;
}

/* `source`: the file or variable, which was given: without credentials in it, the cluster would be
 * open to all. */
static enum tn_status check_credentials(const char *text, const char *source, struct error *error)
{
    if (strlen(text) >= CREDENTIALS_MAX - 1) {
        return error_set(error, TN_EINVAL,
                         "the ZooKeeper credentials in %s are too long: give at most %d bytes",
                         source, CREDENTIALS_MAX - 2);
    }
    if (strchr(text, ':') != NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "the ZooKeeper credentials in %s contain no colon: give user:password",
                     source);
}

enum tn_status zk_options_credentials(const struct zk_options *zk,
                                      char credentials[static CREDENTIALS_MAX], struct error *error)
{
    const char *given = getenv(CREDENTIALS_VARIABLE);
    enum tn_status status = TN_OK;
    credentials[0] = '\0';
    if (zk->credentials != NULL) {
        status = read_first_line(zk->credentials, credentials, error);
        if (status != TN_OK) { return status; }
        return check_credentials(credentials, zk->credentials, error);
    }
    if (given == NULL || *given == '\0') { return TN_OK; }
    status = check_credentials(given, CREDENTIALS_VARIABLE, error);
    if (status == TN_OK) { memcpy(credentials, given, strlen(given) + 1); }
    return status;
}

const char *text_or_null(const char *text)
{
    assert(text != NULL);
    return *text ? text : NULL;
}

enum tn_status zk_options_open(const char *connect, const char *credentials, uint32_t timeout_ms,
                               struct zk_sync **out, struct error *error)
{
    assert(connect != NULL);
    const char *const user = text_or_null(credentials);
    const uint32_t first_ms = u32_min(timeout_ms, WAIT_NOTICE_MS);
    enum tn_status status = zk_sync_open(connect, user, first_ms, out, error);
    if (status != TN_ECONNECT || timeout_ms <= first_ms) { return status; }
    fprintf(stderr, "still waiting for ZooKeeper at %s after %d s (giving up after %u s)\n",
            connect, WAIT_NOTICE_MS / 1000, timeout_ms / 1000);
    status = zk_sync_open(connect, user, timeout_ms - first_ms, out, error);
    if (status != TN_ECONNECT) { return status; }
    return error_set(error, status, ZK_SYNC_NO_ANSWER, connect, timeout_ms);
}

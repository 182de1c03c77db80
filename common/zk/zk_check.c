#include "common/zk/zk_check.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS_MAX = 64, HOST_BYTES_MAX = 255 };

bool zk_check_path(const char *path)
{
    if (path == NULL || path[0] != '/') { return false; }
    size_t length = strlen(path);
    if (length >= ZK_PATH_MAX) { return false; }
    if (length == 1) { return true; }
    const char *component = path + 1;
    for (const char *at = component;; at++) {
        if (*at != '/' && *at != '\0') {
            if ((unsigned char)*at < 0x20 || *at == 0x7f) { return false; }
            continue;
        }
        size_t size = (size_t)(at - component);
        if (size == 0) { return false; }
        if (size <= 2 && memcmp(component, "..", size) == 0) { return false; }
        if (*at == '\0') { return true; }
        component = at + 1;
    }
}

enum zk_reason zk_check_writes(const struct zk_write *writes, size_t count)
{
    if (writes == NULL || count == 0 || count > ZK_WRITES_MAX) { return ZK_REASON_OTHER; }
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const struct zk_write *write = &writes[i];
        if (!zk_check_path(write->path)) { return ZK_REASON_OTHER; }
        if (write->kind != ZK_CREATE && write->kind != ZK_SET) { continue; }
        if (write->size > ZK_DATA_MAX - total) { return ZK_REASON_TOO_LARGE; }
        total += write->size;
    }
    return ZK_REASON_NONE;
}

enum zk_reason zk_check_read(const char *path)
{
    return zk_check_path(path) ? ZK_REASON_NONE : ZK_REASON_OTHER;
}

const char *zk_asked_path(const struct zk_write *writes, size_t count)
{
    assert(writes != NULL || count == 0);
    for (size_t i = 0; i < count; i++) {
        if (writes[i].kind == ZK_CREATE) { return writes[i].path; }
    }
    return count > 0 ? writes[0].path : NULL;
}

void zk_format_address(const struct sockaddr *address, char *text, size_t size)
{
    assert(address != NULL && text != NULL);
    char host[INET6_ADDRSTRLEN];
    int length = -1;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)(const void *)address;
        inet_ntop(AF_INET, &ipv4->sin_addr, host, sizeof host);
        length = snprintf(text, size, "%s:%u", host, (unsigned)ntohs(ipv4->sin_port));
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)(const void *)address;
        inet_ntop(AF_INET6, &ipv6->sin6_addr, host, sizeof host);
        length = snprintf(text, size, "[%s]:%u", host, (unsigned)ntohs(ipv6->sin6_port));
    }
    if ((length < 0 || (size_t)length >= size) && size > 0) { text[0] = '\0'; }
}

static enum tn_status check_port(const char *text, size_t length, struct error *error)
{
    assert(text != NULL);
    unsigned long port = 0;
    for (size_t i = 0; i < length; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        port = digit && port <= 65535 ? port * 10 + (unsigned long)(text[i] - '0') : 65536;
    }
    if (length == 0 || port == 0 || port > 65535) {
        return error_set(error, TN_EINVAL, "port \"%.*s\" is not a number from 1 to 65535",
                         (int)length, text);
    }
    return TN_OK;
}

/* One "host:port". The last colon separates them, so that IPv6 addresses work too. */
static enum tn_status check_server(const char *text, size_t length, struct error *error)
{
    assert(text != NULL);
    const char *colon = memrchr(text, ':', length);
    if (length == 0) { return error_set(error, TN_EINVAL, "a server is empty"); }
    if (colon == NULL) { return error_set(error, TN_EINVAL, "add a port, such as :2181"); }
    size_t host = (size_t)(colon - text);
    if (host == 0 || host > HOST_BYTES_MAX) {
        return error_set(error, TN_EINVAL, "the host has %zu characters, expected 1 to %d", host,
                         HOST_BYTES_MAX);
    }
    for (size_t i = 0; i < host; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        if (!letter && (byte < '0' || byte > '9') && strchr(".-_:%", byte) == NULL) {
            return error_set(error, TN_EINVAL, "the host cannot contain \"%c\"", byte);
        }
    }
    return check_port(colon + 1, length - host - 1, error);
}

enum tn_status zk_check_connect(const char *connect, struct error *error)
{
    if (connect == NULL || connect[0] == '\0') {
        return error_set(error, TN_EINVAL,
                         "no ZooKeeper servers: give host:port[,host:port...][/path]");
    }
    const char *chroot = strchr(connect, '/');
    if (chroot != NULL && !zk_check_path(chroot)) {
        return error_set(error, TN_EINVAL, "ZooKeeper servers \"%s\": \"%s\" is not a znode path",
                         connect, chroot);
    }
    const char *end = chroot != NULL ? chroot : connect + strlen(connect);
    const char *server = connect;
    for (unsigned count = 1;; count++) {
        const char *comma = memchr(server, ',', (size_t)(end - server));
        size_t length = (size_t)((comma != NULL ? comma : end) - server);
        if (count > HOSTS_MAX) {
            return error_set(error, TN_EINVAL, "ZooKeeper servers \"%s\": give at most %d", connect,
                             HOSTS_MAX);
        }
        if (check_server(server, length, error) != TN_OK) {
            error_context(error, "ZooKeeper servers \"%s\": \"%.*s\"", connect, (int)length,
                          server);
            return TN_EINVAL;
        }
        if (comma == NULL) { return TN_OK; }
        server = comma + 1;
    }
}

enum tn_status zk_check_config(const struct zk_config *config, struct error *error)
{
    const char *credentials = config->credentials;
    assert(config->sink != NULL);
    assert(config->session_timeout_ms > 0 && config->deadline_ms > 0);
    enum tn_status status = zk_check_connect(config->connect, error);
    if (status != TN_OK || credentials == NULL) { return status; }
    const char *colon = strchr(credentials, ':');
    if (colon != NULL && colon != credentials) { return TN_OK; }
    return error_set(error, TN_EINVAL, "ZooKeeper credentials: give user:password");
}

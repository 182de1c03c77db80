#include "agent/ensemble/zoo_ports.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/ensemble/zoo_server.h"

struct listener {
    const char *key;  /* The name of the port: "clientPort". */
    const char *host; /* "": all addresses. */
    uint16_t port;
    bool for_clients;
};

/* Returns 0 if a server can listen there, else errno. ZooKeeper sets SO_REUSEADDR, too. */
static int try_address(const struct sockaddr *address, socklen_t size)
{
    const int yes = 1;
    int failure = 0;
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) { return 0; /* The server will report that itself. */ }
    const bool listens = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                         bind(fd, address, size) == 0 && listen(fd, 1) == 0;
    if (!listens) { failure = errno; }
    close(fd);
    return failure;
}

/* `*is_number` is false: the host is a name, or "", and all addresses were tried. */
static int try_listener(const struct listener *listener, bool *is_number)
{
    *is_number = true;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(listener->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(listener->port)};
    if (inet_pton(AF_INET6, listener->host, &v6.sin6_addr) == 1) {
        return try_address((const struct sockaddr *)(const void *)&v6, sizeof v6);
    }
    if (inet_pton(AF_INET, listener->host, &v4.sin_addr) != 1) {
        *is_number = false;
        v4.sin_addr.s_addr = htonl(INADDR_ANY);
    }
    return try_address((const struct sockaddr *)(const void *)&v4, sizeof v4);
}

static enum tn_status check(const struct zoo_server_files *server, const struct listener *listener,
                            struct error *error)
{
    assert(listener->port != 0);
    bool is_number;
    int failure = try_listener(listener, &is_number);
    /* A server of another address of this host may have the port; the name may be of a free one. */
    if (failure == EADDRINUSE && !is_number && *listener->host != '\0') { failure = 0; }
    if (failure == EADDRINUSE) {
        return error_set(error, TN_EEXIST,
                         "%s: %s is %u, and another program listens on that port%s%s: stop it, or "
                         "give another port",
                         server->cfg_path, listener->key, (unsigned)listener->port,
                         *listener->host != '\0' ? " of " : "", listener->host);
    }
    if (failure == EADDRNOTAVAIL && listener->for_clients) {
        return error_set(error, TN_EINVAL,
                         "%s: the address for clients is %s, which is not one of this host: give "
                         "one that is, or remove clientPortAddress to listen at all",
                         server->cfg_path, listener->host);
    }
    return TN_OK;
}

enum tn_status zoo_ports_check(const struct zoo_server_files *server, struct error *error)
{
    const struct zoo_cfg *cfg = &server->cfg;
    const struct zoo_server *own = zoo_cfg_own_server(cfg, server->id);
    char peer_key[64], election_key[64];
    const bool by_server = own != NULL && own->client_port != 0;
    const struct listener clients = {
        .key = by_server ? "the client port of server.N" : "clientPort",
        .host = by_server && *own->client_host != '\0' ? own->client_host : cfg->client_host,
        .port = by_server ? own->client_port : cfg->client_port,
        .for_clients = true,
    };
    enum tn_status status = check(server, &clients, error);
    if (status != TN_OK || own == NULL) { return status; }
    (void)snprintf(peer_key, sizeof peer_key, "the port of server.%u for followers", own->id);
    (void)snprintf(election_key, sizeof election_key, "the port of server.%u for elections",
                   own->id);
    const struct listener peers = {.key = peer_key, .host = own->host, .port = own->peer_port};
    const struct listener votes = {
        .key = election_key, .host = own->host, .port = own->election_port};
    status = check(server, &peers, error);
    return status == TN_OK ? check(server, &votes, error) : status;
}

const struct zoo_server *zoo_ports_server_of_host(const struct zoo_cfg *cfg)
{
    const struct zoo_server *found = NULL;
    assert(cfg->server_count <= ZOO_SERVERS_MAX);
    for (size_t i = 0; i < cfg->server_count; i++) {
        const struct listener any_port = {.host = cfg->servers[i].host};
        bool is_number;
        if (try_listener(&any_port, &is_number) != 0 || !is_number) { continue; }
        if (found != NULL) { return NULL; }
        found = &cfg->servers[i];
    }
    return found;
}

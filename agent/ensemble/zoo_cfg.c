#include "agent/ensemble/zoo_cfg.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DEFAULT_TICK_MS = 3000, LINE_MAX_BYTES = 2048 };

/* One "key=value" and its place in the file, for errors. */
struct item {
    const char *file;
    unsigned line;
    const char *key;
    char *value; /* May be modified. */
};

void zoo_cfg_init(struct zoo_cfg *cfg)
{
    memset(cfg, 0, sizeof *cfg);
    cfg->tick_ms = DEFAULT_TICK_MS;
}

/* ------------------------------------------------------------------ parsing */

static enum tn_status reject(const struct item *item, const char *remedy, struct error *error)
{
    assert(item->file != NULL && item->key != NULL);
    return error_set(error, TN_EINVAL, "%s:%u: %s=%s: %s", item->file, item->line, item->key,
                     item->value, remedy);
}

/* The number, from 1 to `limit`, or 0 for any other text. */
static uint32_t parse_number(const char *text, uint32_t limit)
{
    uint64_t number = 0;
    assert(text != NULL && limit > 0);
    if (*text == '\0') { return 0; }
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text)) { return 0; }
        number = number * 10 + (uint64_t)(*text - '0');
        if (number > limit) { return 0; }
    }
    return (uint32_t)number;
}

static bool copy_text(char *to, size_t size, const char *from)
{
    assert(to != NULL);
    size_t length = strlen(from);
    if (length >= size) { return false; }
    memcpy(to, from, length + 1);
    return true;
}

/* Cuts the next part off `*rest` at `separator`; an address in brackets may contain colons. NULL at
 * the end. */
static char *next_part(char **rest, char separator)
{
    assert(rest != NULL && separator != '\0');
    char *part = *rest;
    if (part == NULL) { return NULL; }
    char *from = part;
    if (part[0] == '[' && strchr(part, ']') != NULL) { from = strchr(part, ']'); }
    char *end = strchr(from, separator);
    *rest = end != NULL ? end + 1 : NULL;
    if (end != NULL) { *end = '\0'; }
    return part;
}

static bool copy_host(char *to, char *host)
{
    assert(to != NULL && host != NULL);
    size_t length = strlen(host);
    if (length > 1 && host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        host++;
    }
    return host[0] != '\0' && copy_text(to, ZOO_HOST_MAX, host);
}

/* The part after the semicolon: "[address:]port". */
static bool parse_client(struct zoo_server *server, char *text)
{
    assert(text != NULL);
    char *colon = strrchr(text, ':');
    const char *port = colon != NULL ? colon + 1 : text;
    server->client_port = (uint16_t)parse_number(port, UINT16_MAX);
    if (colon == NULL) { return server->client_port != 0; }
    *colon = '\0';
    return server->client_port != 0 && copy_host(server->client_host, text);
}

/* "host:peer-port:election-port[:role]". */
static bool parse_peer(struct zoo_server *server, char *text)
{
    char *rest = text;
    assert(text != NULL);
    char *host = next_part(&rest, ':');
    char *peer = next_part(&rest, ':');
    char *election = next_part(&rest, ':');
    const char *role = rest != NULL ? rest : "participant";
    if (election == NULL || !copy_host(server->host, host)) { return false; }
    server->peer_port = (uint16_t)parse_number(peer, UINT16_MAX);
    server->election_port = (uint16_t)parse_number(election, UINT16_MAX);
    server->observer = strcasecmp(role, "observer") == 0;
    if (!server->observer && strcasecmp(role, "participant") != 0) { return false; }
    return server->peer_port != 0 && server->election_port != 0;
}

static struct zoo_server *find_server(struct zoo_cfg *cfg, uint32_t id)
{
    assert(cfg->server_count <= ZOO_SERVERS_MAX);
    for (size_t i = 0; i < cfg->server_count; i++) {
        if (cfg->servers[i].id == id) { return &cfg->servers[i]; }
    }
    return NULL;
}

static enum tn_status parse_server(struct zoo_cfg *cfg, const struct item *item,
                                   struct error *error)
{
    assert(cfg->server_count <= ZOO_SERVERS_MAX);
    static const char form[] =
        "use host:peer-port:election-port[:participant|:observer][;[address:]client-port]";
    char value[LINE_MAX_BYTES]; /* A copy to be cut; item->value stays intact for the error. */
    struct zoo_server server = {.id = parse_number(item->key + strlen("server."), 255)};
    if (server.id == 0) { return reject(item, "the number of a server is 1 to 255", error); }
    if (strchr(item->value, '|') != NULL) {
        return reject(item, "several addresses of one server are not supported", error);
    }
    if (!copy_text(value, sizeof value, item->value)) { return reject(item, "too long", error); }
    char *client = value;
    char *peer = next_part(&client, ';');
    if (!parse_peer(&server, peer) || (client != NULL && !parse_client(&server, client))) {
        return reject(item, form, error);
    }
    struct zoo_server *place = find_server(cfg, server.id);
    if (place == NULL && cfg->server_count == ZOO_SERVERS_MAX) {
        return reject(item, "more than 32 servers", error);
    }
    if (place == NULL) { place = &cfg->servers[cfg->server_count++]; }
    *place = server;
    return TN_OK;
}

static enum tn_status parse_item(struct zoo_cfg *cfg, const struct item *item, struct error *error)
{
    const char *key = item->key;
    assert(cfg->server_count <= ZOO_SERVERS_MAX);
    const char *value = item->value;
    if (strcmp(key, "clientPort") == 0) {
        cfg->client_port = (uint16_t)parse_number(value, UINT16_MAX);
        if (cfg->client_port == 0) { return reject(item, "use a port from 1 to 65535", error); }
    } else if (strcmp(key, "tickTime") == 0) {
        cfg->tick_ms = parse_number(value, 3600 * 1000);
        if (cfg->tick_ms == 0) { return reject(item, "use milliseconds from 1", error); }
    } else if (strcmp(key, "maxClientCnxns") == 0) {
        cfg->connections = parse_number(value, UINT16_MAX);
    } else if (strcmp(key, "clientPortAddress") == 0) {
        if (!copy_host(cfg->client_host, item->value)) { return reject(item, "too long", error); }
    } else if (strcmp(key, "dataDir") == 0) {
        if (!copy_text(cfg->data_dir, ZOO_PATH_MAX, value)) {
            return reject(item, "too long", error);
        }
    } else if (strcmp(key, "dynamicConfigFile") == 0) {
        if (!copy_text(cfg->dynamic_path, ZOO_PATH_MAX, value)) {
            return reject(item, "too long", error);
        }
    } else if (strncmp(key, "server.", strlen("server.")) == 0) {
        return parse_server(cfg, item, error);
    }
    return TN_OK;
}

/* Removes white space at both ends; returns the new start. */
static char *trim(char *text)
{
    assert(text != NULL);
    while (isspace((unsigned char)*text)) { text++; }
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) { end--; }
    *end = '\0';
    return text;
}

/* As in Java properties, '=', ':' or white space separates key and value. */
static enum tn_status parse_line(struct zoo_cfg *cfg, char *line, const char *file, unsigned number,
                                 struct error *error)
{
    char *key = trim(line);
    if (key[0] == '\0' || key[0] == '#' || key[0] == '!') { return TN_OK; }
    char *end = key + strcspn(key, "=: \t");
    char *value = end + strspn(end, " \t");
    if (*value == '=' || *value == ':') { value++; }
    if (*end == '\0') {
        return error_set(error, TN_EINVAL, "%s:%u: \"%s\" is not of the form key=value", file,
                         number, key);
    }
    *end = '\0';
    struct item item = {.file = file, .line = number, .key = key, .value = trim(value)};
    return parse_item(cfg, &item, error);
}

enum tn_status zoo_cfg_parse(struct zoo_cfg *cfg, const char *text, const char *name,
                             struct error *error)
{
    char line[LINE_MAX_BYTES];
    assert(text != NULL && name != NULL);
    for (unsigned number = 1; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        if (length >= sizeof line) {
            return error_set(error, TN_EINVAL, "%s:%u: the line is longer than %d bytes", name,
                             number, LINE_MAX_BYTES - 1);
        }
        memcpy(line, text, length);
        line[length] = '\0';
        enum tn_status status = parse_line(cfg, line, name, number, error);
        if (status != TN_OK) { return status; }
        text += length + (text[length] == '\n' ? 1 : 0);
    }
    return TN_OK;
}

/* ------------------------------------------------------------------ reading */

static enum tn_status parse_file(struct zoo_cfg *cfg, const char *path, struct error *error)
{
    char text[ZOO_TEXT_MAX];
    assert(path != NULL);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        enum tn_status status = errno == ENOENT ? TN_ENOENT : TN_EIO;
        return error_set(error, status, "%s: %s", path, strerror(errno));
    }
    size_t size = fread(text, 1, sizeof text, file);
    bool failed = ferror(file) != 0;
    int reason = errno;
    fclose(file);
    if (failed && reason == EISDIR) {
        return error_set(error, TN_EINVAL, "%s is a folder: give the zoo.cfg of a server", path);
    }
    if (failed) { return error_set(error, TN_EIO, "%s: %s", path, strerror(reason)); }
    if (size == sizeof text || memchr(text, '\0', size) != NULL) {
        return error_set(error, TN_EINVAL,
                         "%s is not a zoo.cfg: it is longer than %d bytes, or binary", path,
                         ZOO_TEXT_MAX - 1);
    }
    text[size] = '\0';
    return zoo_cfg_parse(cfg, text, path, error);
}

enum tn_status zoo_cfg_read(struct zoo_cfg *cfg, const char *path, struct error *error)
{
    assert(path != NULL);
    zoo_cfg_init(cfg);
    enum tn_status status = parse_file(cfg, path, error);
    if (status == TN_OK && cfg->dynamic_path[0] != '\0') {
        char dynamic[ZOO_PATH_MAX];
        memcpy(dynamic, cfg->dynamic_path, sizeof dynamic);
        status = parse_file(cfg, dynamic, error);
        if (status != TN_OK) { error_context(error, "%s: dynamicConfigFile", path); }
    }
    if (status != TN_OK) { return status; }
    if (cfg->data_dir[0] == '\0') {
        return error_set(error, TN_EINVAL, "%s: dataDir is missing: name a folder for the data",
                         path);
    }
    bool port_known = cfg->client_port != 0;
    for (size_t i = 0; i < cfg->server_count; i++) {
        port_known = port_known || cfg->servers[i].client_port != 0;
    }
    if (port_known) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s: clientPort is missing: clients have no port to use",
                     path);
}

/* ---------------------------------------------------------------- addresses */

/* Clients cannot connect to an address that means "all addresses". */
static bool is_wildcard(const char *host)
{
    return host[0] == '\0' || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 ||
           strcmp(host, "0:0:0:0:0:0:0:0") == 0;
}

static enum tn_status client_address(const struct zoo_cfg *cfg, const struct zoo_server *server,
                                     char text[static ZOO_ADDRESS_MAX], struct error *error)
{
    assert(server == NULL || server->id > 0);
    bool alone = server == NULL;
    uint16_t port = !alone && server->client_port != 0 ? server->client_port : cfg->client_port;
    const char *host = alone ? cfg->client_host : server->client_host;
    if (is_wildcard(host)) { host = alone ? "127.0.0.1" : server->host; }
    if (port == 0 && alone) {
        return error_set(error, TN_EINVAL, "no client port: add a line clientPort=PORT");
    }
    if (port == 0) {
        return error_set(error, TN_EINVAL,
                         "server.%u has no client port: add ;PORT to its line, or clientPort=PORT",
                         (unsigned)server->id);
    }
    snprintf(text, ZOO_ADDRESS_MAX, "%s:%u", host, (unsigned)port);
    return TN_OK;
}

/* Whether `list`, separated by commas, contains `address`. */
static bool list_has(const char *list, const char *address)
{
    size_t length = strlen(address);
    assert(length > 0);
    for (const char *at = list; (at = strstr(at, address)) != NULL; at++) {
        bool starts = at == list || at[-1] == ',';
        if (starts && (at[length] == ',' || at[length] == '\0')) { return true; }
    }
    return false;
}

enum tn_status zoo_cfg_connect(const struct zoo_cfg *cfg, char *text, size_t size,
                               struct error *error)
{
    char address[ZOO_ADDRESS_MAX];
    assert(size > 0);
    if (cfg->server_count == 0) { return zoo_cfg_own_address(cfg, NULL, text, size, error); }
    text[0] = '\0';
    size_t used = 0;
    for (size_t i = 0; i < cfg->server_count; i++) {
        enum tn_status status = client_address(cfg, &cfg->servers[i], address, error);
        if (status != TN_OK) { return status; }
        if (list_has(text, address)) { continue; }
        int length = snprintf(text + used, size - used, "%s%s", used > 0 ? "," : "", address);
        if (length < 0 || (size_t)length >= size - used) {
            return error_set(error, TN_EINVAL, "the list of servers is longer than %zu bytes",
                             size - 1);
        }
        used += (size_t)length;
    }
    return TN_OK;
}

const struct zoo_server *zoo_cfg_own_server(const struct zoo_cfg *cfg, uint32_t myid)
{
    assert(cfg->server_count <= ZOO_SERVERS_MAX);
    const struct zoo_server *own = NULL;
    for (size_t i = 0; i < cfg->server_count; i++) {
        const struct zoo_server *server = &cfg->servers[i];
        if (myid != 0 && server->id == myid) { return server; }
        if (myid != 0 || server->client_port != cfg->client_port) { continue; }
        bool elsewhere = !is_wildcard(cfg->client_host) && !is_wildcard(server->client_host) &&
                         strcmp(cfg->client_host, server->client_host) != 0;
        if (elsewhere) { continue; }
        if (own != NULL) { return NULL; }
        own = server;
    }
    return own;
}

enum tn_status zoo_cfg_own_address(const struct zoo_cfg *cfg, const struct zoo_server *own,
                                   char *text, size_t size, struct error *error)
{
    assert(size > 0);
    char address[ZOO_ADDRESS_MAX];
    struct zoo_server known;
    if (own != NULL) {
        known = *own;
        if (is_wildcard(known.client_host)) {
            memcpy(known.client_host, cfg->client_host, ZOO_HOST_MAX);
        }
        own = &known;
    }
    enum tn_status status = client_address(cfg, own, address, error);
    if (status != TN_OK) { return status; }
    if (copy_text(text, size, address)) { return TN_OK; }
    return error_set(error, TN_EINVAL, "the address %s is too long", address);
}

/* --------------------------------------------------------------- formatting */

struct text {
    char *at;
    size_t left;
    bool truncated;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    assert(text->at != NULL);
    va_start(arguments, format);
    int length = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    text->truncated = text->truncated || length < 0 || (size_t)length >= text->left;
    if (text->truncated) { return; }
    text->at += length;
    text->left -= (size_t)length;
}

static void append_settings(struct text *text)
{
    append(text,
           "\n# A session has at least 2 ticks; without this line at most 20.\n"
           "maxSessionTimeout=60000\n"
           "# Ticks that a follower may take to load the data, and may lag behind.\n"
           "initLimit=40\n"
           "syncLimit=20\n"
           "# All servers of this machine would use its port 8080.\n"
           "admin.enableServer=false\n"
           "4lw.commands.whitelist=srvr,ruok,mntr,stat,conf,cons\n"
           "# KiB; by default each log file is allocated with 64 MiB.\n"
           "preAllocSize=1024\n"
           "# The servers share one disk, so syncing each of them only costs time. A kill loses\n"
           "# nothing; after a power failure the manifests beside the checkpoints are enough.\n"
           "forceSync=no\n"
           "autopurge.snapRetainCount=3\n"
           "autopurge.purgeInterval=1\n");
}

enum tn_status zoo_cfg_format(const struct zoo_cfg *cfg, const struct zoo_server *own, char *text,
                              size_t size, struct error *error)
{
    assert(size > 0);
    struct text out = {.at = text, .left = size};
    append(&out, "# Written by tanist. A new run in the same folder keeps it, with its ports.\n");
    append(&out, "dataDir=%s\n", cfg->data_dir);
    append(&out, "clientPort=%u\n", (unsigned)(own != NULL ? own->client_port : cfg->client_port));
    append(&out, "clientPortAddress=%s\n", own != NULL ? own->client_host : cfg->client_host);
    append(&out, "tickTime=%u\n", (unsigned)cfg->tick_ms);
    append(&out,
           "# From one address: that of all clients of a local cluster.\n"
           "maxClientCnxns=%u\n",
           (unsigned)cfg->connections);
    append_settings(&out);
    if (cfg->server_count > 0) {
        append(&out, "\nstandaloneEnabled=false\nquorumListenOnAllIPs=false\n"
                     "# server.N=host:peer-port:election-port;address:client-port\n");
    }
    for (size_t i = 0; i < cfg->server_count; i++) {
        const struct zoo_server *server = &cfg->servers[i];
        append(&out, "server.%u=%s:%u:%u%s;%s:%u\n", (unsigned)server->id, server->host,
               (unsigned)server->peer_port, (unsigned)server->election_port,
               server->observer ? ":observer" : "", server->client_host,
               (unsigned)server->client_port);
    }
    if (!out.truncated) { return TN_OK; }
    return error_set(error, TN_EINVAL, "the configuration is longer than %zu bytes", size);
}

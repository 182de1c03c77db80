/* chaos/inject/inject_hostile.c: peers that misbehave: late, twice, or with garbage. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "chaos/cluster/lab.h"
#include "chaos/inject/hostile_client.h"
#include "chaos/inject/network_targets.h"
#include "chaos/inject/nft_script.h"
#include "chaos/inject/proxy.h"
#include "common/base/clock.h"

/* ------------------------------------------------------------- delay, duplicate */

enum { DUPLICATE_PERCENT = 30 };

struct proxies {
    uint32_t count;
    struct proxy list[COMPONENTS_MAX]; /* One per target, in the same order. */
};

/*
 * New connections to and from the component go through the proxy. Older ones are reset, so that
 * they are made again. Those of `spared`, a list of addresses, are left alone.
 */
static void write_proxy_rules(struct nft_script *script, uint16_t port, const char *spared)
{
    char from[NETWORK_LIST_MAX + 32] = "", to[NETWORK_LIST_MAX + 32] = "";
    char matching[2 * NETWORK_LIST_MAX + 96];
    assert(port > 0);
    uint32_t mark = nft_new_mark();
    if (*spared != '\0') {
        snprintf(from, sizeof from, "ip saddr != { %s }", spared);
        snprintf(to, sizeof to, "ip daddr != { %s }", spared);
    }
    snprintf(matching, sizeof matching, "%s %s ct mark < %u", from, to, mark);
    nft_mark_new_connections(script, mark);
    nft_reset_rules(script, matching);
    nft_chain_redirect(script, "prerouting");
    nft_rule(script, "iifname \"eth0\" meta l4proto tcp %s redirect to :%u", from, (unsigned)port);
    nft_chain_redirect(script, "output");
    nft_rule(script, "oifname \"eth0\" meta l4proto tcp meta mark != %u %s redirect to :%u",
             (unsigned)PROXY_PACKET_MARK, to, (unsigned)port);
}

static enum tn_status start_proxy(struct target_cluster *cluster, const struct active_fault *fault,
                                  const struct component *target, struct proxy *proxy,
                                  struct error *error)
{
    char spared[NETWORK_LIST_MAX] = "";
    struct nft_script script;
    struct proxy_config config = {.seed = random_next(&cluster->random)};
    if (fault->injection.fault == FAULT_DELAY) {
        config.delay_ms = (uint32_t)fault->injection.value;
    } else { /* ZooKeeper does not speak in our frames. */
        config.duplicate_percent = DUPLICATE_PERCENT;
        network_list(cluster, NETWORK_SERVERS, NULL, spared);
    }
    enum tn_status status = proxy_start(&config, cluster->lab, target->name, proxy, error);
    if (status != TN_OK) { return status; }
    nft_script_begin(&script, fault->injection.id);
    write_proxy_rules(&script, proxy->port, spared);
    status = nft_script_apply(&script, cluster->lab, target->name, error);
    if (status != TN_OK) { proxy_stop(proxy, NULL); }
    return status;
}

static void stop_proxies(struct target_cluster *cluster, struct active_fault *fault,
                         struct proxy_counts *counts)
{
    struct proxies *proxies = fault->state;
    assert(proxies->count <= fault->targets.count);
    for (uint32_t i = 0; i < proxies->count; i++) {
        /* The proxy first: its resets have to reach both ends on the redirected path. */
        proxy_stop(&proxies->list[i], counts);
        nft_remove(cluster->lab, fault->targets.components[i]->name, fault->injection.id);
    }
}

static enum tn_status begin_proxies(struct target_cluster *cluster, struct active_fault *fault,
                                    struct error *error)
{
    struct proxies *proxies = fault->state;
    enum tn_status status = network_keep_targets(cluster, fault, error);
    if (status != TN_OK) { return status; }
    while (proxies->count < fault->targets.count) {
        status = start_proxy(cluster, fault, fault->targets.components[proxies->count],
                             &proxies->list[proxies->count], error);
        if (status != TN_OK) {
            stop_proxies(cluster, fault, NULL);
            return status;
        }
        proxies->count++;
    }
    if (fault->injection.fault == FAULT_DELAY) {
        fault_describe(fault, "received bytes are up to %.0f ms late at ", fault->injection.value);
    } else {
        fault_describe(fault, "some received frames arrive twice at ");
    }
    network_describe_targets(cluster, fault);
    return TN_OK;
}

static void end_proxies(struct target_cluster *cluster, struct active_fault *fault)
{
    struct proxy_counts counts = {0};
    stop_proxies(cluster, fault, &counts);
    if (fault->injection.fault == FAULT_DELAY) {
        fault_describe(fault,
                       "%" PRIu64 " bytes on %" PRIu64
                       " connections were delayed; direct connections again at ",
                       counts.bytes, counts.connections);
    } else {
        fault_describe(fault,
                       "%" PRIu64 " of %" PRIu64 " frames on %" PRIu64
                       " connections arrived twice; direct connections again at ",
                       counts.doubled, counts.frames, counts.connections);
    }
    network_describe_targets(cluster, fault);
}

const struct injector injector_proxy = {
    .state_bytes = sizeof(struct proxies), .begin = begin_proxies, .end = end_proxies};

/* ------------------------------------------------------------- hostile client */

enum { ATTACK_EVERY_MS = 200 };

struct hostile {
    struct hostile_client client;
    uint64_t next_ms;
};

/* Attack all ports of all targets once. TN_EAGAIN: none of them accepted a connection. */
static enum tn_status attack_all(struct target_cluster *cluster, struct active_fault *fault,
                                 struct error *error)
{
    struct hostile *hostile = fault->state;
    uint32_t before = hostile->client.connections;
    hostile->next_ms = clock_monotonic_ms() + ATTACK_EVERY_MS;
    fault_describe(fault, "hostile connections to ");
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        struct listening_ports ports;
        const struct component *component = fault->targets.components[i];
        if (hostile_client_find_ports(cluster, component, &ports, error) != TN_OK) { continue; }
        for (uint32_t j = 0; j < ports.count; j++) {
            hostile_client_attack(&hostile->client, &cluster->random, ports.address, ports.list[j],
                                  component->server != 0);
            fault_describe_item(fault, "%s at %s:%u", component->name, ports.address,
                                (unsigned)ports.list[j]);
        }
    }
    if (hostile->client.connections > before) { return TN_OK; }
    return error_set(error, TN_EAGAIN, "%s accepts no connections now", fault->injection.selector);
}

static enum tn_status begin_hostile(struct target_cluster *cluster, struct active_fault *fault,
                                    struct error *error)
{
    struct hostile *hostile = fault->state;
    enum tn_status status = attack_all(cluster, fault, error);
    if (fault->injection.for_ms == 0) { hostile_client_close(&hostile->client); }
    return status;
}

static void tick_hostile(struct target_cluster *cluster, struct active_fault *fault)
{
    struct hostile *hostile = fault->state;
    struct error error;
    if (clock_monotonic_ms() < hostile->next_ms) { return; }
    hostile_client_close(&hostile->client);
    (void)!attack_all(cluster, fault, &error); /* A target that died will be restarted. */
}

static void end_hostile(struct target_cluster *cluster, struct active_fault *fault)
{
    struct hostile *hostile = fault->state;
    (void)cluster;
    hostile_client_close(&hostile->client);
    fault_describe(fault, "%" PRIu32 " hostile connections were made", hostile->client.connections);
}

const struct injector injector_hostile_client = {.state_bytes = sizeof(struct hostile),
                                                 .begin = begin_hostile,
                                                 .tick = tick_hostile,
                                                 .end = end_hostile};

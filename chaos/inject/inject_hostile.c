/* chaos/inject/inject_hostile.c: peers that misbehave: late, twice, or with garbage. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/lab.h"
#include "chaos/cluster/targets.h"
#include "chaos/inject/hostile_client.h"
#include "chaos/inject/network_targets.h"
#include "chaos/inject/nft_script.h"
#include "chaos/inject/proxy.h"
#include "common/base/clock.h"

/* ------------------------------------------------------------- delay, duplicate */

enum { DUPLICATE_PERCENT = 30 };

struct proxies {
    uint32_t count;
    struct proxy list[TARGETS_MAX]; /* Of each target, in their order. */
};

/*
 * Connections that begin from now on go through the proxy, those that the place dials as well as
 * those it is dialled by; older ones are reset, so that they come again. Those of `spared`, a list
 * of addresses, are left alone.
 */
static void proxy_rules(struct nft_script *script, uint16_t port, const char *spared)
{
    char from[NETWORK_LIST_MAX + 32] = "", to[NETWORK_LIST_MAX + 32] = "";
    char matching[2 * NETWORK_LIST_MAX + 96];
    uint32_t mark = nft_new_mark();
    if (*spared) {
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

static enum tn_status put_proxy(struct target_cluster *cluster, const struct strike *strike,
                                const char *target, struct proxy *proxy, struct error *error)
{
    char spared[NETWORK_LIST_MAX] = "";
    struct nft_script script;
    struct proxy_config config = {.seed = random_next(&cluster->random)};
    if (strike->injection.fault == FAULT_DELAY) {
        config.delay_ms = (uint32_t)strike->injection.value;
    } else { /* ZooKeeper's are not our frames. */
        double share = strike->injection.value;
        config.duplicate_percent = share > 0 ? (uint32_t)share : DUPLICATE_PERCENT;
        network_list(cluster, NETWORK_SERVERS, NULL, spared);
    }
    enum tn_status status = proxy_start(&config, cluster->lab, target, proxy, error);
    if (status != TN_OK) { return status; }
    nft_script_begin(&script, strike->injection.id);
    proxy_rules(&script, proxy->port, spared);
    status = nft_script_apply(&script, cluster->lab, target, error);
    if (status != TN_OK) { proxy_stop(proxy, NULL); }
    return status;
}

static void remove_proxies(struct target_cluster *cluster, const struct strike *strike,
                           struct proxies *proxies, struct proxy_counts *counts)
{
    for (uint32_t i = 0; i < proxies->count; i++) {
        /* First: both ends are told, over the way they know. */
        proxy_stop(&proxies->list[i], counts);
        nft_remove(cluster->lab, strike->targets[i], strike->injection.id);
    }
    free(proxies);
}

static void tell_proxies(struct target_cluster *cluster, struct strike *strike)
{
    char words[96];
    if (strike->injection.fault == FAULT_DELAY) {
        snprintf(words, sizeof words, "what arrives is up to %.0f ms late at",
                 strike->injection.value);
    } else {
        snprintf(words, sizeof words, "frames that arrive come twice at");
    }
    network_targets_tell(cluster, strike, words);
}

static enum tn_status begin_proxies(struct target_cluster *cluster, struct strike *strike,
                                    struct error *error)
{
    enum tn_status status = network_targets_find(cluster, strike, error);
    if (status != TN_OK) { return status; }
    struct proxies *proxies = calloc(1, sizeof *proxies);
    if (proxies == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (; status == TN_OK && proxies->count < strike->target_count; proxies->count++) {
        const char *target = strike->targets[proxies->count];
        status = put_proxy(cluster, strike, target, &proxies->list[proxies->count], error);
        if (status != TN_OK) { break; }
    }
    if (status != TN_OK) {
        remove_proxies(cluster, strike, proxies, NULL);
        return status;
    }
    strike->state = proxies;
    tell_proxies(cluster, strike);
    return TN_OK;
}

static void end_proxies(struct target_cluster *cluster, struct strike *strike)
{
    struct proxy_counts counts = {0};
    char words[160];
    remove_proxies(cluster, strike, strike->state, &counts);
    strike->state = NULL;
    if (strike->injection.fault == FAULT_DELAY) {
        snprintf(words, sizeof words,
                 "%" PRIu64 " bytes on %" PRIu64 " connections were late; direct ones again at",
                 counts.bytes, counts.connections);
    } else {
        snprintf(words, sizeof words,
                 "%" PRIu64 " of %" PRIu64 " frames on %" PRIu64
                 " connections came twice; direct ones again at",
                 counts.doubled, counts.frames, counts.connections);
    }
    network_targets_tell(cluster, strike, words);
}

const struct injector injector_proxy = {.begin = begin_proxies, .end = end_proxies};

/* ------------------------------------------------------------- poke */

enum { HOSTILE_CLIENT_EVERY_MS = 200 };

struct poking {
    struct poke poke;
    uint64_t next_ms;
};

/* Poke all targets once. TN_EAGAIN: nobody listens. */
static enum tn_status poke_all(struct target_cluster *cluster, struct strike *strike,
                               struct poke *poke, struct error *error)
{
    size_t length = (size_t)snprintf(strike->text, sizeof strike->text, "hostile connections to");
    uint32_t before = poke->connections;
    for (uint32_t i = 0; i < strike->target_count; i++) {
        struct hostile_client_ports ports;
        const struct place *place = target_cluster_place(cluster, strike->targets[i]);
        if (hostile_client_find_ports(cluster, place, &ports, error) != TN_OK) { continue; }
        for (uint32_t j = 0; j < ports.count; j++) {
            hostile_client_port(poke, &cluster->random, ports.address, ports.list[j],
                                place->server != 0);
            if (length < sizeof strike->text) {
                length += (size_t)snprintf(strike->text + length, sizeof strike->text - length,
                                           " %s at %s:%u", place->name, ports.address,
                                           (unsigned)ports.list[j]);
            }
        }
    }
    if (poke->connections > before) { return TN_OK; }
    return error_set(error, TN_EAGAIN, "nothing of %s listens now", strike->injection.whom);
}

static enum tn_status begin_poke(struct target_cluster *cluster, struct strike *strike,
                                 struct error *error)
{
    struct poking *poking = calloc(1, sizeof *poking);
    if (poking == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status == TN_OK) { status = poke_all(cluster, strike, &poking->poke, error); }
    poking->next_ms = clock_monotonic_ms() + HOSTILE_CLIENT_EVERY_MS;
    if (status == TN_OK && strike->injection.for_ms > 0) {
        strike->state = poking;
        return TN_OK;
    }
    hostile_client_let_go(&poking->poke);
    free(poking);
    return status;
}

static void tick_poke(struct target_cluster *cluster, struct strike *strike)
{
    struct poking *poking = strike->state;
    struct error error;
    if (clock_monotonic_ms() < poking->next_ms) { return; }
    poking->next_ms = clock_monotonic_ms() + HOSTILE_CLIENT_EVERY_MS;
    hostile_client_let_go(&poking->poke);
    (void)!poke_all(cluster, strike, &poking->poke, &error); /* Who died comes again. */
}

static void end_poke(struct target_cluster *cluster, struct strike *strike)
{
    struct poking *poking = strike->state;
    (void)cluster;
    hostile_client_let_go(&poking->poke);
    snprintf(strike->text, sizeof strike->text, "%u hostile connections were made",
             (unsigned)poking->poke.connections);
    free(poking);
    strike->state = NULL;
}

const struct injector injector_hostile_client = {
    .begin = begin_poke, .tick = tick_poke, .end = end_poke};

/* chaos/inject/inject_network.c: faults of the network that the packet filter does: cuts, black
 * holes, resets, loss; and slow links. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/lab.h"
#include "chaos/cluster/targets.h"
#include "chaos/inject/network_targets.h"
#include "chaos/inject/nft_script.h"
#include "common/base/clock.h"

/* Undo in all targets; the table is named after the fault. */
static void remove_tables(struct target_cluster *cluster, const struct strike *strike)
{
    for (uint32_t i = 0; i < strike->target_count; i++) {
        nft_remove(cluster->lab, strike->targets[i], strike->injection.id);
    }
}

/* Of `target`'s own network: what the fault does there. */
typedef void (*write_rules)(struct nft_script *script, struct target_cluster *cluster,
                            const struct strike *strike, const char *target);

/* The same rules in all targets, or in none. */
static enum tn_status apply(struct target_cluster *cluster, struct strike *strike,
                            write_rules rules, struct error *error)
{
    enum tn_status status = TN_OK;
    uint32_t done = 0;
    for (; status == TN_OK && done < strike->target_count; done++) {
        struct nft_script script;
        nft_script_begin(&script, strike->injection.id);
        rules(&script, cluster, strike, strike->targets[done]);
        status = nft_script_apply(&script, cluster->lab, strike->targets[done], error);
    }
    for (uint32_t i = 0; status != TN_OK && i + 1 < done; i++) {
        nft_remove(cluster->lab, strike->targets[i], strike->injection.id);
    }
    return status;
}

static void end_tables(struct target_cluster *cluster, struct strike *strike)
{
    remove_tables(cluster, strike);
    network_targets_tell(cluster, strike, "packets pass again at");
}

static enum tn_status begin_tables(struct target_cluster *cluster, struct strike *strike,
                                   write_rules rules, const char *words, struct error *error)
{
    enum tn_status status = network_targets_find(cluster, strike, error);
    if (status == TN_OK) { status = apply(cluster, strike, rules, error); }
    if (status == TN_OK) { network_targets_tell(cluster, strike, words); }
    return status;
}

/* ------------------------------------------------------------- cuts */

static void cut_in(struct nft_script *script)
{
    nft_chain(script, "input", NFT_PRIORITY_FILTER);
    nft_rule(script, "iifname \"eth0\" drop");
}

static void cut_out(struct nft_script *script)
{
    nft_chain(script, "output", NFT_PRIORITY_FILTER);
    nft_rule(script, "oifname \"eth0\" drop");
}

/* Nothing to or from the addresses of a list, "10.77.0.2, 10.77.0.3". */
static void cut_from(struct nft_script *script, const char *addresses)
{
    if (!*addresses) { return; /* A cluster of one. */ }
    nft_chain(script, "input", NFT_PRIORITY_FILTER);
    nft_rule(script, "ip saddr { %s } drop", addresses);
    nft_chain(script, "output", NFT_PRIORITY_FILTER);
    nft_rule(script, "ip daddr { %s } drop", addresses);
}

static void cut_rules(struct nft_script *script, struct target_cluster *cluster,
                      const struct strike *strike, const char *target)
{
    char addresses[NETWORK_LIST_MAX];
    switch (strike->injection.fault) {
    case FAULT_CUT_ZOOKEEPER:
        network_list(cluster, NETWORK_SERVERS, target, addresses);
        cut_from(script, addresses);
        break;
    case FAULT_CUT_PEERS:
        network_list(cluster, NETWORK_NODES, target, addresses);
        cut_from(script, addresses);
        break;
    case FAULT_CUT_IN: cut_in(script); break;
    case FAULT_CUT_OUT: cut_out(script); break;
    default:
        cut_in(script);
        cut_out(script);
        break;
    }
}

static enum tn_status begin_cut(struct target_cluster *cluster, struct strike *strike,
                                struct error *error)
{
    static const char *const words[FAULT_COUNT] = {
        [FAULT_CUT_ZOOKEEPER] = "no packets between ZooKeeper and",
        [FAULT_CUT_PEERS] = "no packets between other nodes and",
        [FAULT_CUT_IN] = "nothing arrives at",
        [FAULT_CUT_OUT] = "nothing leaves",
        [FAULT_CUT] = "no packets to or from"};
    const char *what = words[strike->injection.fault];
    return begin_tables(cluster, strike, cut_rules, what != NULL ? what : words[FAULT_CUT], error);
}

const struct injector injector_cut = {.begin = begin_cut, .end = end_tables};

/* ------------------------------------------------------------- halves */

/* The half that the targets are cut off from. */
struct half {
    char addresses[NETWORK_LIST_MAX], names[NETWORK_LIST_MAX];
};

/* Draw one half of the servers and one of the nodes: they become the targets, the others `rest`. */
static void draw_half(struct target_cluster *cluster, struct strike *strike, struct half *rest)
{
    const char *all[PLACES_MAX];
    uint32_t count = 0, kept = 0, left[2] = {0, 0}, wanted[2];
    for (uint32_t i = 0; i < strike->target_count; i++) {
        all[count++] = target_cluster_place(cluster, strike->targets[i])->name;
    }
    for (uint32_t i = 0; i < count; i++) { left[target_cluster_place(cluster, all[i])->is_node]++; }
    for (int kind = 0; kind < 2; kind++) {
        wanted[kind] = (left[kind] + (uint32_t)random_below(&cluster->random, 2)) / 2;
    }
    rest->addresses[0] = rest->names[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        int kind = target_cluster_place(cluster, all[i])->is_node;
        bool chosen = random_below(&cluster->random, left[kind]--) < wanted[kind];
        if (chosen) {
            wanted[kind]--;
            snprintf(strike->targets[kept++], PLACE_NAME_MAX, "%s", all[i]);
        } else {
            network_list_add(rest->addresses, lab_address(cluster->lab, all[i]));
            network_list_add(rest->names, all[i]);
        }
    }
    strike->target_count = kept;
}

static void halves_rules(struct nft_script *script, struct target_cluster *cluster,
                         const struct strike *strike, const char *target)
{
    (void)cluster;
    (void)target;
    cut_from(script, strike->state);
}

static enum tn_status begin_halves(struct target_cluster *cluster, struct strike *strike,
                                   struct error *error)
{
    char words[NETWORK_LIST_MAX + 64];
    struct half rest;
    enum tn_status status = network_targets_find(cluster, strike, error);
    if (status != TN_OK) { return status; }
    draw_half(cluster, strike, &rest);
    strike->state = rest.addresses;
    status = apply(cluster, strike, halves_rules, error);
    strike->state = NULL;
    snprintf(words, sizeof words, "no packets between %s and", rest.names);
    if (status == TN_OK) { network_targets_tell(cluster, strike, words); }
    return status;
}

const struct injector injector_halves = {.begin = begin_halves, .end = end_tables};

/* ------------------------------------------------------------- black hole */

static void black_hole_rules(struct nft_script *script, struct target_cluster *cluster,
                             const struct strike *strike, const char *target)
{
    (void)cluster;
    (void)strike;
    (void)target;
    uint32_t mark = nft_new_mark();
    nft_mark_new_connections(script, mark);
    nft_chain(script, "input", NFT_PRIORITY_FILTER);
    nft_rule(script, "meta l4proto tcp ct mark < %u drop", mark);
    nft_rule(script, "meta l4proto tcp ct state invalid drop");
    nft_chain(script, "output", NFT_PRIORITY_FILTER);
    nft_rule(script, "meta l4proto tcp ct mark < %u drop", mark);
    nft_rule(script, "meta l4proto tcp ct state invalid drop");
}

static enum tn_status begin_black_hole(struct target_cluster *cluster, struct strike *strike,
                                       struct error *error)
{
    return begin_tables(cluster, strike, black_hole_rules,
                        "packets of connections made before vanish at", error);
}

const struct injector injector_black_hole = {.begin = begin_black_hole, .end = end_tables};

/* ------------------------------------------------------------- loss */

static void loss_rules(struct nft_script *script, struct target_cluster *cluster,
                       const struct strike *strike, const char *target)
{
    (void)cluster;
    (void)target;
    unsigned share = (unsigned)(strike->injection.value * 100 + 0.5);
    if (share > 9999) { share = 9999; }
    nft_chain(script, "input", NFT_PRIORITY_FILTER);
    nft_rule(script, "iifname \"eth0\" numgen random mod 10000 < %u drop", share);
    nft_chain(script, "output", NFT_PRIORITY_FILTER);
    nft_rule(script, "oifname \"eth0\" numgen random mod 10000 < %u drop", share);
}

static enum tn_status begin_loss(struct target_cluster *cluster, struct strike *strike,
                                 struct error *error)
{
    char words[96];
    snprintf(words, sizeof words, "%.4g %% of the packets are lost, each way, at",
             strike->injection.value);
    return begin_tables(cluster, strike, loss_rules, words, error);
}

const struct injector injector_loss = {.begin = begin_loss, .end = end_tables};

/* ------------------------------------------------------------- reset storm */

enum { STORM_PERIOD_MS = 200, STORM_BURST_MS = 30 };

struct storm {
    uint64_t change_at_ms; /* The present burst or calm ends. */
    uint32_t bursts;
    bool raging;
};

static void storm_rules(struct nft_script *script, struct target_cluster *cluster,
                        const struct strike *strike, const char *target)
{
    (void)cluster;
    (void)strike;
    (void)target;
    nft_reset_rules(script, "");
}

/* What fails in the midst of a storm is tried again in the next burst. */
static void tick_storm(struct target_cluster *cluster, struct strike *strike)
{
    struct storm *storm = strike->state;
    struct error error;
    if (clock_monotonic_ms() < storm->change_at_ms) { return; }
    if (storm->raging) {
        remove_tables(cluster, strike);
        storm->raging = false;
    } else if (apply(cluster, strike, storm_rules, &error) == TN_OK) {
        storm->raging = true;
        storm->bursts++;
    }
    storm->change_at_ms =
        clock_monotonic_ms() + (storm->raging ? STORM_BURST_MS : STORM_PERIOD_MS - STORM_BURST_MS);
}

static enum tn_status begin_storm(struct target_cluster *cluster, struct strike *strike,
                                  struct error *error)
{
    struct storm *storm = calloc(1, sizeof *storm);
    if (storm == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status =
        begin_tables(cluster, strike, storm_rules,
                     "connections are reset for 30 ms, five times a second, at", error);
    if (status != TN_OK) {
        free(storm);
        return status;
    }
    *storm = (struct storm){
        .change_at_ms = clock_monotonic_ms() + STORM_BURST_MS, .bursts = 1, .raging = true};
    strike->state = storm;
    return TN_OK;
}

static void end_storm(struct target_cluster *cluster, struct strike *strike)
{
    struct storm *storm = strike->state;
    char words[64];
    if (storm->raging) { remove_tables(cluster, strike); }
    snprintf(words, sizeof words, "%" PRIu32 " bursts of resets are over at", storm->bursts);
    network_targets_tell(cluster, strike, words);
    free(storm);
    strike->state = NULL;
}

const struct injector injector_reset_storm = {
    .begin = begin_storm, .tick = tick_storm, .end = end_storm};

/* ------------------------------------------------------------- slow links */

/* Both ends of the link send slowly: the place's own, and the hub's to it. Two of these faults at a
 * time at one place end together. */
static enum tn_status set_rate(struct target_cluster *cluster, const char *target, const char *rate,
                               struct error *error)
{
    char link[LAB_LINK_MAX];
    if (!lab_link(cluster->lab, target, link)) {
        return error_set(error, TN_ENOTSUP, "%s has no network of its own", target);
    }
    const char *const own[] = {"tc",   "qdisc", "replace", "dev",  "eth0",    "root",  "tbf",
                               "rate", rate,    "burst",   "64kb", "latency", "100ms", NULL};
    const char *const hub[] = {"tc",   "qdisc", "replace", "dev",  link,      "root",  "tbf",
                               "rate", rate,    "burst",   "64kb", "latency", "100ms", NULL};
    enum tn_status status = lab_command(cluster->lab, target, own, error);
    return status == TN_OK ? lab_command(cluster->lab, NULL, hub, error) : status;
}

static void remove_rate(struct target_cluster *cluster, const char *target)
{
    char link[LAB_LINK_MAX];
    struct error error;
    if (!lab_link(cluster->lab, target, link)) { return; }
    const char *const own[] = {"tc", "qdisc", "del", "dev", "eth0", "root", NULL};
    const char *const hub[] = {"tc", "qdisc", "del", "dev", link, "root", NULL};
    (void)!lab_command(cluster->lab, target, own, &error); /* Another's end has done it. */
    (void)!lab_command(cluster->lab, NULL, hub, &error);
}

static void end_bandwidth(struct target_cluster *cluster, struct strike *strike)
{
    for (uint32_t i = 0; i < strike->target_count; i++) {
        remove_rate(cluster, strike->targets[i]);
    }
    network_targets_tell(cluster, strike, "full speed again at");
}

static enum tn_status begin_bandwidth(struct target_cluster *cluster, struct strike *strike,
                                      struct error *error)
{
    char rate[32], words[64];
    enum tn_status status = network_targets_find(cluster, strike, error);
    snprintf(rate, sizeof rate, "%.0fkbit", strike->injection.value * 1000);
    for (uint32_t i = 0; status == TN_OK && i < strike->target_count; i++) {
        status = set_rate(cluster, strike->targets[i], rate, error);
        for (uint32_t j = 0; status != TN_OK && j <= i; j++) {
            remove_rate(cluster, strike->targets[j]);
        }
    }
    snprintf(words, sizeof words, "%.4g Mbit/s, each way, at", strike->injection.value);
    if (status == TN_OK) { network_targets_tell(cluster, strike, words); }
    return status;
}

const struct injector injector_bandwidth = {.begin = begin_bandwidth, .end = end_bandwidth};

/* chaos/inject/inject_network.c: network faults by packet filters (cuts, black holes, resets, loss)
 * and by slow links. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "chaos/cluster/lab.h"
#include "chaos/inject/network_targets.h"
#include "chaos/inject/nft_script.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"

/* The packet filter rules of a fault in the network of one target. */
struct rules {
    struct nft_script script;
    const struct target_cluster *cluster;
    const struct active_fault *fault;
    const struct component *target;
};
typedef void (*write_rules)(struct rules *rules);

/* The table is named after the fault. */
static void remove_tables(struct target_cluster *cluster, const struct active_fault *fault,
                          uint32_t count)
{
    assert(count <= fault->targets.count);
    for (uint32_t i = 0; i < count; i++) {
        nft_remove(cluster->lab, fault->targets.components[i]->name, fault->injection.id);
    }
}

/* Apply the rules in the networks of all targets, or in none. */
static enum tn_status apply(struct target_cluster *cluster, struct active_fault *fault,
                            write_rules write, struct error *error)
{
    assert(fault->targets.count > 0);
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        const struct component *target = fault->targets.components[i];
        struct rules rules = {.cluster = cluster, .fault = fault, .target = target};
        nft_script_begin(&rules.script, fault->injection.id);
        write(&rules);
        enum tn_status status = nft_script_apply(&rules.script, cluster->lab, target->name, error);
        if (status == TN_OK) { continue; }
        remove_tables(cluster, fault, i);
        return status;
    }
    return TN_OK;
}

static void end_filter(struct target_cluster *cluster, struct active_fault *fault)
{
    remove_tables(cluster, fault, fault->targets.count);
    fault_describe(fault, "packets pass again at ");
    network_describe_targets(cluster, fault);
}

/* ------------------------------------------------------------- filters without state */

static void drop_in(struct rules *rules, const char *matching)
{
    nft_chain(&rules->script, "input", NFT_PRIORITY_FILTER);
    nft_rule(&rules->script, "%s drop", matching);
}

static void drop_out(struct rules *rules, const char *matching)
{
    nft_chain(&rules->script, "output", NFT_PRIORITY_FILTER);
    nft_rule(&rules->script, "%s drop", matching);
}

static void drop_all_in(struct rules *rules)
{
    drop_in(rules, "iifname \"eth0\"");
}

static void drop_all_out(struct rules *rules)
{
    drop_out(rules, "oifname \"eth0\"");
}

static void drop_all(struct rules *rules)
{
    drop_all_in(rules);
    drop_all_out(rules);
}

/* Drop packets to and from a list of addresses, "10.77.0.2, 10.77.0.3". */
static void drop_addresses(struct rules *rules, const char *addresses)
{
    char matching[NETWORK_LIST_MAX + 32];
    if (*addresses == '\0') { return; /* The cluster has a single node. */ }
    snprintf(matching, sizeof matching, "ip saddr { %s }", addresses);
    drop_in(rules, matching);
    snprintf(matching, sizeof matching, "ip daddr { %s }", addresses);
    drop_out(rules, matching);
}

static void drop_servers(struct rules *rules)
{
    char addresses[NETWORK_LIST_MAX];
    network_list(rules->cluster, NETWORK_SERVERS, rules->target, addresses);
    drop_addresses(rules, addresses);
}

static void drop_nodes(struct rules *rules)
{
    char addresses[NETWORK_LIST_MAX];
    network_list(rules->cluster, NETWORK_NODES, rules->target, addresses);
    drop_addresses(rules, addresses);
}

static void drop_old_connections(struct rules *rules)
{
    static const char *const hooks[] = {"input", "output"};
    uint32_t mark = nft_new_mark();
    nft_mark_new_connections(&rules->script, mark);
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        nft_chain(&rules->script, hooks[i], NFT_PRIORITY_FILTER);
        nft_rule(&rules->script, "meta l4proto tcp ct mark < %u drop", mark);
        nft_rule(&rules->script, "meta l4proto tcp ct state invalid drop");
    }
}

static void drop_share(struct rules *rules)
{
    char matching[80];
    unsigned share = u32_min((unsigned)(rules->fault->injection.value * 100 + 0.5), 9999);
    snprintf(matching, sizeof matching, "iifname \"eth0\" numgen random mod 10000 < %u", share);
    drop_in(rules, matching);
    snprintf(matching, sizeof matching, "oifname \"eth0\" numgen random mod 10000 < %u", share);
    drop_out(rules, matching);
}

static const struct filter {
    write_rules write;
    const char *text;
} filters[FAULT_COUNT] = {
    [FAULT_CUT_ZOOKEEPER] = {drop_servers, "no packets between ZooKeeper and"},
    [FAULT_CUT_PEERS] = {drop_nodes, "no packets between other nodes and"},
    [FAULT_CUT_IN] = {drop_all_in, "nothing arrives at"},
    [FAULT_CUT_OUT] = {drop_all_out, "nothing leaves"},
    [FAULT_CUT] = {drop_all, "no packets to or from"},
    [FAULT_BLACK_HOLE] = {drop_old_connections, "packets of older connections are dropped at"},
    [FAULT_LOSS] = {drop_share, "% of the packets are lost, in each direction, at"},
};

static enum tn_status begin_filter(struct target_cluster *cluster, struct active_fault *fault,
                                   struct error *error)
{
    const struct filter *filter = &filters[fault->injection.fault];
    assert(filter->write != NULL);
    enum tn_status status = network_keep_targets(cluster, fault, error);
    if (status == TN_OK) { status = apply(cluster, fault, filter->write, error); }
    if (status != TN_OK) { return status; }
    if (fault->injection.fault == FAULT_LOSS) {
        fault_describe(fault, "%.4g %s ", fault->injection.value, filter->text);
    } else {
        fault_describe(fault, "%s ", filter->text);
    }
    network_describe_targets(cluster, fault);
    return TN_OK;
}

const struct injector injector_filter = {.begin = begin_filter, .end = end_filter};

/* ------------------------------------------------------------- halves */

/* The half that the targets are cut off from. */
struct half {
    char addresses[NETWORK_LIST_MAX], names[NETWORK_LIST_MAX];
};

/* Draw one half of the servers and one of the nodes: they stay targets, the others become
 * `rest`. */
static void draw_half(struct target_cluster *cluster, struct target_list *targets,
                      struct half *rest)
{
    uint32_t left[2] = {0, 0}, wanted[2], kept = 0;
    assert(rest->names[0] == '\0');
    for (uint32_t i = 0; i < targets->count; i++) { left[targets->components[i]->is_node]++; }
    for (int kind = 0; kind < 2; kind++) {
        wanted[kind] = (left[kind] + (uint32_t)random_below(&cluster->random, 2)) / 2;
    }
    for (uint32_t i = 0; i < targets->count; i++) {
        struct component *component = targets->components[i];
        int kind = component->is_node;
        if (random_below(&cluster->random, left[kind]--) < wanted[kind]) {
            wanted[kind]--;
            targets->components[kept++] = component;
        } else {
            network_list_add(rest->addresses, lab_address(cluster->lab, component->name));
            network_list_add(rest->names, component->name);
        }
    }
    targets->count = kept;
}

static void drop_rest(struct rules *rules)
{
    const struct half *rest = rules->fault->state;
    drop_addresses(rules, rest->addresses);
}

static enum tn_status begin_halves(struct target_cluster *cluster, struct active_fault *fault,
                                   struct error *error)
{
    struct half *rest = fault->state;
    enum tn_status status = network_keep_targets(cluster, fault, error);
    if (status != TN_OK) { return status; }
    draw_half(cluster, &fault->targets, rest);
    status = apply(cluster, fault, drop_rest, error);
    fault_describe(fault, "no packets between %s and ", rest->names);
    network_describe_targets(cluster, fault);
    return status;
}

const struct injector injector_halves = {
    .state_bytes = sizeof(struct half), .begin = begin_halves, .end = end_filter};

/* ------------------------------------------------------------- reset storm */

enum { STORM_PERIOD_MS = 200, STORM_BURST_MS = 30 };

struct storm {
    uint64_t change_at_ms; /* The end of this burst, or of the pause after it. */
    uint32_t bursts;
    bool in_burst;
};

static void reset_all(struct rules *rules)
{
    nft_reset_rules(&rules->script, "");
}

static enum tn_status begin_burst(struct target_cluster *cluster, struct active_fault *fault,
                                  struct error *error)
{
    struct storm *storm = fault->state;
    assert(!storm->in_burst);
    enum tn_status status = apply(cluster, fault, reset_all, error);
    if (status != TN_OK) { return status; }
    storm->in_burst = true;
    storm->bursts++;
    storm->change_at_ms = clock_monotonic_ms() + STORM_BURST_MS;
    return TN_OK;
}

static void end_burst(struct target_cluster *cluster, struct active_fault *fault)
{
    struct storm *storm = fault->state;
    assert(storm->in_burst);
    remove_tables(cluster, fault, fault->targets.count);
    storm->in_burst = false;
}

/* A burst that fails is left out. */
static void tick_storm(struct target_cluster *cluster, struct active_fault *fault)
{
    struct storm *storm = fault->state;
    struct error error;
    if (clock_monotonic_ms() < storm->change_at_ms) { return; }
    if (storm->in_burst) {
        end_burst(cluster, fault);
    } else if (begin_burst(cluster, fault, &error) == TN_OK) {
        return;
    }
    storm->change_at_ms = clock_monotonic_ms() + STORM_PERIOD_MS - STORM_BURST_MS;
}

static enum tn_status begin_storm(struct target_cluster *cluster, struct active_fault *fault,
                                  struct error *error)
{
    enum tn_status status = network_keep_targets(cluster, fault, error);
    if (status == TN_OK) { status = begin_burst(cluster, fault, error); }
    fault_describe(fault, "connections are reset for %d ms, every %d ms, at ", STORM_BURST_MS,
                   STORM_PERIOD_MS);
    if (status == TN_OK) { network_describe_targets(cluster, fault); }
    return status;
}

static void end_storm(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct storm *storm = fault->state;
    if (storm->in_burst) { end_burst(cluster, fault); }
    fault_describe(fault, "%" PRIu32 " bursts of resets are over at ", storm->bursts);
    network_describe_targets(cluster, fault);
}

const struct injector injector_reset_storm = {.state_bytes = sizeof(struct storm),
                                              .begin = begin_storm,
                                              .tick = tick_storm,
                                              .end = end_storm};

/* ------------------------------------------------------------- slow links */

/* Run tc for both ends of a component's link, which both send slowly: eth0 of the component, and
 * the hub's end. `rate` NULL: remove the limit. Two such faults at one component at a time end
 * together. */
static enum tn_status set_rate(struct target_cluster *cluster, const char *component,
                               const char *rate, struct error *error)
{
    char link[LAB_LINK_MAX];
    if (!lab_link(cluster->lab, component, link)) {
        return error_set(error, TN_ENOTSUP, "%s has no network of its own", component);
    }
    const char *const devices[] = {"eth0", link}, *const components[] = {component, NULL};
    enum tn_status status = TN_OK;
    for (int i = 0; i < 2 && (status == TN_OK || rate == NULL); i++) {
        const char *const set[] = {"tc",   "qdisc", "replace", "dev",  devices[i], "root",  "tbf",
                                   "rate", rate,    "burst",   "64kb", "latency",  "100ms", NULL};
        const char *const remove[] = {"tc", "qdisc", "del", "dev", devices[i], "root", NULL};
        status = lab_command(cluster->lab, components[i], rate != NULL ? set : remove, error);
    }
    return status;
}

static void remove_rates(struct target_cluster *cluster, const struct active_fault *fault,
                         uint32_t count)
{
    struct error error;
    assert(count <= fault->targets.count);
    for (uint32_t i = 0; i < count; i++) {
        (void)!set_rate(cluster, fault->targets.components[i]->name, NULL, &error);
    }
}

static enum tn_status begin_bandwidth(struct target_cluster *cluster, struct active_fault *fault,
                                      struct error *error)
{
    char rate[32];
    enum tn_status status = network_keep_targets(cluster, fault, error);
    snprintf(rate, sizeof rate, "%.0fkbit", fault->injection.value * 1000);
    for (uint32_t i = 0; status == TN_OK && i < fault->targets.count; i++) {
        status = set_rate(cluster, fault->targets.components[i]->name, rate, error);
        if (status != TN_OK) { remove_rates(cluster, fault, i + 1); }
    }
    if (status != TN_OK) { return status; }
    fault_describe(fault, "%.4g Mbit/s in each direction at ", fault->injection.value);
    network_describe_targets(cluster, fault);
    return TN_OK;
}

static void end_bandwidth(struct target_cluster *cluster, struct active_fault *fault)
{
    remove_rates(cluster, fault, fault->targets.count);
    fault_describe(fault, "full speed again at ");
    network_describe_targets(cluster, fault);
}

const struct injector injector_bandwidth = {.begin = begin_bandwidth, .end = end_bandwidth};

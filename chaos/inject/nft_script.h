/*
 * chaos/inject/nft_script.h: the packet filter rules of one fault in the network of one component,
 * in a table of their own that is named after the fault. So faults can overlap, and deleting the
 * table undoes one. IPv4 only, as a lab.
 *
 *     nft_script_begin(&script, 7);
 *     nft_chain(&script, "input", 0);
 *     nft_rule(&script, "ip saddr %s drop", address);
 *     status = nft_script_apply(&script, lab, "ps:0", error);
 *     ...
 *     nft_remove(lab, "ps:0", 7);
 *
 * Threads: the main thread. Blocking: about 5 ms for apply and remove.
 */
#ifndef CHAOS_INJECT_NFT_SCRIPT_H
#define CHAOS_INJECT_NFT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chaos/cluster/lab.h"

enum { NFT_SCRIPT_MAX = 4096 };

/* Priorities of chains: MARK is after connection tracking and before address translation. */
enum { NFT_PRIORITY_MARK = -150, NFT_PRIORITY_FILTER = 0 };

struct nft_script {
    size_t length;
    bool in_chain, cut_off; /* Cut off: the text did not fit. */
    char text[NFT_SCRIPT_MAX];
};

void nft_script_begin(struct nft_script *script, uint32_t id);
/* The rules that follow are for packets at `hook`: "input" (to a socket here), "output" (from one),
 * "prerouting". */
void nft_chain(struct nft_script *script, const char *hook, int priority);
/* The rules that follow redirect packets at "prerouting" or "output". */
void nft_chain_redirect(struct nft_script *script, const char *hook);
void nft_rule(struct nft_script *script, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Chains that mark each connection that begins from now on with `mark`: rules can match older ones
 * by "ct mark < MARK". Marks of nft_new_mark() grow, so that faults do not disturb one another.
 */
void nft_mark_new_connections(struct nft_script *script, uint32_t mark);
uint32_t nft_new_mark(void);

/* Chains that drop each TCP packet `matching` ("": any) and reset both ends of its connection. */
void nft_reset_rules(struct nft_script *script, const char *matching);

/* TN_ENOTSUP: the component does not exist, or the rules are refused; no table exists then. */
MUST_CHECK enum tn_status nft_script_apply(struct nft_script *script, struct lab *lab,
                                           const char *component, struct error *error);
void nft_remove(struct lab *lab, const char *component, uint32_t id);

#endif

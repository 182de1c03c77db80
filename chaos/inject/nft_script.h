/*
 * chaos/inject/nft_script.h: the packet filter rules of one fault in the network of one place. They
 * are in a table of their own, named after the fault: several faults overlap, and each is undone by
 * deleting its table. IPv4 only: a lab has nothing else.
 *
 *     nft_script_begin(&script, 7);
 *     nft_chain(&script, "input", 0);
 *     nft_rule(&script, "ip saddr %s drop", address);
 *     status = nft_script_apply(&script, lab, "ps:0", error);
 *     ...
 *     nft_remove(lab, "ps:0", 7);
 *
 * Threads: the main thread. Blocking: some 5 ms for apply and remove.
 */
#ifndef CHAOS_INJECT_NFT_SCRIPT_H
#define CHAOS_INJECT_NFT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chaos/cluster/lab.h"

enum { NFT_SCRIPT_MAX = 4096 };

/* Priorities of chains: after connections are tracked, before addresses are translated; and where
 * packets are judged. */
enum { NFT_PRIORITY_MARK = -150, NFT_PRIORITY_FILTER = 0 };

struct nft_script {
    size_t length;
    bool in_chain, cut_off; /* It did not fit. */
    char text[NFT_SCRIPT_MAX];
};

void nft_script_begin(struct nft_script *script, uint32_t id);
/* What follows is for packets at `hook`: "input" (to a socket here), "output" (from one),
 * "prerouting". */
void nft_chain(struct nft_script *script, const char *hook, int priority);
/* The same for translation of destinations, of "prerouting" or "output". */
void nft_chain_redirect(struct nft_script *script, const char *hook);
void nft_rule(struct nft_script *script, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Chains that mark each connection that begins from now on with `mark`, and no other: rules tell
 * them apart by "ct mark < MARK" (older) and "ct mark >= MARK". Marks of nft_new_mark() grow, so
 * that those of several faults do not disturb one another.
 */
void nft_mark_new_connections(struct nft_script *script, uint32_t mark);
uint32_t nft_new_mark(void);

/* Chains that answer each TCP packet `matching` ("": any) with a reset to both its ends, and let it
 * go no further. */
void nft_reset_rules(struct nft_script *script, const char *matching);

/* TN_ENOTSUP: no such place, or the rules are refused; nothing is there then. */
MUST_CHECK enum tn_status nft_script_apply(struct nft_script *script, struct lab *lab,
                                           const char *place, struct error *error);
void nft_remove(struct lab *lab, const char *place, uint32_t id);

#endif

/*
 * chaos/cluster/lab.h: a network of network namespaces: one for each place of a run, each with its
 * own address and a veth to a bridge in the harness's own namespace (the hub). Nothing outside is
 * touched: the hub is made by unshare(CLONE_NEWNET) of this process, so that all of it is gone with
 * the process, however it ends.
 *
 * Needs CAP_NET_ADMIN and CAP_SYS_ADMIN, `ip`, `nft` and for bandwidth `tc`. Threads: the main
 * thread, before there is any other (lab_open), then the main thread. Blocking: some 5 ms for each
 * command.
 */
#ifndef CHAOS_CLUSTER_LAB_H
#define CHAOS_CLUSTER_LAB_H

#include <stdbool.h>

#include "common/base/error.h"

enum { LAB_LINK_MAX = 16 };

struct lab;

/*
 * Make the hub and a namespace for each name ("zookeeper:1", "ps:0", ...): 10.77.0.1 is the hub's,
 * the others follow. From here on this process, and what it starts, is in the hub. `networks_path`
 * becomes the file that `tanist run --networks` reads: {"version": 1, "places": {NAME:
 * {"namespace": PATH, "address": IP}}} (NULL: no file). Closing gives the namespaces up; the
 * process stays in its hub.
 *
 *   TN_ENOTSUP  this machine or this user cannot make them: which command failed, with its words
 *   TN_EINVAL   too many places
 *   TN_ENOMEM, TN_EIO
 */
MUST_CHECK enum tn_status lab_open(const char *const *names, unsigned count,
                                   const char *networks_path, struct lab **out,
                                   struct error *error);
void lab_close(struct lab *lab); /* NULL is allowed. */

/* "10.77.0.12"; NULL: no such place. */
const char *lab_address(const struct lab *lab, const char *place);

/* Run `nft -f FILE`, where FILE holds `script`, in the namespace of a place. */
MUST_CHECK enum tn_status lab_nft(struct lab *lab, const char *place, const char *script,
                                  struct error *error);
/* Run a command there (`place` NULL: in the hub): argv[0] is looked up on PATH; NULL-ended. */
MUST_CHECK enum tn_status lab_command(struct lab *lab, const char *place, const char *const *argv,
                                      struct error *error);
/* The hub's end of the place's link, a device's name ("place3"; its own end is "eth0"). False: no
 * such place. */
bool lab_link(const struct lab *lab, const char *place, char name[static LAB_LINK_MAX]);
/* Descriptor of the namespace, for setns(); borrowed. -1: no such place. */
int lab_namespace(const struct lab *lab, const char *place);

/*
 * Be in the network of a place until lab_leave(): sockets that this thread makes meanwhile, and
 * /proc/thread-self/net that it opens, are of that place for ever. For a few system calls only.
 *
 *   TN_ENOTSUP  no such place
 */
MUST_CHECK enum tn_status lab_enter(const struct lab *lab, const char *place, struct error *error);
void lab_leave(const struct lab *lab);

#endif

/*
 * chaos/cluster/lab.h: a network namespace for each component of a run, with an address of its own
 * and a veth link to a bridge in the harness's namespace (the hub). The hub itself is made by
 * unshare(CLONE_NEWNET), so the machine's network is not changed, and everything vanishes with the
 * process, however it ends.
 *
 * Needs CAP_NET_ADMIN and CAP_SYS_ADMIN, `ip`, `nft`, and `tc` for bandwidth. Threads: the main
 * thread; at lab_open() it must be the only one. Blocking: about 5 ms per command.
 */
#ifndef CHAOS_CLUSTER_LAB_H
#define CHAOS_CLUSTER_LAB_H

#include <stdbool.h>

#include "common/base/error.h"

enum { LAB_LINK_MAX = 16 };

struct lab;

/*
 * Make the hub, 10.77.0.1, and a namespace for each name ("zookeeper:1", "ps:0", ...), from
 * 10.77.0.2 on. From then on this process and its children are in the hub, also after lab_close().
 * `networks_path` (NULL: none) becomes the file that `tanist run --networks` reads:
 * {"version": 1, "networks": {NAME: {"namespace": PATH, "address": IP}}}.
 *
 *   TN_ENOTSUP  the machine or the user's rights do not allow it: the command that failed, with its
 *               output
 *   TN_EINVAL   too many components
 *   TN_ENOMEM, TN_EIO
 */
MUST_CHECK enum tn_status lab_open(const char *const *names, unsigned count,
                                   const char *networks_path, struct lab **out,
                                   struct error *error);
void lab_close(struct lab *lab); /* NULL is allowed. */

/* "10.77.0.12"; NULL: unknown component. */
const char *lab_address(const struct lab *lab, const char *component);

/* Run `nft -f FILE`, where FILE holds `script`, in the namespace of a component. */
MUST_CHECK enum tn_status lab_nft(struct lab *lab, const char *component, const char *script,
                                  struct error *error);
/* Run a command in the namespace of a component (NULL: the hub). argv[0] is searched on PATH;
 * NULL-terminated. */
MUST_CHECK enum tn_status lab_command(struct lab *lab, const char *component,
                                      const char *const *argv, struct error *error);
/* The name of the device at the hub's end of a component's link ("component3"; the other end is
 * "eth0"). False: unknown component. */
bool lab_link(const struct lab *lab, const char *component, char name[static LAB_LINK_MAX]);
/* Descriptor of the namespace, for setns(); borrowed. -1: unknown component. */
int lab_namespace(const struct lab *lab, const char *component);

/*
 * Enter the network of a component until lab_leave(), for a few system calls: sockets that this
 * thread creates meanwhile, and files of /proc/thread-self/net that it opens, stay in that network.
 *
 *   TN_ENOTSUP  unknown component
 */
MUST_CHECK enum tn_status lab_enter(const struct lab *lab, const char *component,
                                    struct error *error);
void lab_leave(const struct lab *lab);

#endif

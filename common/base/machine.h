/*
 * common/base/machine.h: which machine this is, as far as addresses are concerned. Threads: any.
 * Blocking: on the system's files only.
 */
#ifndef COMMON_BASE_MACHINE_H
#define COMMON_BASE_MACHINE_H

#include <stdbool.h>

enum { MACHINE_MAX = 64, MACHINE_ADDRESS_MAX = 64 };

/* The identity of the network stack that this process uses: the same for all processes that reach
 * each other by 127.0.0.1, another one on other machines and in other network namespaces. "" if the
 * system does not show it. */
void machine_identity(char out[static MACHINE_MAX]);

/* An IPv4 address of this machine that is not a loopback one; "" if it has none. */
void machine_other_address(char out[static MACHINE_ADDRESS_MAX]);

/* Whether only this machine can use `address`, "tcp://127.0.0.1:4000" or "localhost": a loopback
 * address, or that of all interfaces. */
bool machine_address_is_local(const char *address);

#endif

/*
 * chaos/inject/probe.h: which needs of faults this machine can satisfy. Each is tried once for
 * real: a namespace is created and deleted, a tmpfs is mounted in a namespace of a child.
 *
 * Threads: the main thread, before there is any other. Blocking: about 100 ms.
 */
#ifndef CHAOS_INJECT_PROBE_H
#define CHAOS_INJECT_PROBE_H

#include <jansson.h>

#include "chaos/plan/fault.h"

enum { PROBE_WHY_MAX = 160 };

struct probe {
    unsigned has; /* A set of `enum need`. */
    /* The reason, for each need that is missing, in the order of the enum. */
    char why_not[NEED_COUNT][PROBE_WHY_MAX];
};

void probe_machine(struct probe *probe);
/* Why the first of `needs` that is missing is missing; NULL: none is. Borrowed from `probe`. */
const char *probe_lacks(const struct probe *probe, unsigned needs);
/* The name of that need, "network"; NULL: none is missing. */
const char *probe_lacking_need(const struct probe *probe, unsigned needs);
/* Path of tanist-faults.so: in the folder of the program, or in the library folder of an installed
 * one. False: it is in neither; `path` is empty. */
bool probe_find_shim(char *path, size_t size);
/* {"network": true, "tmpfs": "cannot mount a tmpfs: Operation not permitted", ...} */
json_t *probe_json(const struct probe *probe);

#endif

/*
 * chaos/inject/probe.h: what can be tested on this machine. Each need is tried for real (a
 * namespace is made and thrown away, a tmpfs is mounted in a namespace of a child's own), once.
 *
 * Threads: the main thread, before there is any other. Blocking: some 100 ms.
 */
#ifndef CHAOS_INJECT_PROBE_H
#define CHAOS_INJECT_PROBE_H

#include <jansson.h>

#include "chaos/plan/fault.h"

enum { PROBE_WORDS_MAX = 160 };

struct probe {
    unsigned has; /* A set of `enum need`. */
    /* For each need that is missing, in the order of the enum: what failed. */
    char why_not[NEED_COUNT][PROBE_WORDS_MAX];
};

void probe_machine(struct probe *probe);
/* Words for the first need of `needs` that is missing; NULL: all are there. Borrowed from `probe`.
 */
const char *probe_lacks(const struct probe *probe, unsigned needs);
/* Path of tanist-faults.so: beside the program, or in the library folder of an installed one.
 * False: it is in neither; `path` is empty. */
bool probe_find_shim(char *path, size_t size);
/* {"network": true, "shim": "tanist-faults.so is not beside the program", ...} */
json_t *probe_json(const struct probe *probe);

#endif

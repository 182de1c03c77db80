/* chaos/inject/injectors.c: binds each fault of FAULT_LIST to its injectors, by name. */
#include <assert.h>

#include "chaos/inject/injector.h"

static const struct {
    const struct injector *local, *remote;
} injectors[FAULT_COUNT] = {
#define INJECTOR_ROW(constant, name, family, targets, needs, duration, local, remote, ...)         \
    [FAULT_##constant] = {&injector_##local, &injector_##remote},
    FAULT_LIST(INJECTOR_ROW)
#undef INJECTOR_ROW
};

const struct injector *injector_of(enum fault fault, bool remote)
{
    assert(fault < FAULT_COUNT);
    return remote ? injectors[fault].remote : injectors[fault].local;
}

/* ------------------------------------------------------------- injectors that refuse */

static enum tn_status refuse_time(struct target_cluster *cluster, struct active_fault *fault,
                                  struct error *error)
{
    (void)cluster;
    (void)fault;
    return error_set(error, TN_ENOTSUP, "it is injected at failpoints only: give it \"at_point\"");
}

static enum tn_status refuse_remote(struct target_cluster *cluster, struct active_fault *fault,
                                    struct error *error)
{
    (void)cluster;
    (void)fault;
    return error_set(error, TN_ENOTSUP,
                     "it needs access to the hosts, and only ZooKeeper can be reached");
}

const struct injector injector_failpoint = {.begin = refuse_time};
const struct injector injector_out_of_reach = {.begin = refuse_remote};

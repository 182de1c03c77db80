/*
 * chaos/inject/injector.h: injectors, which know how to inject a fault into a cluster and how to
 * undo it, and the fault while it is active. To add an injector, define it in a file of its own and
 * name it in a row of chaos/plan/fault_list.h.
 *
 * Threads: the main thread.
 */
#ifndef CHAOS_INJECT_INJECTOR_H
#define CHAOS_INJECT_INJECTOR_H

#include "chaos/cluster/targets.h"

enum { FAULT_TEXT_MAX = 512 };

/* A fault that is being injected, or is active. */
struct active_fault {
    struct injection injection;
    struct target_list targets; /* Resolved when it began. */
    char text[FAULT_TEXT_MAX];  /* For people: "SIGKILL to ps:1 (pid 123)". */
    void *state;                /* The injector's own `state_bytes`, zeroed before begin. */
};

/*
 * `begin` injects the fault into `fault->targets` and sets its text. It blocks for at most about
 * 50 ms. After TN_OK and with `for_ms` > 0 the fault is active: `tick`, which may be NULL, is
 * called about every 20 ms, and `end`, which may be NULL, once: when `for_ms` is over, or when the
 * round ends before. `begin` and `tick` may change `for_ms`. `end` undoes the fault and sets a
 * new text; a text that begins with "WRONG:" reports that the cluster broke a guarantee.
 *
 *   TN_EAGAIN   the target cannot be attacked now: try again soon
 *   TN_ENOTSUP  this machine cannot inject the fault; the error has the reason
 *   others      the fault could not be injected
 */
struct injector {
    size_t state_bytes;
    enum tn_status (*begin)(struct target_cluster *cluster, struct active_fault *fault,
                            struct error *error);
    void (*tick)(struct target_cluster *cluster, struct active_fault *fault);
    void (*end)(struct target_cluster *cluster, struct active_fault *fault);
};

/* injector_kill, injector_remote_kill, ...: those that FAULT_LIST names. */
#define INJECTOR_DECLARE(constant, name, family, targets, needs, duration, local, remote, ...)     \
    extern const struct injector injector_##local, injector_##remote;
FAULT_LIST(INJECTOR_DECLARE)
#undef INJECTOR_DECLARE

/* `remote`: for a cluster of which only ZooKeeper can be reached (chaos/cluster/remote.h). Never
 * NULL. */
const struct injector *injector_of(enum fault fault, bool remote);

/*
 * Resolve the targets of `fault->injection` and call `begin`. A remote injector resolves its
 * targets itself. After TN_OK and with `for_ms` > 0, call injector_end() once.
 *
 *   TN_EAGAIN  also: the selector means no component now
 *   TN_EINVAL  also: the fault must last, and `for_ms` is 0
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status injector_begin(const struct injector *injector,
                                         struct target_cluster *cluster, struct active_fault *fault,
                                         struct error *error);
/* Undo the fault, and release the state that injector_begin() has allocated. */
void injector_end(const struct injector *injector, struct target_cluster *cluster,
                  struct active_fault *fault);

/* ------------------------------------------------------------- for injectors */

/* Set the text; it is cut where it does not fit. */
void fault_describe(struct active_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Append an item to the text, after a comma unless the text ends with a space. An item that does
 * not fit is left out. */
void fault_describe_item(struct active_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Send signal `number` to the processes of all targets, and append those that got it to the text.
 * Returns their number. */
uint32_t fault_signal_targets(struct target_cluster *cluster, struct active_fault *fault,
                              int number);

/* Keep those targets whose processes have tanist-faults.so. TN_ENOTSUP: none has. */
MUST_CHECK enum tn_status fault_keep_shim_targets(const struct target_cluster *cluster,
                                                  struct active_fault *fault, struct error *error);
/* The fault control of such a target. */
struct fault_slot *fault_slot_of(const struct target_cluster *cluster,
                                 const struct component *component);

#endif

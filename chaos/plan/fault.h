/*
 * chaos/plan/fault.h: the faults that can be injected (chaos/plan/fault_list.h lists them), and one
 * fault of a schedule. Pure.
 */
#ifndef CHAOS_PLAN_FAULT_H
#define CHAOS_PLAN_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chaos/plan/fault_list.h"
#include "common/base/error.h"
#include "common/cluster/run.h"
#include "common/faults/fault_control.h"

/* Needs of a fault; chaos/inject/probe.h finds out which of them the machine satisfies. */
enum need {
    NEED_NETWORK = 1,    /* Network namespaces, veth, nft: chaos/cluster/lab.h. */
    NEED_BANDWIDTH = 2,  /* tc with tbf. */
    NEED_SHIM = 4,       /* LD_PRELOAD of tanist-faults.so. */
    NEED_TMPFS = 8,      /* A mount of a small tmpfs. */
    NEED_FAILPOINTS = 16 /* A build with TANIST_FAILPOINTS. */
};
enum { NEED_COUNT = 5 };

/* The kinds of targets that a fault can have; chaos/plan/target_selector.h names targets. */
enum target_kind {
    TARGET_NODE = 1,
    TARGET_AGENT = 2,
    TARGET_ZOOKEEPER = 4,
    TARGET_EVERYTHING = 8, /* All processes of the run at once. */
    TARGET_CLUSTER = 16    /* No process in particular. */
};

/* Whether a fault lasts: whether a plan gives it "for_s". */
enum fault_duration {
    DURATION_NONE,     /* The fault ends at once. */
    DURATION_OPTIONAL, /* The fault ends at once, or after "for_s". */
    DURATION_REQUIRED, /* The fault is undone after "for_s". */
    DURATION_COUNT
};

/* Properties of a fault for the judge and for reports. */
enum fault_effect {
    EFFECT_ANY_TASK = 1,           /* The fault can cost any task its session or its leadership. */
    EFFECT_DAMAGES_CHECKPOINT = 2, /* One checkpoint is no longer whole. */
    EFFECT_MUST_BE_REFUSED = 4,    /* An operator's mistake, which the cluster must refuse. */
    EFFECT_ASKS_TO_RESIGN = 8      /* A chief that it concerns resigns. */
};

/* Faults of a family look alike in reports. */
enum fault_family {
    FAMILY_PROCESS,
    FAMILY_FREEZE,
    FAMILY_ZOOKEEPER,
    FAMILY_NETWORK,
    FAMILY_DISK,
    FAMILY_LIMITS,
    FAMILY_OPERATOR,
    FAMILY_FAILPOINT,
    FAMILY_GPU,
    FAMILY_COUNT
};

/* The unit and the bounds of "value" in a plan. */
struct fault_value {
    const char *unit; /* "ms"; NULL: the fault has no value. */
    double least, most;
    bool has_default; /* The value may be left out. */
};

/* A row of FAULT_LIST, without the injectors. */
struct fault_descriptor {
    const char *name;  /* In plans, histories and reports. */
    const char *about; /* One line for users. */
    enum fault_family family;
    unsigned targets, needs, effects; /* Sets of `enum target_kind`, `need`, `fault_effect`. */
    enum fault_duration duration;
    enum point_action at_failpoint; /* POINT_NONE: it cannot be injected at a failpoint. */
    struct fault_value value;
};

enum fault {
#define FAULT_ENUM(constant, ...) FAULT_##constant,
    FAULT_LIST(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_COUNT
};

/* The names, in the order of the enum; NULL after the last. */
extern const char *const fault_names[FAULT_COUNT + 1];
const struct fault_descriptor *fault_descriptor(enum fault fault);
/* NULL: no fault has that name. */
const struct fault_descriptor *fault_find(const char *name);

/* "network", "shim"; index < NEED_COUNT. */
const char *fault_need_name(unsigned index);
/* "no", "maybe", "yes". */
const char *fault_duration_name(enum fault_duration duration);
/* The index-th kind of targets of a fault, "node"; NULL after the last. */
const char *fault_target_name(enum fault fault, unsigned index);

/* Whether `fault` can be injected at that failpoint, which may be NULL. If not, `why` is the
 * reason. */
struct failpoint_info;
bool fault_fits_failpoint(enum fault fault, const struct failpoint_info *failpoint, char *why,
                          size_t size);

enum { FAULT_WHY_MAX = 400, SELECTOR_MAX = 32, FAILPOINT_NAME_MAX = 48, INJECTIONS_MAX = 4096 };

/* When a fault is due. */
enum trigger_type {
    TRIGGER_TIME,      /* `at_ms` after training began. */
    TRIGGER_STEP,      /* When training reaches `step`. */
    TRIGGER_PHASE,     /* When the run enters `phase` for the `count`-th time. */
    TRIGGER_FAILPOINT, /* When the target passes `failpoint` for the `count`-th time after `at_ms`.
                        */
};

struct trigger {
    enum trigger_type type;
    uint64_t at_ms, step;
    enum run_phase phase;
    char failpoint[FAILPOINT_NAME_MAX];
    uint32_t count; /* From 1. */
};

/*
 * One fault of a schedule. `selector` is a target that was drawn from the seed ("ps:1",
 * "zookeeper:2"), or one that is resolved when the fault begins ("chief"):
 * chaos/plan/target_selector.h.
 */
struct injection {
    uint32_t id; /* From 1, in the order of the schedule. */
    enum fault fault;
    char selector[SELECTOR_MAX];
    struct trigger trigger;
    uint64_t for_ms; /* Until it is undone; 0: nothing is undone. */
    double value;
};

struct schedule {
    uint32_t count;
    struct injection *list; /* Owned. */
};
void schedule_free(struct schedule *schedule);

#endif

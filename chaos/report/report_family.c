/* chaos/report/report_family.c: faults that are of a kind look alike: colour and sign. */
#include <string.h>

#include "chaos/report/report_private.h"

enum { PROCESS, FREEZE, ZOOKEEPER, NETWORK, DISK, LIMITS, OPERATOR, POINT, FAMILIES };

static const struct report_family families[] = {
    [PROCESS] = {"process", "process killed", "<path d=\"M2 2l8 8M10 2l-8 8\"/>"},
    [FREEZE] = {"freeze", "process frozen", "<path d=\"M3.5 1.5v9M8.5 1.5v9\"/>"},
    [ZOOKEEPER] = {"zookeeper", "ZooKeeper", "<path d=\"M6 1.5L11 10.5H1z\"/>"},
    [NETWORK] = {"network", "network", "<path d=\"M0.5 6H4M8 6h3.5M7.5 1.5l-3 9\"/>"},
    [DISK] = {"disk", "disk and files",
              "<path d=\"M2 3c0-2.2 8-2.2 8 0v6c0 2.2-8 2.2-8 0zM2 3c0 2.2 8 2.2 8 0\"/>"},
    [LIMITS] = {"limits", "limits and clock",
                "<circle cx=\"6\" cy=\"6\" r=\"4.7\"/><path d=\"M6 3v3l2.2 1.5\"/>"},
    [OPERATOR] = {"operator", "operator", "<path d=\"M6 1l5 5-5 5-5-5z\"/>"},
    [POINT] = {"point", "at a failpoint",
               "<circle cx=\"6\" cy=\"6\" r=\"4.7\"/><circle cx=\"6\" cy=\"6\" r=\"1.2\"/>"},
};

static const struct {
    const char *fault;
    int family;
} members[] = {
    {"kill", PROCESS},          {"terminate", PROCESS},
    {"crash-loop", PROCESS},    {"freeze", FREEZE},
    {"zombie", FREEZE},         {"outage", ZOOKEEPER},
    {"wipe", ZOOKEEPER},        {"cut-zookeeper", NETWORK},
    {"cut-peers", NETWORK},     {"cut-in", NETWORK},
    {"cut-out", NETWORK},       {"cut", NETWORK},
    {"halves", NETWORK},        {"black-hole", NETWORK},
    {"reset-storm", NETWORK},   {"poke", NETWORK},
    {"loss", NETWORK},          {"bandwidth", NETWORK},
    {"delay", NETWORK},         {"duplicate", NETWORK},
    {"disk-full", DISK},        {"disk-error", DISK},
    {"sync-fails", DISK},       {"sync-slow", DISK},
    {"flip-bits", DISK},        {"truncate", DISK},
    {"swap-shards", DISK},      {"stale-shard", DISK},
    {"memory", LIMITS},         {"descriptors", LIMITS},
    {"clock-jump", LIMITS},     {"twice", OPERATOR},
    {"two-clusters", OPERATOR}, {"mixed-jobs", OPERATOR},
    {"resign", OPERATOR},       {"pause", OPERATOR},
    {"stall", POINT},           {"fail", POINT},
};

const struct report_family *report_family_of(const char *fault)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i].fault, fault) == 0) { return &families[members[i].family]; }
    }
    return &families[OPERATOR];
}

const struct report_family *report_family_at(size_t index)
{
    return index < FAMILIES ? &families[index] : NULL;
}

/*
 * common/cluster/roster.h: the nodes that are present, followed by the chief (all) and by workers
 * (the ps). One watch on /members/ROLE-INDEX per task of the spec, so that a restart between two
 * reads shows as a new incarnation. Pure but for the port.
 */
#ifndef COMMON_CLUSTER_ROSTER_H
#define COMMON_CLUSTER_ROSTER_H

#include "common/cluster/znodes.h"
#include "common/zk/znode_watch.h"

struct roster_entry {
    struct task task;
    bool present;
    struct member member; /* The last one, also while absent. */
    struct znode_watch watch;
};

struct roster {
    uint32_t count;
    struct roster_entry entries[TASKS_MAX];
};

/* Follow this number of tasks of each role. */
void roster_start(struct roster *roster, const char *cluster, const struct task_counts *tasks,
                  const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms);

/* The index of the entry that appeared, disappeared or has a new incarnation; -1: none. */
int roster_handle(struct roster *roster, const struct zk_event *event, const struct zk_port *zk,
                  uint64_t *next_op, uint64_t now_ms);
void roster_tick(struct roster *roster, const struct zk_port *zk, uint64_t *next_op,
                 uint64_t now_ms);
uint64_t roster_deadline_ms(const struct roster *roster);

#endif

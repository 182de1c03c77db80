/*
 * common/cluster/roster.h: who is there, for those who must know (the chief: all; a worker: the
 * ps). One mirror on /members/ROLE-INDEX per task of the spec: a restart between two looks still
 * shows as a new incarnation. Pure but for the port.
 */
#ifndef COMMON_CLUSTER_ROSTER_H
#define COMMON_CLUSTER_ROSTER_H

#include "common/cluster/znodes.h"
#include "common/zk/mirror.h"

struct roster_seat {
    struct task task;
    bool present;
    struct member member; /* Last seen, also after it went. */
    struct mirror mirror;
};

struct roster {
    uint32_t count;
    struct roster_seat seats[TASKS_MAX];
};

/* Follow `ps` parameter servers and `workers` workers (either may be 0). */
void roster_start(struct roster *roster, const char *cluster, uint32_t ps, uint32_t workers,
                  const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms);

/* Index of the seat that changed (came, went, or was reborn under a new incarnation), or -1. */
int roster_handle(struct roster *roster, const struct zk_event *event, const struct zk_port *zk,
                  uint64_t *next_op, uint64_t now_ms);
void roster_tick(struct roster *roster, const struct zk_port *zk, uint64_t *next_op,
                 uint64_t now_ms);
uint64_t roster_deadline_ms(const struct roster *roster);

#endif

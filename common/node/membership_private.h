/* common/node/membership_private.h: shared by the membership*.c files; no other file includes
 * it. */
#ifndef COMMON_NODE_MEMBERSHIP_PRIVATE_H
#define COMMON_NODE_MEMBERSHIP_PRIVATE_H

#include "common/node/membership.h"

/* membership.c */
void membership_set_why(struct membership *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* End with `exit_code`, for the reason in `why`. Returns MEMBERSHIP_ENDED. */
unsigned membership_end(struct membership *m, int exit_code);
void membership_follow_run(struct membership *m);

/* membership_register.c */
void register_send(struct membership *m);
void register_answered(struct membership *m, const struct zk_event *event);
/* The znode was read, or does not exist. They return a set of changes. */
unsigned register_read(struct membership *m, const struct zk_event *event);
unsigned register_absent(struct membership *m);
void register_check_taken(struct membership *m);
void register_rewrite(struct membership *m);
/* Repeat a write that was refused, once it is due. */
void register_retry(struct membership *m);

#endif

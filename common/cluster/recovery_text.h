/*
 * common/cluster/recovery_text.h: the reason of a pause, as text. Pure.
 */
#ifndef COMMON_CLUSTER_RECOVERY_TEXT_H
#define COMMON_CLUSTER_RECOVERY_TEXT_H

#include "common/cluster/znodes.h"

enum { RECOVERY_TEXT_MAX = RUN_TEXT_MAX + TASK_NAME_MAX + 64 };

/* The reason in a RECOVERED or PAUSED entry: "ps:1 was lost (signal 9 (Killed))", "paused by pid 7
 * on h1". */
void recovery_text(const struct history_entry *entry, char text[static RECOVERY_TEXT_MAX]);

#endif

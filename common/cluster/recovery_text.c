#include "common/cluster/recovery_text.h"

#include <assert.h>
#include <stdio.h>

void recovery_text(const struct history_entry *entry, char text[static RECOVERY_TEXT_MAX])
{
    assert(entry->kind == HISTORY_RECOVERED || entry->kind == HISTORY_PAUSED);
    const char *cause = *entry->cause ? entry->cause : "unknown cause";
    const size_t size = RECOVERY_TEXT_MAX;
    char task[TASK_NAME_MAX];
    task_format(entry->task, ':', task, sizeof task);
    switch (entry->recovery) {
    case RECOVERY_PS:
    case RECOVERY_WORKER: snprintf(text, size, "%s was lost (%s)", task, cause); break;
    case RECOVERY_CHIEF: snprintf(text, size, "%s became chief and restores", task); break;
    case RECOVERY_RESTART: snprintf(text, size, "the whole cluster was restarted"); break;
    case RECOVERY_OPERATOR: snprintf(text, size, "paused by %s", cause); break;
    case RECOVERY_WARM:
        snprintf(text, size, "%s was lost (%s) and still had its values", task, cause);
        break;
    case RECOVERY_NONE:
    case RECOVERY_KINDS: snprintf(text, size, "%s", cause); break;
    }
}

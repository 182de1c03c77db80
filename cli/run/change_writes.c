#include "cli/run/change_writes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/node/cluster_create.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/job/job_resume.h"

enum tn_status change_writes_init(struct change_writes *writes, const struct spec *spec,
                                  const struct run *now, const struct cluster_change *change,
                                  struct error *error)
{
    struct history_entry entry = {.kind = HISTORY_CHANGED,
                                  .wall_ms = clock_wall_ms(),
                                  .epoch = now->epoch,
                                  .generation = now->generation,
                                  .step = change->step};
    const char *name = change->after->name;
    struct spec base = *spec;
    assert(change->text != NULL);
    /* Nodes of another layout are nodes of another cluster (T1). */
    if (change->new_key || job_layout_differs(change->before, change->after)) {
        base.key = clock_new_incarnation();
        base.variables_hash = change->variables_hash;
    }
    text_set(entry.cause, sizeof entry.cause, change->text);
    *writes = (struct change_writes){0};
    writes->spec_text = cluster_spec_of(&base, change->after, &writes->changed);
    if (writes->spec_text == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    znode_path(writes->spec_path, name, "spec");
    znode_path(writes->history_path, name, "history/" HISTORY_PREFIX);
    writes->list[0] = (struct zk_write){.kind = ZK_SET,
                                        .path = writes->spec_path,
                                        .data = writes->spec_text,
                                        .size = strlen(writes->spec_text),
                                        .version = spec->version};
    writes->list[1] = (struct zk_write){.kind = ZK_CREATE,
                                        .path = writes->history_path,
                                        .flags = ZK_SEQUENTIAL,
                                        .data = writes->entry,
                                        .size = history_encode(&entry, writes->entry)};
    return TN_OK;
}

void change_writes_free(struct change_writes *writes)
{
    free(writes->spec_text);
    free(writes->changed.job_json);
    writes->spec_text = writes->changed.job_json = NULL;
}

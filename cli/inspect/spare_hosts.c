#include "cli/inspect/spare_hosts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/observe/event_text.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"

static void read_one(struct spare_hosts *spares, struct zk_sync *sync, const char *cluster,
                     const char *name)
{
    char rest[160], path[ZK_PATH_MAX];
    struct zk_sync_data data;
    assert(spares->count < TASKS_MAX);
    snprintf(rest, sizeof rest, "spares/%.100s", name);
    znode_path(path, cluster, rest);
    /* One that cannot be read has ended meanwhile. */
    if (zk_sync_read(sync, path, &data, NULL) != TN_OK) { return; }
    struct member *spare = &spares->list[spares->count];
    if (member_decode(data.data, data.size, spare, NULL) == TN_OK) { spares->count++; }
    free(data.data);
}

enum tn_status spare_hosts_read(struct spare_hosts *spares, struct zk_sync *sync,
                                const char *cluster, struct error *error)
{
    char path[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    assert(*cluster != '\0');
    spares->count = 0;
    znode_path(path, cluster, "spares");
    enum tn_status status = zk_sync_list(sync, path, &found, error);
    if (status == TN_ENOENT) { return TN_OK; }
    for (size_t i = 0; status == TN_OK && i < found.count && spares->count < TASKS_MAX; i++) {
        read_one(spares, sync, cluster, found.names[i]);
    }
    zk_sync_list_free(&found);
    return status;
}

json_t *spare_hosts_json(const struct spare_hosts *spares)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < spares->count; i++) {
        const struct member *spare = &spares->list[i];
        char task[TASK_NAME_MAX], since[TIME_TEXT_MAX];
        task_format(spare->task, ':', task, sizeof task);
        clock_format(spare->since_wall_ms, since);
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:I, s:s}", "task", task, "host", spare->host,
                                        "pid", (json_int_t)spare->pid, "since", since));
    }
    return list;
}

void spare_hosts_print(const struct spare_hosts *spares)
{
    const uint64_t now_ms = clock_wall_ms();
    for (uint32_t i = 0; i < spares->count; i++) {
        const struct member *spare = &spares->list[i];
        char task[TASK_NAME_MAX], age[32];
        task_format(spare->task, ':', task, sizeof task);
        event_text_duration(now_ms - u64_min(now_ms, spare->since_wall_ms), age, sizeof age);
        printf("spare: %s (agent, pid %" PRIu64 ") waits for %s since %s\n", spare->host,
               spare->pid, task, age);
    }
}

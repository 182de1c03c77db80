/* common/zk/zk_acl.c: the permissions of znodes. */
#include <assert.h>

#include "common/zk/zk_private.h"

static void on_set(int rc, const void *data)
{
    struct request *request = (struct request *)data;
    const struct zk_event answer = zk_outcome_of(rc);
    zk_inflight_finish(&request->zk->inflight, &request->entry, &answer);
}

void zk_set_permissions(struct zk *zk, uint64_t op, const char *path, unsigned others)
{
    assert(ZOO_PERM_READ == ZK_MAY_READ && ZOO_PERM_CREATE == ZK_MAY_CREATE);
    assert(ZOO_PERM_ADMIN == ZK_MAY_SET_PERMISSIONS);
    struct ACL entries[] = {{.perms = (int32_t)others, .id = ZOO_ANYONE_ID_UNSAFE}, zk->acl_entry};
    struct ACL_vector acl = {.count = zk->credentials != NULL ? 2 : 1, .data = entries};
    struct request *request = zk_new_request(zk, op, path, false);
    if (request == NULL) { return; }
    zk_check_sent(request, zoo_aset_acl(zk->handle, request->entry.path, ZK_ANY_VERSION, &acl,
                                        on_set, request));
}

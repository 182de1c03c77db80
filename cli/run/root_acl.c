#include "cli/run/root_acl.h"

#include <assert.h>

/* Refused: an earlier run in the same folder has closed it. */
static enum tn_status permit(struct zk_sync *sync, const char *path, unsigned others,
                             struct error *error)
{
    assert(others & ZK_MAY_READ);
    enum tn_status status = zk_sync_set_permissions(sync, path, others, error);
    return status == TN_EREFUSED ? TN_OK : status;
}

enum tn_status root_acl_hold(struct zk_sync *sync, struct error *error)
{
    return permit(sync, "/", ZK_MAY_READ | ZK_MAY_CREATE | ZK_MAY_SET_PERMISSIONS, error);
}

enum tn_status root_acl_close(struct zk_sync *sync, struct error *error)
{
    /* The server itself creates the znodes below /, and changes them without permission. */
    static const char *const paths[] = {"/zookeeper/quota", "/zookeeper", "/"};
    enum tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < sizeof paths / sizeof *paths; i++) {
        status = permit(sync, paths[i], ZK_MAY_READ, error);
    }
    return status;
}

/* znode CONNECT COMMAND PATH [DATA]: what another program may do to the znodes of a run. It has
 * ZooKeeper's own client and none of Tanist's code. For test_foreign.py and test_local_ensemble.py.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

enum {
    SESSION_MS = 4000,
    TOGETHER = 250,
    WAIT_MS = 20000,
    POLL_MS = 5,
    PATH_BYTES = 512,
    LIMIT_S = 25
};

static zhandle_t *open_client(const char *connect)
{
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zhandle_t *zk = zookeeper_init(connect, NULL, SESSION_MS, NULL, NULL, 0);
    for (int waited = 0; zk != NULL && waited < WAIT_MS; waited += POLL_MS) {
        if (zoo_state(zk) == ZOO_CONNECTED_STATE) { return zk; }
        (void)poll(NULL, 0, POLL_MS);
    }
    return NULL;
}

static int list(zhandle_t *zk, const char *path)
{
    struct String_vector names = {0};
    int rc = zoo_get_children(zk, path, 0, &names);
    for (int i = 0; rc == ZOK && i < names.count; i++) { puts(names.data[i]); }
    deallocate_String_vector(&names);
    return rc == ZNONODE ? ZOK : rc;
}

/* The run may restore the children faster than they are deleted. */
static int delete_all(zhandle_t *zk, const char *path)
{
    int rc = ZNOTEMPTY;
    for (int tries = 0; rc == ZNOTEMPTY && tries < 3; tries++) {
        struct String_vector names = {0};
        if (zoo_get_children(zk, path, 0, &names) == ZNONODE) { return ZOK; }
        for (int i = 0; i < names.count; i++) {
            char child[PATH_BYTES];
            snprintf(child, sizeof child, "%s/%s", path, names.data[i]);
            (void)delete_all(zk, child);
        }
        deallocate_String_vector(&names);
        rc = zoo_delete(zk, path, -1);
    }
    return rc == ZNONODE || rc == ZNOTEMPTY ? ZOK : rc;
}

/* "protect": readable for all, and not writable; all may change the ACL. */
static int set_acl(zhandle_t *zk, const char *path, int permissions)
{
    struct ACL entry = {.perms = permissions, .id = ZOO_ANYONE_ID_UNSAFE};
    const struct ACL_vector acl = {.count = 1, .data = &entry};
    return zoo_set_acl(zk, path, -1, &acl);
}

/* DATA is the number of children to create, many in one transaction. */
static int fill(zhandle_t *zk, const char *path, int count)
{
    static char names[TOGETHER][PATH_BYTES];
    int rc = ZOK;
    for (int first = 0; rc == ZOK && first < count; first += TOGETHER) {
        zoo_op_t parts[TOGETHER];
        zoo_op_result_t results[TOGETHER];
        int together = count - first < TOGETHER ? count - first : TOGETHER;
        for (int i = 0; i < together; i++) {
            snprintf(names[i], sizeof names[i], "%s/foreign-%05d", path, first + i);
            zoo_create_op_init(&parts[i], names[i], NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
        }
        rc = zoo_multi(zk, together, parts, results);
    }
    return rc;
}

int main(int argc, char **argv)
{
    int rc = ZBADARGUMENTS;
    (void)alarm(LIMIT_S); /* The client waits without limit when the servers end. */
    zhandle_t *zk = argc >= 4 ? open_client(argv[1]) : NULL;
    if (zk == NULL) {
        fprintf(stderr, "znode: no connection\n");
        return 1;
    }
    const char *command = argv[2], *path = argv[3];
    if (strcmp(command, "list") == 0) { rc = list(zk, path); }
    if (strcmp(command, "create") == 0) {
        rc = zoo_create(zk, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    }
    if (strcmp(command, "delete") == 0) { rc = delete_all(zk, path); }
    if (strcmp(command, "protect") == 0) { rc = set_acl(zk, path, ZOO_PERM_READ | ZOO_PERM_ADMIN); }
    if (strcmp(command, "open") == 0) { rc = set_acl(zk, path, ZOO_PERM_ALL); }
    if (strcmp(command, "set") == 0 && argc == 5) {
        rc = zoo_set(zk, path, argv[4], (int)strlen(argv[4]), -1);
    }
    if (strcmp(command, "fill") == 0 && argc == 5) { rc = fill(zk, path, atoi(argv[4])); }
    zookeeper_close(zk);
    if (rc != ZOK) { fprintf(stderr, "znode: %s %s: %s\n", command, path, zerror(rc)); }
    return rc != ZOK;
}

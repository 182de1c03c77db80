/* Rule C15: watches notice the znodes that another program deleted or damaged; chief_lost.c decides
 * which of them to restore. The watches run while this process is the chief. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "coordinator/coordinator_private.h"

/* The znodes below that of the cluster that are restored as they are. */
static const struct {
    const char *name;
    unsigned bit;
} plain[] = {
    {"spec", CHIEF_LOST_SPEC},         {"election", CHIEF_LOST_ELECTION},
    {"members", CHIEF_LOST_MEMBERS},   {"exits", CHIEF_LOST_EXITS},
    {"history", CHIEF_LOST_HISTORY},   {"checkpoints", CHIEF_LOST_CHECKPOINTS},
    {"requests", CHIEF_LOST_REQUESTS}, {"kills", CHIEF_LOST_KILLS},
    {"drains", CHIEF_LOST_DRAINS},     {"verifications", CHIEF_LOST_VERIFICATIONS},
};
enum { PLAIN_COUNT = sizeof plain / sizeof plain[0] };

/* ------------------------------------------------------------------ texts kept */

void kept_text_set(struct kept_text *kept, uint64_t id, const void *data, size_t size)
{
    char *copy = size > 0 ? malloc(size) : NULL;
    free(kept->text);
    *kept = (struct kept_text){0};
    if (copy == NULL) { return; /* It cannot be restored then. */ }
    memcpy(copy, data, size);
    *kept = (struct kept_text){.id = id, .text = copy, .size = size};
}

static bool is_listed(const struct chief *chief, uint64_t id)
{
    for (uint32_t i = 0; i < chief->checkpoint_count; i++) {
        if (chief->checkpoints[i].id == id) { return true; }
    }
    return false;
}

/* The text replaces an older one of the same id, or one that the chief has dropped from its list.
 * If every place holds a listed checkpoint, it is not kept, and cannot be restored. */
void restore_keep_manifest(struct coordinator *c, uint64_t id, const void *data, size_t size)
{
    assert(id != 0);
    for (uint32_t i = 0; i < KEPT_MANIFESTS; i++) {
        struct kept_text *kept = &c->manifests[i];
        bool usable = kept->id == 0 || kept->id == id ||
                      (c->stage == LEADERSHIP_ACTIVE && !is_listed(&c->chief, kept->id));
        if (!usable) { continue; }
        kept_text_set(kept, id, data, size);
        return;
    }
}

void restore_free(struct coordinator *c)
{
    for (uint32_t i = 0; i < KEPT_MANIFESTS; i++) { free(c->manifests[i].text); }
    free(c->spec.text);
}

/* -------------------------------------------------------------------- restoring */

static void create(struct coordinator *c, const char *path, const void *data, size_t size)
{
    const struct zk_write write = {.kind = ZK_CREATE, .path = path, .data = data, .size = size};
    c->restore_op = membership_next_op(&c->membership);
    c->ports->zk.write(c->ports->zk.ctx, c->restore_op, &write, 1);
}

/* The answer is not awaited: a write that needs the folder is repeated, and the chief looks
 * again. */
void coordinator_restore_folder(struct coordinator *c, const char *name)
{
    char path[ZK_PATH_MAX];
    znode_path(path, c->identity.cluster, name);
    log_warn("%s was deleted by another program: restoring it", path);
    create(c, path, NULL, 0);
}

void restore_plain(struct coordinator *c, unsigned lost)
{
    char path[ZK_PATH_MAX];
    for (size_t i = 0; i < PLAIN_COUNT; i++) {
        if ((lost & plain[i].bit) == 0) { continue; }
        if (plain[i].bit != CHIEF_LOST_SPEC) {
            coordinator_restore_folder(c, plain[i].name);
        } else if (c->spec.text != NULL) {
            znode_path(path, c->identity.cluster, "spec");
            log_warn("%s was deleted by another program: restoring it", path);
            create(c, path, c->spec.text, c->spec.size);
        }
    }
    c->look_again_ms = c->now_ms + LOOK_AGAIN_MS;
}

void restore_manifests(struct coordinator *c, const uint64_t *ids, uint32_t count)
{
    char path[ZK_PATH_MAX];
    assert(count <= CHIEF_CHECKPOINTS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < KEPT_MANIFESTS; k++) {
            const struct kept_text *kept = &c->manifests[k];
            if (kept->id != ids[i] || kept->text == NULL) { continue; }
            znode_checkpoint_path(path, c->identity.cluster, ids[i]);
            log_warn("%s was deleted by another program: published again", path);
            write_manifest(c, path, kept);
        }
    }
    c->look_again_ms = c->now_ms + LOOK_AGAIN_MS;
}

/* An ACL forbids to create a znode below that of the cluster. */
static void report_denied(struct coordinator *c, const char *path)
{
    char text[MEMBER_PROBLEM_MAX];
    snprintf(text, sizeof text,
             "ZooKeeper denies the creation of %s: another program changed an ACL; restore it",
             path);
    c->restore_denied = true;
    membership_set_problem(&c->membership, text);
}

/* --------------------------------------------------------------------- noticing */

void restore_start(struct coordinator *c)
{
    char path[ZK_PATH_MAX];
    const struct zk_port *zk = &c->ports->zk;
    uint64_t *next_op = &c->membership.next_op;
    assert(c->stage == LEADERSHIP_ACTIVE);
    c->look_again_ms = UINT64_MAX;
    znode_path(path, c->identity.cluster, "");
    znode_watch_start(&c->root, WATCH_CHILDREN, path, zk, next_op, c->now_ms);
    znode_path(path, c->identity.cluster, "assignment");
    znode_watch_start(&c->assignment, WATCH_DATA, path, zk, next_op, c->now_ms);
    znode_path(path, c->identity.cluster, "checkpoints");
    znode_watch_start(&c->checkpoints, WATCH_CHILDREN, path, zk, next_op, c->now_ms);
}

static void notify(struct coordinator *c, unsigned lost)
{
    if (lost == 0 || c->finished) { return; }
    coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_LOST, .lost = lost});
}

void restore_membership_changed(struct coordinator *c, unsigned changes)
{
    unsigned lost = 0;
    if (changes & MEMBERSHIP_CHIEF_LOST) { lost |= CHIEF_LOST_CHIEF; }
    if (changes & MEMBERSHIP_RUN_LOST) { lost |= CHIEF_LOST_RUN; }
    if (c->stage == LEADERSHIP_ACTIVE) { notify(c, lost); }
}

static void root_listed(struct coordinator *c, const struct zk_event *event)
{
    unsigned lost = 0;
    for (size_t i = 0; i < PLAIN_COUNT; i++) {
        bool found = false;
        for (size_t k = 0; k < event->child_count && !found; k++) {
            found = strcmp(event->children[k], plain[i].name) == 0;
        }
        if (!found) { lost |= plain[i].bit; }
    }
    if (lost == 0 && c->restore_denied) {
        c->restore_denied = false;
        membership_set_problem(&c->membership, "");
    }
    notify(c, lost);
}

static void assignment_read(struct coordinator *c, const struct zk_event *event)
{
    struct assignment found;
    const bool exists = event->outcome == ZK_OK;
    if (!exists || c->assignment_form == WRITE_CREATE) {
        c->assignment_form = exists ? WRITE_SET : WRITE_CREATE;
    }
    bool valid = exists && assignment_decode(event->data, event->size, &found, NULL) == TN_OK &&
                 found.slice_count == c->config.chief.slices;
    if (!valid) { notify(c, CHIEF_LOST_ASSIGNMENT); }
}

static void checkpoints_listed(struct coordinator *c, const struct zk_event *event)
{
    uint64_t *ids = calloc(event->child_count + 1, sizeof *ids);
    uint32_t count = 0;
    if (ids == NULL) { return; }
    for (size_t i = 0; i < event->child_count; i++) {
        ids[count++] = strtoull(event->children[i], NULL, 10);
    }
    coordinator_decide(
        c, (struct chief_event){.type = CHIEF_EV_LISTED, .listed = {.ids = ids, .count = count}});
    free(ids);
}

void restore_handle(struct coordinator *c, const struct zk_event *event)
{
    const struct zk_port *zk = &c->ports->zk;
    uint64_t *next_op = &c->membership.next_op;
    if (c->stage != LEADERSHIP_ACTIVE) { return; }
    if (event->type == ZK_RESULT && event->op == c->restore_op &&
        event->reason == ZK_REASON_NO_AUTH) {
        report_denied(c, event->path);
    }
    if (znode_watch_handle(&c->root, event, zk, next_op, c->now_ms) == WATCH_PRESENT) {
        root_listed(c, event);
    }
    if (c->finished) { return; }
    if (znode_watch_handle(&c->assignment, event, zk, next_op, c->now_ms) != WATCH_NOTHING) {
        assignment_read(c, event);
    }
    if (c->finished) { return; }
    if (znode_watch_handle(&c->checkpoints, event, zk, next_op, c->now_ms) == WATCH_PRESENT) {
        checkpoints_listed(c, event);
    }
}

void restore_tick(struct coordinator *c)
{
    const struct zk_port *zk = &c->ports->zk;
    uint64_t *next_op = &c->membership.next_op;
    if (c->stage != LEADERSHIP_ACTIVE) { return; }
    if (c->now_ms >= c->look_again_ms) { /* The missing ones are then restored again. */
        c->look_again_ms = UINT64_MAX;
        znode_watch_refresh(&c->root, zk, next_op);
        znode_watch_refresh(&c->checkpoints, zk, next_op);
    }
    znode_watch_tick(&c->root, zk, next_op, c->now_ms);
    znode_watch_tick(&c->assignment, zk, next_op, c->now_ms);
    znode_watch_tick(&c->checkpoints, zk, next_op, c->now_ms);
}

uint64_t restore_deadline_ms(const struct coordinator *c)
{
    if (c->stage != LEADERSHIP_ACTIVE) { return UINT64_MAX; }
    const uint64_t others_ms =
        u64_min(znode_watch_deadline_ms(&c->assignment), znode_watch_deadline_ms(&c->checkpoints));
    return u64_min(c->look_again_ms, u64_min(znode_watch_deadline_ms(&c->root), others_ms));
}

/* ---------------------------------------------------------------------- denials */

void coordinator_denied(struct coordinator *c, const char *path)
{
    char text[MEMBER_PROBLEM_MAX];
    snprintf(text, sizeof text,
             "ZooKeeper denies %s: another program changed an ACL; restore it, or delete the znode",
             path);
    membership_set_problem(&c->membership, text);
}

#include "worker/row_sharing.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/base/short_copy.h"
#include "worker/row_lookup_private.h"

static_assert((int)WORKERS_MAX <= (int)ROW_FREE, "the place of a member is a byte");

struct row_sharing {
    pthread_mutex_t lock; /* Guards all that follows, and lookups as described at their struct. */
    struct row_lookup *members[WORKERS_MAX];
    uint64_t given;
};

enum tn_status row_sharing_open(struct row_sharing **out, struct error *error)
{
    struct row_sharing *sharing = calloc(1, sizeof *sharing);
    *out = sharing;
    if (sharing == NULL) { return error_set(error, TN_ENOMEM, "out of memory to share lookups"); }
    pthread_mutex_init(&sharing->lock, NULL);
    return TN_OK;
}

void row_sharing_close(struct row_sharing *sharing)
{
    if (sharing == NULL) { return; }
    for (uint32_t i = 0; i < WORKERS_MAX; i++) { assert(sharing->members[i] == NULL); }
    pthread_mutex_destroy(&sharing->lock);
    free(sharing);
}

uint64_t row_sharing_given(struct row_sharing *sharing)
{
    pthread_mutex_lock(&sharing->lock);
    const uint64_t given = sharing->given;
    pthread_mutex_unlock(&sharing->lock);
    return given;
}

/* ------------------------------------------------------------------- members */

void row_sharing_lock(struct row_lookup *lookup)
{
    if (lookup->member.sharing != NULL) { pthread_mutex_lock(&lookup->member.sharing->lock); }
}

static void wake_and_unlock(struct row_sharing *sharing)
{
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        struct row_lookup *other = sharing->members[i];
        if (other == NULL || !other->woken) { continue; }
        other->woken = false;
        other->member.wake(other->member.ctx);
    }
    pthread_mutex_unlock(&sharing->lock);
}

void row_sharing_unlock(struct row_lookup *lookup)
{
    if (lookup->member.sharing != NULL) { wake_and_unlock(lookup->member.sharing); }
}

void row_sharing_join(struct row_lookup *lookup)
{
    struct row_sharing *sharing = lookup->member.sharing;
    const uint32_t place = lookup->member.place;
    if (sharing == NULL) { return; }
    assert(place < WORKERS_MAX && lookup->member.wake != NULL);
    pthread_mutex_lock(&sharing->lock);
    assert(sharing->members[place] == NULL);
    sharing->members[place] = lookup;
    pthread_mutex_unlock(&sharing->lock);
}

/* With the lock held. */
static void leave(struct row_sharing *sharing, struct row_lookup *lookup)
{
    for (uint32_t p = 0; p < lookup->ps; p++) {
        const struct row_cursor end = {.table = lookup->variables->row_table_count};
        row_sharing_announce(lookup, p, (struct row_cursor){0}, end, ROW_NEWS_ABANDONED);
    }
    lookup->settled = lookup->woken = false;
    sharing->members[lookup->member.place] = NULL;
}

void row_sharing_part(struct row_lookup *lookup)
{
    struct row_sharing *sharing = lookup->member.sharing;
    if (sharing == NULL) { return; }
    pthread_mutex_lock(&sharing->lock);
    if (sharing->members[lookup->member.place] == lookup) { leave(sharing, lookup); }
    wake_and_unlock(sharing);
}

void row_sharing_leave(struct row_sharing *sharing, uint32_t place)
{
    assert(place < WORKERS_MAX);
    pthread_mutex_lock(&sharing->lock);
    if (sharing->members[place] != NULL) { leave(sharing, sharing->members[place]); }
    wake_and_unlock(sharing);
}

/* ---------------------------------------------------------------------- rows */

/* The member at this place, if it is another one with rows of the same step. */
static struct row_lookup *other_at(const struct row_lookup *lookup, uint32_t place)
{
    struct row_lookup *other = lookup->member.sharing->members[place];
    if (other == NULL || other == lookup || !other->settled) { return NULL; }
    return other->generation == lookup->generation && other->step == lookup->step ? other : NULL;
}

/* The row of a table of another member becomes that of `lookup`. */
static void give(const struct wanted *from, uint64_t row, struct row_lookup *lookup,
                 struct wanted *to, uint64_t at)
{
    assert(from->width == to->width && from->keys[row] == to->keys[at]);
    short_copy(to->values + at * to->width, from->values + row * from->width,
               to->width * sizeof *to->values);
    row_set_asker(lookup, to, at, ROW_HERE);
    lookup->member.sharing->given++;
}

/* The rows of one table that another member has or has asked for. */
static void find_at(struct row_lookup *lookup, const struct row_lookup *other, uint32_t table)
{
    struct wanted *wanted = &lookup->tables[table];
    const struct wanted *theirs = &other->tables[table];
    uint64_t at = 0;
    for (uint64_t i = 0; i < wanted->count; i++) {
        if (wanted->askers[i] == ROW_HERE) { continue; }
        at = row_wanted_at(theirs, at, wanted->keys[i]);
        if (at == theirs->count) { return; }
        if (theirs->keys[at] != wanted->keys[i]) { continue; }
        if (theirs->askers[at] == ROW_HERE) {
            give(theirs, at, lookup, wanted, i);
        } else if (theirs->askers[at] == other->member.place && wanted->askers[i] == ROW_FREE) {
            row_set_asker(lookup, wanted, i, (uint8_t)other->member.place);
        }
    }
}

void row_sharing_find(struct row_lookup *lookup)
{
    assert(lookup->settled);
    if (lookup->member.sharing == NULL) { return; }
    for (uint32_t place = 0; place < WORKERS_MAX; place++) {
        const struct row_lookup *other = other_at(lookup, place);
        for (uint32_t t = 0; t < lookup->variables->row_table_count && other != NULL; t++) {
            find_at(lookup, other, t);
        }
    }
}

/* Row `row` of table `table` of `lookup` is row `at` of `other`. Returns whether that one has to
 * look at its rows again. */
static bool change_row(const struct row_lookup *lookup, uint32_t table, uint64_t row,
                       struct row_lookup *other, uint64_t at, enum row_news news)
{
    const uint8_t place = (uint8_t)lookup->member.place;
    struct wanted *to = &other->tables[table];
    if (to->askers[at] != place && to->askers[at] != ROW_FREE) { return false; }
    switch (news) {
    case ROW_NEWS_ASKED: row_set_asker(other, to, at, place); return false;
    case ROW_NEWS_ARRIVED: give(&lookup->tables[table], row, other, to, at); return true;
    case ROW_NEWS_ABANDONED: row_set_asker(other, to, at, ROW_FREE); return true;
    }
    return false;
}

static bool is_before(uint32_t table, uint64_t index, struct row_cursor end)
{
    return table < end.table || (table == end.table && index < end.index);
}

/* Announce the rows of one table to one member. */
static void announce_table(struct row_lookup *lookup, struct row_lookup *other, uint32_t ps,
                           struct row_cursor from, struct row_cursor to, enum row_news news)
{
    const struct wanted *wanted = &lookup->tables[from.table];
    const struct wanted *theirs = &other->tables[from.table];
    const struct row_group group = row_group_of(wanted, ps);
    uint64_t at = 0;
    for (uint64_t i = from.index; i < group.count && is_before(from.table, i, to); i++) {
        const uint64_t row = group.rows[i].key;
        if (wanted->askers[row] != lookup->member.place) { continue; }
        at = row_wanted_at(theirs, at, wanted->keys[row]);
        if (at == theirs->count) { return; }
        if (theirs->keys[at] != wanted->keys[row]) { continue; }
        other->woken |= change_row(lookup, from.table, row, other, at, news);
    }
}

void row_sharing_announce(struct row_lookup *lookup, uint32_t ps, struct row_cursor from,
                          struct row_cursor to, enum row_news news)
{
    if (lookup->member.sharing == NULL || !lookup->settled) { return; }
    for (uint32_t place = 0; place < WORKERS_MAX; place++) {
        struct row_lookup *other = other_at(lookup, place);
        struct row_cursor at = from;
        for (; other != NULL && is_before(at.table, at.index, to) &&
               at.table < lookup->variables->row_table_count;
             at = (struct row_cursor){.table = at.table + 1}) {
            announce_table(lookup, other, ps, at, to, news);
        }
    }
}

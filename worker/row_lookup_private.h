/* worker/row_lookup_private.h: what row_lookup.c and row_sharing.c share; no other file includes
 * it. */
#ifndef WORKER_ROW_LOOKUP_PRIVATE_H
#define WORKER_ROW_LOOKUP_PRIVATE_H

#include <assert.h>

#include "common/cluster/row_owner.h"
#include "common/cluster/task.h"
#include "kernels/sparse/key_list.h"
#include "worker/row_lookup.h"

/* The asker of a row: the place of the member that has asked for it, or one of these. */
enum {
    ROW_FREE = UINT8_MAX - 1, /* No member has asked yet. */
    ROW_HERE = UINT8_MAX,     /* The row has arrived. */
};

/* The rows of one table. */
struct wanted {
    uint32_t width;
    /* The keys that were added. Of the settled lookup: a key is the number of a row, and those of a
     * ps follow one another, in ascending order. */
    struct key_list added;
    uint64_t ends[PS_MAX]; /* In `added`, behind the rows of each ps. */
    uint64_t count;        /* Rows of the settled lookup. */
    uint64_t *keys;        /* Their keys, ascending. */
    uint8_t *owners;       /* The ps that have their rows. */
    uint8_t *askers;       /* Their askers. */
    float *values;         /* The values of the rows that have arrived. */
    uint64_t values_capacity;
};

/* A row of a ps in the settled lookup: the `index`-th of those that a table has of it. */
struct row_cursor {
    uint32_t table;
    uint64_t index;
};

/* Other members use it with the lock held: they read and write `settled`, `woken`, and, while it is
 * settled, the rows that its owner has not asked for itself. */
struct row_lookup {
    const struct variable_table *variables;
    uint32_t ps;
    size_t frame_bytes;
    struct row_member member;
    uint64_t generation, step;
    bool settled; /* The lookup has its keys. */
    bool woken;   /* Another member has changed something in it, and has not called wake() yet. */
    struct row_sink sink;
    struct row_source source;
    struct row_cursor begin[PS_MAX], end[PS_MAX]; /* The piece that was asked for. */
    size_t asked_floats[PS_MAX];
    bool has_asked[PS_MAX];      /* The member has asked this ps for some rows. */
    uint64_t missing[PS_MAX];    /* The rows of each ps that have not arrived. */
    uint64_t free[PS_MAX];       /* The missing rows that no member has asked for. */
    uint8_t owners[ROW_BUCKETS]; /* The ps of each bucket. */
    struct wanted tables[];
};

/* The rows of a table that a ps has: the numbers of `count` rows. */
struct row_group {
    const struct sparse_place *rows;
    uint64_t count;
};

static inline struct row_group row_group_of(const struct wanted *wanted, uint32_t ps)
{
    const uint64_t first = ps > 0 ? wanted->ends[ps - 1] : 0;
    assert(wanted->ends[ps] >= first && wanted->ends[ps] <= wanted->count);
    if (wanted->count == 0) { return (struct row_group){.count = 0}; }
    return (struct row_group){.rows = wanted->added.places + first,
                              .count = wanted->ends[ps] - first};
}

static inline void row_set_asker(struct row_lookup *lookup, struct wanted *wanted, uint64_t row,
                                 uint8_t asker)
{
    const uint8_t ps = wanted->owners[row], before = wanted->askers[row];
    lookup->missing[ps] += (uint64_t)(asker != ROW_HERE) - (uint64_t)(before != ROW_HERE);
    lookup->free[ps] += (uint64_t)(asker == ROW_FREE) - (uint64_t)(before == ROW_FREE);
    wanted->askers[row] = asker;
}

/* The first of keys[from..count) that is at least `key`, which is usually near. */
uint64_t row_wanted_at(const struct wanted *wanted, uint64_t from, uint64_t key);

/* row_sharing.c. Each does nothing for a lookup that shares nothing. */

void row_sharing_lock(struct row_lookup *lookup);
/* Wakes the members that were changed meanwhile. */
void row_sharing_unlock(struct row_lookup *lookup);
void row_sharing_join(struct row_lookup *lookup);
void row_sharing_part(struct row_lookup *lookup);

/* With the lock held: */

/* The lookup has its keys, and no row: take those that others have, wait for what they have asked
 * for. */
void row_sharing_find(struct row_lookup *lookup);

enum row_news {
    ROW_NEWS_ASKED,     /* The lookup has asked for them: others wait. */
    ROW_NEWS_ARRIVED,   /* The rows have arrived: others get them. */
    ROW_NEWS_ABANDONED, /* The rows will not arrive: the members that wait for them ask. */
};
/* Announce to the others the rows of `ps` from one cursor to another that this lookup has asked
 * for. */
void row_sharing_announce(struct row_lookup *lookup, uint32_t ps, struct row_cursor from,
                          struct row_cursor to, enum row_news news);

#endif

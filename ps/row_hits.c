#include "ps/row_hits.h"

#include <assert.h>
#include <stddef.h>

#include "ps/table/key_index.h"

/* Other bits than those that choose a part of the index. */
enum { HASH_SHIFT = 40 };

void row_hits_count(struct row_hits *hits, const uint64_t *keys, uint64_t count)
{
    assert(hits != NULL);
    hits->lookups += count;
    for (uint64_t k = 0; k < count; k++) {
        hits->buckets[key_index_hash(keys[k]) >> HASH_SHIFT & (ROW_HITS_BUCKETS - 1)]++;
    }
}

void row_hits_most(const struct row_hits *hits, uint64_t *hottest, uint64_t *hot)
{
    uint64_t most[ROW_HITS_MOST] = {0}; /* In descending order. */
    assert(hottest != NULL && hot != NULL);
    for (uint32_t b = 0; b < ROW_HITS_BUCKETS; b++) {
        uint32_t at = ROW_HITS_MOST;
        if (hits->buckets[b] <= most[ROW_HITS_MOST - 1]) { continue; }
        for (; at > 0 && hits->buckets[b] > most[at - 1]; at--) {
            if (at < ROW_HITS_MOST) { most[at] = most[at - 1]; }
        }
        most[at] = hits->buckets[b];
    }
    *hottest = most[0];
    *hot = 0;
    for (uint32_t i = 0; i < ROW_HITS_MOST; i++) { *hot += most[i]; }
}

/*
 * kernels/sparse/key_list.h: the different keys among many. Above KEY_LIST_REPEATED keys, memory is
 * for different ones, not for all that were added: at least half of it is free after the repeated
 * ones were removed, so that a key is sorted twice on average.
 *
 * Threads: the owner's.
 */
#ifndef KERNELS_SPARSE_KEY_LIST_H
#define KERNELS_SPARSE_KEY_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/sparse/rows.h"

enum { KEY_LIST_REPEATED = 4096 };

/* All zero: empty, without memory. */
struct key_list {
    struct sparse_place *places; /* Their keys; positions are not used. [capacity] */
    struct sparse_place *spare;  /* [capacity] */
    uint64_t count, capacity;    /* Keys that were added, without some repeated ones. */
};

/* For one more key. False: out of memory. */
bool key_list_grow(struct key_list *list);
/* The keys in ascending order, none twice. */
void key_list_sort(struct key_list *list);
void key_list_free(struct key_list *list);
/* The memory of one that has up to `count` different keys, 0: none; and of one as it is. */
uint64_t key_list_bytes_of(uint64_t count);
uint64_t key_list_bytes(const struct key_list *list);

/* False: out of memory. */
static inline bool key_list_add(struct key_list *list, uint64_t key)
{
    if (list->count == list->capacity && !key_list_grow(list)) { return false; }
    list->places[list->count++] = (struct sparse_place){.key = key};
    return true;
}

#endif

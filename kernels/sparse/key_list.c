#include "kernels/sparse/key_list.h"

#include <stdlib.h>

#include "common/base/minmax.h"

enum { LEAST_CAPACITY = 256 };

bool key_list_grow(struct key_list *list)
{
    if (list->capacity >= KEY_LIST_REPEATED) {
        key_list_sort(list);
        if (list->count <= list->capacity / 2) { return true; }
    }
    const uint64_t larger = u64_max(2 * list->capacity, LEAST_CAPACITY);
    struct sparse_place *places = realloc(list->places, larger * sizeof *places);
    if (places != NULL) { list->places = places; }
    struct sparse_place *spare = realloc(list->spare, larger * sizeof *spare);
    if (spare != NULL) { list->spare = spare; }
    if (places == NULL || spare == NULL) { return false; }
    list->capacity = larger;
    return true;
}

void key_list_sort(struct key_list *list)
{
    struct sparse_place *sorted = sparse_sort(list->count, list->places, list->spare);
    uint64_t unique = 0;
    for (uint64_t i = 0; i < list->count; i++) {
        if (unique > 0 && sorted[unique - 1].key == sorted[i].key) { continue; }
        sorted[unique++] = sorted[i];
    }
    if (sorted != list->places) {
        list->spare = list->places;
        list->places = sorted;
    }
    list->count = unique;
}

void key_list_free(struct key_list *list)
{
    free(list->places);
    free(list->spare);
    *list = (struct key_list){0};
}

uint64_t key_list_bytes_of(uint64_t count)
{
    const struct key_list *list = NULL;
    uint64_t capacity = LEAST_CAPACITY;
    if (count == 0) { return 0; }
    while (capacity < 2 * count) { capacity *= 2; }
    return capacity * (sizeof *list->places + sizeof *list->spare);
}

uint64_t key_list_bytes(const struct key_list *list)
{
    return list->capacity * (sizeof *list->places + sizeof *list->spare);
}

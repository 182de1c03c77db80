#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/source/source.h"

enum { BLOCK_BYTES = 1 << 12 };

/* Memory of a row: later blocks are larger, so that few are needed. */
struct source_block {
    struct source_block *next;
    size_t size, used;
    alignas(max_align_t) uint8_t bytes[];
};

enum tn_status source_row_open(struct source_row *row, uint32_t columns, struct error *error)
{
    assert(columns >= 1);
    *row = (struct source_row){.column_count = columns};
    row->cells = calloc(columns, sizeof *row->cells);
    if (row->cells != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "data: out of memory for a row");
}

void source_row_close(struct source_row *row)
{
    while (row->blocks != NULL) {
        struct source_block *next = row->blocks->next;
        free(row->blocks);
        row->blocks = next;
    }
    free(row->cells);
    *row = (struct source_row){0};
}

void *source_row_take(struct source_row *row, size_t size)
{
    const size_t alignment = alignof(max_align_t);
    if (size > SIZE_MAX / 4) { return NULL; }
    size = (size + alignment - 1) / alignment * alignment;
    struct source_block *block = row->blocks;
    if (block == NULL || size > block->size - block->used) {
        const size_t least = block != NULL ? 2 * block->size : BLOCK_BYTES;
        const size_t room = size_max(size, least);
        block = malloc(sizeof *block + room);
        if (block == NULL) { return NULL; }
        *block = (struct source_block){.next = row->blocks, .size = room};
        row->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    return memory;
}

/* Only the newest block stays, which is the largest: soon it is large enough for any row. */
void source_row_clear(struct source_row *row)
{
    assert(row->cells != NULL);
    memset(row->cells, 0, row->column_count * sizeof *row->cells);
    if (row->blocks == NULL) { return; }
    struct source_block *old = row->blocks->next;
    while (old != NULL) {
        struct source_block *next = old->next;
        free(old);
        old = next;
    }
    row->blocks->next = NULL;
    row->blocks->used = 0;
}

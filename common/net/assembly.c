#include "common/net/assembly.h"

#include <assert.h>
#include <string.h>

static void release(struct assembly *assembly)
{
    buffer_release(assembly->body);
    assembly->body = NULL;
}

void assembly_reset(struct assembly *assembly)
{
    release(assembly);
    *assembly = (struct assembly){.body = NULL};
}

void assembly_skip(struct assembly *assembly, const struct frame_header *header)
{
    release(assembly);
    chunks_skip(&assembly->order, header);
}

static bool copy(struct assembly *assembly, struct buffer_pool *pool, const struct buffer *chunk,
                 uint64_t offset, uint64_t total)
{
    assert(chunk != NULL); /* An empty chunk of a longer body is a fault. */
    if (assembly->order.number == 0) {
        release(assembly);
        assembly->body = buffer_acquire(pool, total);
        if (assembly->body != NULL) { assembly->body->size = total; }
    }
    if (assembly->body == NULL) { return false; }
    assert(offset + chunk->size <= assembly->body->size);
    memcpy((uint8_t *)assembly->body->data + offset, chunk->data, chunk->size);
    return true;
}

enum assembly_result assembly_add(struct assembly *assembly, struct buffer_pool *pool,
                                  const struct frame_header *header, struct buffer *body,
                                  uint64_t total, uint32_t chunk_bytes, struct buffer **whole,
                                  const char **fault)
{
    enum chunk_kind kind;
    *whole = NULL;
    *fault = NULL;
    if ((body != NULL ? body->size : 0) != header->body_bytes) { *fault = "its size is wrong"; }
    if (*fault == NULL) {
        *fault = chunks_fault(&assembly->order, header, total, chunk_bytes, &kind);
    }
    if (*fault != NULL) {
        assembly->order.invalid = true;
        release(assembly);
        return ASSEMBLY_INVALID;
    }
    if (kind == CHUNK_REPEATED) { return ASSEMBLY_MORE; }
    if (total == 0) { return ASSEMBLY_COMPLETE; }
    if (header->body_bytes == total) {
        release(assembly);
        *whole = buffer_retain(body);
        return ASSEMBLY_COMPLETE;
    }
    if (!copy(assembly, pool, body, header->offset, total)) { return ASSEMBLY_NO_MEMORY; }
    if (kind == CHUNK_MORE) { return ASSEMBLY_MORE; }
    *whole = assembly->body;
    assembly->body = NULL;
    return ASSEMBLY_COMPLETE;
}

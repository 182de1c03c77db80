#include "common/net/chunks.h"

#include <assert.h>

#include "common/base/minmax.h"

static bool is_same_body(const struct frame_header *a, const struct frame_header *b)
{
    return a->type == b->type && a->generation == b->generation && a->step == b->step &&
           a->sequence == b->sequence && a->first == b->first && a->count == b->count;
}

const char *chunks_fault(struct chunks *chunks, const struct frame_header *header, uint64_t total,
                         uint32_t chunk_bytes, enum chunk_kind *kind)
{
    assert(chunk_bytes > 0);
    bool same = is_same_body(&chunks->first, header);
    if (chunks->incomplete && !same) { return "the body before it is incomplete"; }
    if (header->offset > total || header->offset % chunk_bytes != 0 ||
        header->body_bytes != u64_min(total - header->offset, chunk_bytes)) {
        return "it is not a chunk of the expected body";
    }
    uint64_t end = header->offset + header->body_bytes;
    if (same && end <= chunks->have && (chunks->incomplete || header->offset > 0)) {
        *kind = CHUNK_REPEATED;
        return NULL;
    }
    if (header->offset != (chunks->incomplete ? chunks->have : 0)) {
        return "the chunks before it are missing";
    }
    if (!chunks->incomplete) { chunks->first = *header; }
    chunks->have = end;
    chunks->incomplete = end < total;
    *kind = chunks->incomplete ? CHUNK_MORE : CHUNK_LAST;
    return NULL;
}

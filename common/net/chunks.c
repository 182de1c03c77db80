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
    if (chunks->incomplete && !same) {
        if (chunks->first.type != FRAME_VALUES_GROWING) {
            return "the body before it is incomplete";
        }
        chunks->incomplete = false; /* Its sender has given it up. */
    }
    const uint64_t bytes = header->body_bytes;
    if (header->offset > total || header->offset % chunk_bytes != 0 ||
        bytes != u64_min(total - header->offset, chunk_bytes) || (bytes == 0 && total > 0)) {
        return "it is not a chunk of the expected body";
    }
    /* Bytes that travel before it. */
    const uint64_t before =
        wire_is_last_first(header->type) ? total - header->offset - bytes : header->offset;
    if (same && before > 0 && chunks->skipped) {
        *kind = CHUNK_REPEATED;
        return NULL;
    }
    if (same && before + bytes <= chunks->have && (chunks->incomplete || before > 0)) {
        *kind = CHUNK_REPEATED;
        return NULL;
    }
    if (before != (chunks->incomplete ? chunks->have : 0)) {
        return "the chunks before it are missing";
    }
    chunks->number = chunks->incomplete ? chunks->number + 1 : 0;
    if (!chunks->incomplete) { chunks->first = *header; }
    chunks->have = before + bytes;
    chunks->incomplete = chunks->have < total;
    chunks->skipped = false;
    *kind = chunks->incomplete ? CHUNK_MORE : CHUNK_LAST;
    return NULL;
}

void chunks_skip(struct chunks *chunks, const struct frame_header *header)
{
    *chunks = (struct chunks){.first = *header, .skipped = true, .invalid = chunks->invalid};
}

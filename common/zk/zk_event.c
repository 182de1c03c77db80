#include "common/zk/zk_event.h"

#include <assert.h>
#include <string.h>

static size_t text_bytes(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

size_t zk_event_extra_bytes(const struct zk_event *event)
{
    assert(event->data != NULL || event->size == 0);
    size_t bytes = event->child_count * sizeof event->children[0];
    for (size_t i = 0; i < event->child_count; i++) { bytes += text_bytes(event->children[i]); }
    return bytes + text_bytes(event->path) + event->size;
}

/* Copy to `*at`, and move that behind the copy. NULL: nothing to copy. */
static const void *copy(char **at, const void *from, size_t bytes)
{
    char *to = *at;
    if (bytes == 0) { return NULL; }
    memcpy(to, from, bytes);
    *at += bytes;
    return to;
}

void zk_event_copy(const struct zk_event *event, struct zk_event *out, void *extra)
{
    assert((uintptr_t)extra % sizeof(char *) == 0);
    const char **children = extra; /* First, as they need alignment. */
    char *at = (char *)(children + event->child_count);
    *out = *event;
    for (size_t i = 0; i < event->child_count; i++) {
        children[i] = copy(&at, event->children[i], text_bytes(event->children[i]));
    }
    out->children = event->child_count > 0 ? children : NULL;
    out->path = copy(&at, event->path, text_bytes(event->path));
    out->data = copy(&at, event->data, event->size);
}

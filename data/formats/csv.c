#include "data/formats/csv.h"

#include <assert.h>
#include <string.h>

/* Finish a value that ends at `end`, where a separator, a line end or the end of the text is. */
static void finish(const struct csv_text *text, size_t end, struct csv_value *value)
{
    assert(end <= text->size);
    value->last = end == text->size || text->bytes[end] != text->separator;
    if (end < text->size && text->bytes[end] == '\r') { end++; }
    value->next = end < text->size ? end + 1 : end;
}

/* Whether a value may end at `at`. */
static bool is_end(const struct csv_text *text, size_t at)
{
    if (at == text->size) { return true; }
    const uint8_t byte = text->bytes[at];
    if (byte == text->separator || byte == '\n') { return true; }
    return byte == '\r' && at + 1 < text->size && text->bytes[at + 1] == '\n';
}

static struct csv_value quoted_value(const struct csv_text *text, size_t at)
{
    struct csv_value value = {.bytes = text->bytes + at + 1, .quoted = true, .next = text->size};
    size_t from = at + 1;
    for (;;) {
        const uint8_t *quote =
            from < text->size ? memchr(text->bytes + from, '"', text->size - from) : NULL;
        if (quote == NULL) {
            value.problem = "a quote is not closed";
            value.last = true;
            return value;
        }
        const size_t end = (size_t)(quote - text->bytes);
        if (end + 1 < text->size && text->bytes[end + 1] == '"') {
            value.doubled = true;
            from = end + 2;
            continue;
        }
        value.size = end - at - 1;
        from = end + 1;
        break;
    }
    if (!is_end(text, from)) {
        value.problem = "a closing quote is followed by other characters: write quotes inside of a "
                        "value twice";
    }
    while (!is_end(text, from)) { from++; }
    finish(text, from, &value);
    return value;
}

struct csv_value csv_value_at(const struct csv_text *text, size_t at)
{
    assert(at <= text->size);
    if (at < text->size && text->bytes[at] == '"') { return quoted_value(text, at); }
    struct csv_value value = {.bytes = text->bytes + at};
    size_t end = at;
    while (end < text->size && text->bytes[end] != text->separator && text->bytes[end] != '\n') {
        if (text->bytes[end] == '"') {
            value.problem = "a quote is inside of a value that does not begin with one: quote the "
                            "whole value, and write quotes inside of it twice";
        }
        end++;
    }
    value.size = end - at;
    const bool line = end < text->size && text->bytes[end] == '\n';
    if (line && end > at && text->bytes[end - 1] == '\r') { value.size--; }
    finish(text, end, &value);
    return value;
}

size_t csv_record_end(const struct csv_text *text, size_t at, const char **problem)
{
    assert(at < text->size);
    *problem = NULL;
    /* Most records have no quotes, and these functions are fast. */
    const uint8_t *begin = text->bytes + at;
    const uint8_t *line = memchr(begin, '\n', text->size - at);
    const size_t length = line != NULL ? (size_t)(line - begin) : text->size - at;
    if (memchr(begin, '"', length) == NULL) { return at + length + (line != NULL); }
    for (;;) {
        const struct csv_value value = csv_value_at(text, at);
        if (*problem == NULL) { *problem = value.problem; }
        if (value.last) { return value.next; }
        at = value.next;
    }
}

bool csv_is_blank(const struct csv_text *text, size_t at)
{
    assert(at < text->size);
    if (text->bytes[at] == '\n') { return true; }
    return text->bytes[at] == '\r' && at + 1 < text->size && text->bytes[at + 1] == '\n';
}

size_t csv_unquote(const struct csv_value *value, uint8_t *out)
{
    size_t size = 0;
    assert(out != NULL || value->size == 0);
    for (size_t i = 0; i < value->size; i++) {
        out[size++] = value->bytes[i];
        if (value->quoted && value->bytes[i] == '"') { i++; }
    }
    return size;
}

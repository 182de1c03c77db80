#include "session/message.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"

enum { NUMBER = sizeof(uint32_t), LONG_NUMBER = sizeof(uint64_t) };

void message_send(const struct transport_port *port, conn_id conn, const struct message *message,
                  struct buffer *body)
{
    assert(message->kind > 0 && message->kind < MESSAGE_KINDS);
    const struct frame_header header = {
        .type = FRAME_SESSION,
        .generation = message->session,
        .sequence = message->run,
        .epoch = message->plan,
        .first = message->kind,
        .count = message->edge,
        .step = body != NULL ? body->size : 0,
    };
    port->send(port->ctx, conn, &header, body);
}

bool message_read(const struct frame_header *header, struct message *out)
{
    *out = (struct message){
        .kind = (enum message_kind)header->first,
        .session = header->generation,
        .run = header->sequence,
        .plan = (uint32_t)header->epoch,
        .edge = header->count,
        .bytes = header->step,
    };
    return header->type == FRAME_SESSION && header->first > 0 && header->first < MESSAGE_KINDS &&
           header->epoch <= UINT32_MAX;
}

/* The bytes of a writer as a buffer of the pool. */
static struct buffer *to_buffer(struct buffer_pool *pool, struct byte_writer *writer)
{
    struct buffer *body = writer->failed ? NULL : buffer_acquire(pool, writer->size);
    if (body != NULL) {
        memcpy(body->data, writer->bytes, writer->size);
        body->size = writer->size;
    }
    free(writer->bytes);
    return body;
}

static struct byte_reader reader_of(const struct buffer *body)
{
    return (struct byte_reader){.bytes = body != NULL ? body->data : NULL,
                                .size = body != NULL ? body->size : 0};
}

struct buffer *message_encode_open(struct buffer_pool *pool, const struct message_open *open)
{
    struct byte_writer writer = {.bytes = NULL};
    assert(open->count >= 1 && open->count <= SESSION_SERVERS_MAX && open->self < open->count);
    bytes_put_number(&writer, SESSION_VERSION, NUMBER);
    bytes_put_number(&writer, open->self, NUMBER);
    bytes_put_number(&writer, open->floats, LONG_NUMBER);
    bytes_put_number(&writer, open->count, NUMBER);
    for (uint32_t i = 0; i < open->count; i++) { bytes_put_text(&writer, open->servers[i]); }
    return to_buffer(pool, &writer);
}

enum tn_status message_decode_open(const struct buffer *body, struct message_open *out,
                                   struct error *error)
{
    struct byte_reader reader = reader_of(body);
    *out = (struct message_open){.count = 0};
    const uint64_t version = bytes_take_number(&reader, NUMBER);
    if (reader.fault == NULL && version != SESSION_VERSION) {
        return error_set(error, TN_EPROTO,
                         "the client speaks version %u of sessions, the server version %d: use one "
                         "release of Tanist",
                         (unsigned)version, SESSION_VERSION);
    }
    out->self = (uint32_t)bytes_take_number(&reader, NUMBER);
    out->floats = bytes_take_number(&reader, LONG_NUMBER);
    out->count = (uint32_t)bytes_take_count(&reader, NUMBER, SESSION_SERVERS_MAX,
                                            "there are too many servers");
    for (uint32_t i = 0; i < out->count; i++) {
        bytes_take_text(&reader, out->servers[i], sizeof out->servers[i]);
        const bool is_known =
            strncmp(out->servers[i], SESSION_SCHEME, sizeof SESSION_SCHEME - 1) == 0;
        if (reader.fault == NULL && !is_known) {
            reader.fault = "an address does not begin with " SESSION_SCHEME;
        }
    }
    if (reader.fault == NULL && out->self >= out->count) {
        reader.fault = "the server's own number is not among the servers";
    }
    if (reader.fault == NULL && reader.at != reader.size) { reader.fault = "bytes follow it"; }
    if (reader.fault == NULL) { return TN_OK; }
    return error_set(error, TN_EPROTO, "message OPEN: %s", reader.fault);
}

struct buffer *message_encode_error(struct buffer_pool *pool, const struct error *error)
{
    struct byte_writer writer = {.bytes = NULL};
    const size_t length = strlen(error->text);
    bytes_put_number(&writer, error->status, NUMBER);
    bytes_put(&writer, error->text, length);
    return to_buffer(pool, &writer);
}

void message_decode_error(const struct buffer *body, struct error *out)
{
    struct byte_reader reader = reader_of(body);
    const uint64_t status = bytes_take_number(&reader, NUMBER);
    const size_t length = reader.size - reader.at;
    const bool known = reader.fault == NULL && status > TN_OK && status < TN_STATUS_COUNT;
    out->status = known ? (enum tn_status)status : TN_EPROTO;
    size_t at = 0;
    while (reader.fault == NULL && at < length && at + 1 < sizeof out->text) {
        const uint8_t byte = reader.bytes[reader.at + at];
        out->text[at++] = byte >= ' ' && byte <= '~' ? (char)byte : '?';
    }
    out->text[at] = '\0';
}

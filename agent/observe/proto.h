/*
 * agent/observe/proto.h: writes protocol buffers in memory: fields by their numbers, each message
 * in a buffer of its own until it is put into its parent.
 *
 * Running out of memory is remembered in `failed`; everything after it is dropped. Pure but for
 * memory. Threads: the owner's.
 */
#ifndef AGENT_OBSERVE_PROTO_H
#define AGENT_OBSERVE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: empty. */
struct proto {
    uint8_t *at; /* Owned. */
    size_t used, size;
    bool failed;
};

void proto_free(struct proto *proto);

void proto_uint(struct proto *proto, uint32_t field, uint64_t value);
void proto_double(struct proto *proto, uint32_t field, double value);
void proto_float(struct proto *proto, uint32_t field, float value);
void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size);
void proto_text(struct proto *proto, uint32_t field, const char *text);
/* Frees `message`. */
void proto_message(struct proto *proto, uint32_t field, struct proto *message);

#endif

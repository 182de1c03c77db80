/*
 * data/formats/example.h: messages tf.train.Example (tensorflow/core/example/example.proto): a map
 * from names to features, which are lists of bytes, floats or integers.
 *
 * Messages are not trusted; they are read in place and within their bytes. Fields of unknown
 * numbers are ignored, as protobuf demands. Pure. Threads: any.
 */
#ifndef DATA_FORMATS_EXAMPLE_H
#define DATA_FORMATS_EXAMPLE_H

#include "data/formats/wire.h"

enum example_kind { EXAMPLE_NONE, EXAMPLE_BYTES, EXAMPLE_FLOATS, EXAMPLE_INTEGERS };

struct example_feature {
    const char *name; /* Not terminated. */
    size_t name_size;
    enum example_kind kind; /* NONE: an empty feature. */
    uint64_t count;         /* Values. */
    struct wire list;       /* The message that holds them. */
};

/* The features that are not read yet: begin with EXAMPLE_CURSOR of the whole message. */
struct example_cursor {
    struct wire example, features;
};
#define EXAMPLE_CURSOR(bytes, size)                                                                \
    ((struct example_cursor){.example = {.at = (bytes), .end = (bytes) + (size)}})

enum example_result { EXAMPLE_FEATURE, EXAMPLE_END, EXAMPLE_DAMAGED, EXAMPLE_SEQUENCE };

/* The next feature. SEQUENCE: the message is a tf.train.SequenceExample. */
enum example_result example_next(struct example_cursor *cursor, struct example_feature *out);

/* The values of a feature that example_next() gave: `count` of them. */
void example_floats(const struct example_feature *feature, float *out);
double example_number(const struct example_feature *feature);     /* The first one. count >= 1. */
struct wire example_bytes(const struct example_feature *feature); /* The same. */

#endif

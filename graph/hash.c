/* graph/hash.c: tn_graph_hash(): the identity of a model. */
#include <string.h>
#include <xxhash.h>

#include "graph/canonical.h"

/* Numbers are hashed as eight bytes, low byte first, and texts with their terminating zero, so that
 * every machine gets the same hash. */
static void add_u64(XXH3_state_t *state, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) { bytes[i] = (uint8_t)(value >> (8 * i)); }
    XXH3_64bits_update(state, bytes, sizeof bytes);
}

static void add_text(XXH3_state_t *state, const char *text)
{
    const char *present = text == NULL ? "" : text;
    XXH3_64bits_update(state, present, strlen(present) + 1);
}

static void add_double(XXH3_state_t *state, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_u64(state, bits);
}

static void add_shape(XXH3_state_t *state, const struct tn_shape *shape)
{
    add_u64(state, shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++) { add_u64(state, (uint64_t)shape->dims[i]); }
}

static void add_variable(XXH3_state_t *state, const struct tn_variable_options *options)
{
    add_u64(state, options->init);
    add_double(state, (double)options->scale);
    add_u64(state, options->update);
    add_double(state, (double)options->momentum);
    add_u64(state, options->no_weight_decay);
    add_text(state, options->optimizer);
}

static void add_node(XXH3_state_t *state, const struct node *node)
{
    const struct attributes *attributes = &node->attributes;
    add_text(state, node->op->name);
    add_u64(state, node->op->version);
    add_text(state, node->device);
    add_text(state, attributes->name);
    for (uint32_t i = 0; i < OP_INTEGERS_MAX; i++) {
        add_u64(state, (uint64_t)attributes->integers[i]);
    }
    for (uint32_t i = 0; i < OP_NUMBERS_MAX; i++) { add_double(state, attributes->numbers[i]); }
    if (attributes->variable != NULL) { add_variable(state, attributes->variable); }
    if (attributes->initial != NULL) { add_u64(state, attributes->initial->digest); }
    if (attributes->data != NULL) {
        add_u64(state, XXH3_64bits(attributes->data, attributes->data_bytes));
    }
    add_u64(state, node->input_count);
    for (uint32_t i = 0; i < node->input_count; i++) { add_u64(state, node->inputs[i].v); }
    for (uint32_t i = 0; i < node->op->outputs; i++) {
        add_u64(state, node->types[i]);
        add_shape(state, &node->shapes[i]);
    }
}

uint64_t tn_graph_hash(const struct tn_graph *graph)
{
    struct tn_graph *canonical = NULL;
    assert(graph != NULL);
    if (graph_canonical(graph, false, &canonical, NULL) != TN_OK) { return 0; }
    uint64_t hash = 0;
    XXH3_state_t *state = XXH3_createState();
    if (state != NULL && XXH3_64bits_reset(state) == XXH_OK) {
        for (uint32_t i = 0; i < canonical->count; i++) { add_node(state, &canonical->nodes[i]); }
        for (uint32_t i = 0; i < canonical->mark_count; i++) {
            const struct mark *mark = &canonical->marks[i];
            add_u64(state, mark->kind);
            add_text(state, mark->name);
            add_u64(state, mark->value.v);
            add_double(state, (double)mark->weight);
        }
        hash = XXH3_64bits_digest(state);
    }
    XXH3_freeState(state);
    tn_graph_destroy(canonical);
    return hash;
}

#include "common/cluster/variables.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/base/minmax.h"
#include "common/base/random.h"

#define PARAMETERS_MAX (UINT64_C(1) << 40)

/* The first random stream of the initial values; each variable has one. */
#define STREAM_INITIAL UINT64_C(0x696e697469616c00)

static enum tn_status check_name(const struct variable_table *table, const char *name,
                                 struct error *error)
{
    size_t length = strlen(name);
    if (length == 0 || length >= VARIABLE_NAME_MAX) {
        return error_set(error, TN_EINVAL, "variable name '%s' has %zu characters: give 1 to %d",
                         name, length, VARIABLE_NAME_MAX - 1);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        if (strcmp(table->variables[i].name, name) == 0) {
            return error_set(error, TN_EINVAL, "variable '%s' exists twice: rename one", name);
        }
    }
    return TN_OK;
}

static enum tn_status check_shape(const struct variable_table *table, const char *name,
                                  uint32_t rank, const uint32_t *shape, uint64_t *count,
                                  struct error *error)
{
    assert(table->parameter_count <= PARAMETERS_MAX);
    if (rank < 1 || rank > VARIABLE_RANK_MAX) {
        return error_set(error, TN_EINVAL, "variable '%s' has rank %" PRIu32 ": give 1 to %d", name,
                         rank, VARIABLE_RANK_MAX);
    }
    *count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 0) {
            return error_set(error, TN_EINVAL,
                             "variable '%s': dimension %" PRIu32 " is 0: give at least 1", name, i);
        }
        bool fits = shape[i] <= PARAMETERS_MAX / *count;
        *count = fits ? *count * shape[i] : PARAMETERS_MAX;
        if (!fits) { break; }
    }
    if (*count >= PARAMETERS_MAX - table->parameter_count) {
        return error_set(error, TN_EINVAL,
                         "with variable '%s' the model has more than %" PRIu64
                         " parameters: make the model smaller",
                         name, PARAMETERS_MAX);
    }
    return TN_OK;
}

enum tn_status variable_table_add(struct variable_table *table, const char *name, uint32_t rank,
                                  const uint32_t *shape, enum variable_init init, float scale,
                                  struct error *error)
{
    assert(name != NULL && table->count <= VARIABLES_MAX);
    uint64_t count = 0;
    if (table->count == VARIABLES_MAX) {
        return error_set(error, TN_EINVAL,
                         "variable '%s' does not fit: a model has at most %d variables", name,
                         VARIABLES_MAX);
    }
    enum tn_status status = check_name(table, name, error);
    if (status == TN_OK) { status = check_shape(table, name, rank, shape, &count, error); }
    if (status != TN_OK) { return status; }

    struct variable *variable = &table->variables[table->count++];
    memset(variable, 0, sizeof *variable);
    memcpy(variable->name, name, strlen(name));
    memcpy(variable->shape, shape, rank * sizeof *shape);
    variable->rank = rank;
    variable->init = init;
    variable->no_weight_decay = rank == 1;
    variable->scale = scale;
    variable->number = table->count - 1;
    variable->offset = table->parameter_count;
    variable->count = count;
    table->parameter_count += count;
    return TN_OK;
}

static size_t put_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) { bytes[i] = (uint8_t)(value >> (8 * i)); }
    return 4;
}

static size_t put_scale(uint8_t *bytes, float scale)
{
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    return put_u32(bytes, bits);
}

/* A scale or a digest of 0 is left out, as in the hashes of checkpoints from before there were
 * scales. */
uint64_t variable_table_hash(const struct variable_table *table)
{
    XXH3_state_t state;
    assert(table->count <= VARIABLES_MAX);
    (void)XXH3_64bits_reset(&state);
    for (uint32_t i = 0; i < table->count; i++) {
        const struct variable *variable = &table->variables[i];
        uint8_t bytes[VARIABLE_NAME_MAX + 4 * (5 + VARIABLE_RANK_MAX)];
        memcpy(bytes, variable->name, VARIABLE_NAME_MAX);
        size_t size = VARIABLE_NAME_MAX;
        size += put_u32(bytes + size, variable->rank);
        size += put_u32(bytes + size, (uint32_t)variable->init);
        for (uint32_t d = 0; d < VARIABLE_RANK_MAX; d++) {
            size += put_u32(bytes + size, variable->shape[d]);
        }
        if (variable->scale > 0) { size += put_scale(bytes + size, variable->scale); }
        if (variable->init == VARIABLE_VALUES) {
            size += put_u32(bytes + size, (uint32_t)variable->values_digest);
            size += put_u32(bytes + size, (uint32_t)(variable->values_digest >> 32));
        }
        (void)XXH3_64bits_update(&state, bytes, size);
    }
    return XXH3_64bits_digest(&state);
}

struct placement variable_table_shard(const struct variable_table *table, uint32_t ps_count,
                                      uint32_t index)
{
    assert(index < ps_count);
    if (table->shard_count == 0) {
        return placement_range(table->parameter_count, ps_count, index);
    }
    assert(ps_count == table->shard_count);
    const uint64_t *first = &table->shard_first[index];
    return (struct placement){first[0], first[1] - first[0]};
}

struct digest variable_table_digest(const struct variable_table *table, const float *values)
{
    uint32_t places[VARIABLES_MAX];
    struct digest_stream stream;
    assert(values != NULL);
    for (uint32_t i = 0; i < table->count; i++) { places[table->variables[i].number] = i; }
    digest_begin(&stream);
    for (uint32_t n = 0; n < table->count; n++) {
        const struct variable *variable = &table->variables[places[n]];
        digest_add(&stream, values + variable->offset, variable->count * sizeof *values);
    }
    return digest_end(&stream);
}

enum tn_status variable_table_check_ps(const struct variable_table *table, uint32_t ps_count,
                                       struct error *error)
{
    assert(table->parameter_count <= PARAMETERS_MAX);
    if (table->shard_count != 0 && table->shard_count == ps_count) { return TN_OK; }
    uint64_t most = placement_ps_max(table->parameter_count);
    if (ps_count >= 1 && ps_count <= most) { return TN_OK; }
    if (ps_count == 0) { return error_set(error, TN_EINVAL, "cluster.ps is 0: give at least 1"); }
    return error_set(error, TN_EINVAL,
                     "cluster.ps is %" PRIu32 ", but the model's %" PRIu64
                     " parameters make at most %" PRIu64
                     " ps in blocks of %d: give at most that number",
                     ps_count, table->parameter_count, most, PLACEMENT_BLOCK);
}

static void fill(uint64_t count, float value, float *out)
{
    for (uint64_t i = 0; i < count; i++) { out[i] = value; }
}

static void fill_uniform(uint64_t seed, uint64_t stream, uint64_t first, uint64_t count,
                         float limit, float *out)
{
    for (uint64_t i = 0; i < count; i++) {
        out[i] = (2.0F * random_unit_at(seed, stream, first + i) - 1.0F) * limit;
    }
}

static void fill_normal(uint64_t seed, uint64_t stream, uint64_t first, uint64_t count,
                        float deviation, float *out)
{
    for (uint64_t i = 0; i < count; i++) {
        out[i] = random_normal_at(seed, stream, first + i) * deviation;
    }
}

static void init_part(const struct variable *variable, uint64_t seed, uint64_t stream,
                      uint64_t first, uint64_t count, float *out)
{
    assert(first + count <= variable->count);
    float fan_out = (float)variable->shape[variable->rank - 1];
    float fan_in = variable->rank == 1 ? fan_out : (float)variable->count / fan_out;
    float glorot = sqrtf(6.0F / (fan_in + fan_out)), he = sqrtf(2.0F / fan_in);
    switch (variable->init) {
    case VARIABLE_ZEROS: fill(count, 0, out); break;
    case VARIABLE_ONES: fill(count, 1, out); break;
    case VARIABLE_GLOROT_UNIFORM: fill_uniform(seed, stream, first, count, glorot, out); break;
    case VARIABLE_HE_NORMAL: fill_normal(seed, stream, first, count, he, out); break;
    case VARIABLE_UNIFORM: fill_uniform(seed, stream, first, count, variable->scale, out); break;
    case VARIABLE_NORMAL: fill_normal(seed, stream, first, count, variable->scale, out); break;
    case VARIABLE_VALUES:
        assert(variable->values != NULL);
        memcpy(out, variable->values + first, (size_t)count * sizeof *out);
        break;
    }
}

void variables_init_range(const struct variable_table *table, uint64_t seed, uint64_t first,
                          uint64_t count, float *out)
{
    assert(first <= table->parameter_count);
    assert(count <= table->parameter_count - first);
    uint64_t end = first + count;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct variable *variable = &table->variables[i];
        uint64_t from = u64_max(first, variable->offset);
        uint64_t to = u64_min(end, variable->offset + variable->count);
        if (from < to) {
            init_part(variable, seed, STREAM_INITIAL + variable->number, from - variable->offset,
                      to - from, out + (from - first));
        }
    }
}

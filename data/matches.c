#include "data/matches.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"

/* Random streams. Test examples use the next stream of each except STREAM_VECTORS. */
#define STREAM_VECTORS UINT64_C(0x6d61746368760000)
#define STREAM_IDS     UINT64_C(0x6d61746368690000)
#define STREAM_NOISE   UINT64_C(0x6d617463686e0000)

static float vector_at(uint64_t seed, uint8_t id, uint32_t k)
{
    return 2.0F * random_unit_at(seed, STREAM_VECTORS, (uint64_t)id * MATCHES_WIDTH + k) - 1.0F;
}

/* The sum of the bag's vectors times the candidate's, in the order of the ids. */
static float score(uint64_t seed, const uint8_t *ids, uint32_t bag)
{
    float product = 0;
    for (uint32_t k = 0; k < MATCHES_WIDTH; k++) {
        float sum = 0;
        for (uint32_t i = 0; i < bag; i++) { sum += vector_at(seed, ids[i], k); }
        product += sum * vector_at(seed, ids[bag], k);
    }
    return product / sqrtf((float)bag);
}

static enum tn_status check(const struct job *job, struct error *error)
{
    if (job->model.inputs < 2 || job->model.inputs > MATCHES_INPUTS_MAX) {
        return error_set(error, TN_EINVAL,
                         "model.inputs is %" PRIu32
                         ", but data.type 'matches' has a bag of ids and a candidate: give 2 to %d",
                         job->model.inputs, MATCHES_INPUTS_MAX);
    }
    if (job_classes(job) < 2) {
        return error_set(error, TN_EINVAL,
                         "data.type 'matches' has labels, 0 and 1, but the model has no classes: "
                         "give model.loss 'sigmoid_cross_entropy' and model.targets 'data'");
    }
    return TN_OK;
}

enum tn_status matches_fill(const struct job *job, enum dataset_split split,
                            struct dataset *dataset, struct error *error)
{
    const bool train = split == DATASET_TRAIN;
    const uint32_t inputs = job->model.inputs;
    const uint32_t examples = train ? job->data.examples : job->data.test_examples;
    assert(dataset->input_bytes == NULL && dataset->labels == NULL);
    enum tn_status status = check(job, error);
    if (status != TN_OK) { return status; }
    dataset->examples = examples;
    dataset->input_bytes = malloc((size_t)examples * inputs);
    dataset->labels = malloc(examples);
    if (dataset->input_bytes == NULL || dataset->labels == NULL) {
        return error_set(error, TN_ENOMEM, "data: out of memory for %" PRIu32 " examples",
                         examples);
    }
    for (uint64_t e = 0; e < examples; e++) {
        uint8_t *ids = dataset->input_bytes + e * inputs;
        for (uint64_t i = 0; i < inputs; i++) {
            ids[i] =
                (uint8_t)(random_at(job->seed, STREAM_IDS + !train, e * inputs + i) % MATCHES_IDS);
        }
        float noise =
            (float)job->data.noise * random_normal_at(job->seed, STREAM_NOISE + !train, e);
        dataset->labels[e] = score(job->seed, ids, inputs - 1) + noise > 0;
    }
    return TN_OK;
}

#include "data/synthetic.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "kernels/kernels.h"

/* Random streams. Test examples use the next stream of each except STREAM_TRUTH. */
#define STREAM_TRUTH  UINT64_C(0x74727574680000)
#define STREAM_INPUTS UINT64_C(0x696e7075740000)
#define STREAM_LABELS UINT64_C(0x6c6162656c0000)
#define STREAM_NOISE  UINT64_C(0x6e6f6973650000)

#define FLOATS_MAX (UINT64_C(1) << 29)

enum { CLUSTERS = 10 /* Centres of inputs that are their own targets. */ };

static float uniform_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return 2.0F * random_unit_at(seed, stream, index) - 1.0F;
}

static void fill_classes(uint64_t seed, uint64_t split, uint32_t classes, float noise,
                         struct dataset *dataset)
{
    assert(dataset->labels != NULL);
    uint32_t width = dataset->inputs;
    for (uint64_t i = 0; i < dataset->examples; i++) {
        uint64_t label = random_at(seed, STREAM_LABELS + split, i) % classes;
        dataset->labels[i] = (uint8_t)label;
        for (uint64_t c = 0; c < width; c++) {
            dataset->input_floats[i * width + c] =
                uniform_at(seed, STREAM_TRUTH, label * width + c) +
                noise * random_normal_at(seed, STREAM_NOISE + split, i * width + c);
        }
    }
}

static void fill_linear(uint64_t seed, uint64_t split, float noise, struct dataset *dataset)
{
    assert(dataset->targets != NULL);
    uint64_t width = dataset->inputs, outputs = dataset->outputs;
    for (uint64_t i = 0; i < dataset->examples; i++) {
        float *row = dataset->input_floats + i * width;
        for (uint64_t c = 0; c < width; c++) {
            row[c] = uniform_at(seed, STREAM_INPUTS + split, i * width + c);
        }
        for (uint64_t o = 0; o < outputs; o++) {
            /* The bias is row `width` of the true weights. */
            float sum = uniform_at(seed, STREAM_TRUTH, width * outputs + o);
            for (uint64_t c = 0; c < width; c++) {
                sum += row[c] * uniform_at(seed, STREAM_TRUTH, c * outputs + o);
            }
            dataset->targets[i * outputs + o] =
                sum + noise * random_normal_at(seed, STREAM_NOISE + split, i * outputs + o);
        }
    }
}

enum tn_status synthetic_fill(const struct job *job, enum dataset_split split,
                              struct dataset *dataset, struct error *error)
{
    assert(dataset->inputs >= 1 && dataset->outputs >= 1);
    bool train = split == DATASET_TRAIN,
         linear = job_is_regression(job) && !dataset->targets_are_inputs;
    uint32_t examples = train ? job->data.examples : job->data.test_examples;
    const char *field = train ? "data.examples" : "data.test_examples";
    uint64_t floats_each = (uint64_t)job->model.inputs + (linear ? job->model.outputs : 0);
    if (examples == 0) { return error_set(error, TN_EINVAL, "%s is 0: give at least 1", field); }
    if (examples > FLOATS_MAX / floats_each) {
        return error_set(error, TN_EINVAL,
                         "%s is %" PRIu32 ": with %" PRIu32
                         " inputs each they need over 2 GB of memory: give fewer",
                         field, examples, job->model.inputs);
    }

    dataset->examples = examples;
    dataset->input_floats = kernels_allocate((size_t)examples * dataset->inputs);
    if (linear) {
        dataset->targets = kernels_allocate((size_t)examples * dataset->outputs);
    } else {
        dataset->labels = malloc(examples);
    }
    if (dataset->input_floats == NULL ||
        (linear ? dataset->targets == NULL : dataset->labels == NULL)) {
        return error_set(error, TN_ENOMEM, "synthetic data: out of memory for %" PRIu32 " examples",
                         examples);
    }
    if (linear) {
        fill_linear(job->seed, !train, (float)job->data.noise, dataset);
    } else {
        uint32_t classes = job_classes(job);
        fill_classes(job->seed, !train, classes > 0 ? classes : CLUSTERS, (float)job->data.noise,
                     dataset);
    }
    return TN_OK;
}

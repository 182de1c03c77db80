#include "kernels/job_kernels.h"

#include <assert.h>

static const struct {
    const char *kernels, *programs, *programs_on_cpu;
} names[] = {
    [JOB_KERNELS_PORTABLE] = {"portable", "portable", "portable"},
    [JOB_KERNELS_OPENBLAS] = {"cpu", "openblas", "openblas"},
    /* On a GPU only the model runs, with the bits of "portable". */
    [JOB_KERNELS_CUDA] = {"portable", "cuda", "portable"},
    /* Plans need as much memory, and predictions are the same but for rounding. */
    [JOB_KERNELS_CUBLAS] = {"portable", "cublas", "portable"},
};

static const char *const by_cublas[] = {
    [JOB_PRECISION_FLOAT32] = "cublas",
    [JOB_PRECISION_TF32] = "cublas-tf32",
    [JOB_PRECISION_BF16] = "cublas-bf16",
};

const char *job_kernels(const struct job *job)
{
    assert((size_t)job->train.kernels < sizeof names / sizeof names[0]);
    return names[job->train.kernels].kernels;
}

const char *job_programs(const struct job *job)
{
    assert((size_t)job->train.kernels < sizeof names / sizeof names[0]);
    return job->train.kernels == JOB_KERNELS_CUBLAS ? by_cublas[job->train.precision]
                                                    : names[job->train.kernels].programs;
}

const char *job_programs_on_cpu(const struct job *job)
{
    assert((size_t)job->train.kernels < sizeof names / sizeof names[0]);
    return names[job->train.kernels].programs_on_cpu;
}

#include "kernels/job_kernels.h"

#include <assert.h>

static const struct {
    const char *kernels, *programs;
} names[] = {
    [JOB_KERNELS_PORTABLE] = {"portable", "portable"},
    [JOB_KERNELS_OPENBLAS] = {"cpu", "openblas"},
};

const char *job_kernels(const struct job *job)
{
    assert((size_t)job->train.kernels < sizeof names / sizeof names[0]);
    return names[job->train.kernels].kernels;
}

const char *job_programs(const struct job *job)
{
    assert((size_t)job->train.kernels < sizeof names / sizeof names[0]);
    return names[job->train.kernels].programs;
}

/*
 * worker/compute_gpus.h: the GPUs of a worker, as the kernels of its programs.
 *
 * Threads: any. Nothing blocks, but for the driver when it is opened.
 */
#ifndef WORKER_COMPUTE_GPUS_H
#define WORKER_COMPUTE_GPUS_H

#include "worker/compute.h"

/*
 * The kernels for programs of member `member` of a team (worker/compute_team.h): those of `config`,
 * and of "cuda" and "cublas" those on GPU `first_gpu + member` of those that the driver shows,
 * beginning with the first after the last. Static storage, or that of `config`.
 *
 *   TN_ENOENT  there are fewer GPUs than `config->gpus`
 */
MUST_CHECK enum tn_status compute_gpu_programs(const struct compute_config *config, uint32_t member,
                                               const char **programs, struct error *error);

/*
 * Choose the programs of a compute whose configuration is set. Those of a model whose operations
 * are divided among GPUs (graph/gpu_placement.h) are on GPUs `first_gpu` and the next ones: then it
 * writes `compute->placed`, and the compute has no team. Otherwise it writes `config.programs`, as
 * above.
 *
 *   TN_EINVAL  the model names another number of GPUs than `train.gpus`
 *   TN_ENOENT  there are fewer GPUs
 */
MUST_CHECK enum tn_status compute_gpu_choose(struct compute *compute, struct error *error);

#endif

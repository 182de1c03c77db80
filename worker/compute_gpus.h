/*
 * worker/compute_gpus.h: the GPUs of a worker, as the kernels of its programs.
 *
 * Threads: any. Nothing blocks, but for the driver when it is opened.
 */
#ifndef WORKER_COMPUTE_GPUS_H
#define WORKER_COMPUTE_GPUS_H

#include "graph/gpu_placement.h"
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
 * Where the model of a job that computes on GPUs places its operations, in `*placement`. No GPU is
 * opened. The model is divided if `gpu_placement_tasks(*placement)` is above 1.
 *
 *   TN_EINVAL  the model is divided, and names more GPUs than a worker can have, or another number
 *              than `train.gpus`, or it has tables; the text has the remedy
 *   others     as gpu_placement_of()
 */
MUST_CHECK enum tn_status compute_gpu_check(const struct job *job, const struct tn_graph *graph,
                                            struct gpu_placement *placement, struct error *error);

/*
 * Choose the programs of a compute whose configuration is set. Those of a model whose operations
 * are divided among GPUs (graph/gpu_placement.h) are on GPUs `first_gpu` and the next ones: then it
 * writes `compute->placed`, and the compute has no team. Otherwise it writes `config.programs`, as
 * above.
 *
 *   TN_ENOENT  there are fewer GPUs
 *   others     as compute_gpu_check()
 */
MUST_CHECK enum tn_status compute_gpu_choose(struct compute *compute, struct error *error);

#endif

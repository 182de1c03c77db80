/*
 * graph/device_sums.h: sums of gradients in the memory of a GPU: vectors as long as the gradient of
 * a program, which is added without a copy to the host. A sum of another GPU is copied from its
 * memory and then added, so sums follow a tree over all GPUs of a process. Each addition is that of
 * the CPU, with its bits.
 *
 * Work is queued among the kernels of the GPU. What reads the memory of another GPU is ordered
 * behind the kernels of that one by an event. A vector that another GPU reads must not change
 * before that is done, which device_sums_wait() of that GPU shows.
 *
 * Errors of all functions: TN_EDEVICE: a device has failed; the text has the reason. A failure of
 * work that was queued is reported by device_sums_fetch() or device_sums_wait() of its GPU.
 *
 * Threads: those of one GPU belong to one thread at a time.
 */
#ifndef GRAPH_DEVICE_SUMS_H
#define GRAPH_DEVICE_SUMS_H

#include <stdint.h>

#include "common/base/error.h"
#include "tanist/program.h"

struct device_sums;

/* The bytes on the device of `vectors` of them and of the one for copies from other GPUs. Pure. */
uint64_t device_sums_bytes(uint64_t parameters, uint32_t vectors);

/* `vectors` of them, on the device of the program. Without one, `*out` is NULL. TN_ENOMEM: the text
 * has the bytes and the GPU. */
MUST_CHECK enum tn_status device_sums_open(const struct tn_program *program, uint32_t vectors,
                                           struct device_sums **out, struct error *error);
void device_sums_close(struct device_sums *sums); /* NULL is allowed. */

/* The gradient of the next run of the program, whose mode is TN_TRAIN, stays on its device if
 * `keep`: `gradient` of the run may be NULL. Losses are complete as ever. */
void device_sums_keep(struct tn_program *program, bool keep);

/* The vector becomes the gradient of the last run of `program`, which was kept; or zeros. */
MUST_CHECK enum tn_status device_sums_take(struct device_sums *sums, uint32_t vector,
                                           const struct tn_program *program, struct error *error);
MUST_CHECK enum tn_status device_sums_clear(struct device_sums *sums, uint32_t vector,
                                            struct error *error);
/* Add vector `from` of `other`, which may be `sums`, or those of another GPU. */
MUST_CHECK enum tn_status device_sums_add(struct device_sums *sums, uint32_t into,
                                          struct device_sums *other, uint32_t from,
                                          struct error *error);
/* When it returns, the vector is at `to`. */
MUST_CHECK enum tn_status device_sums_fetch(struct device_sums *sums, uint32_t vector, float *to,
                                            struct error *error);
/* Until all that was queued is done. */
MUST_CHECK enum tn_status device_sums_wait(struct device_sums *sums, struct error *error);

#endif

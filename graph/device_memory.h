/*
 * graph/device_memory.h: the memory of a program on a device (struct backend_device): one
 * allocation for the arena, the variables, their gradient, the fields and the constants.
 *
 * The host keeps memory for the same places, so that program_memory() is where the caller reads
 * and writes, and where an operation without a kernel for the device runs. Copies are explicit:
 *
 *   fields and, if they have changed, variables   before the first instruction
 *   an operation on the CPU                       its inputs before it, its outputs behind it
 *   the gradient                                  as its parts become final, or at the end
 *   losses, metrics and outputs                   at the end
 *
 * Errors of all functions: TN_EDEVICE: the device has failed; the text has the reason.
 *
 * Threads: as the program. Private to graph/.
 */
#ifndef GRAPH_DEVICE_MEMORY_H
#define GRAPH_DEVICE_MEMORY_H

#include "graph/program.h"

/* TN_ENOMEM: the text has the bytes, what they are for, and the remedy. */
MUST_CHECK enum tn_status device_memory_open(struct tn_program *program, struct error *error);
void device_memory_close(struct tn_program *program); /* Also without a device. */

/* Copy the fields, and with `values_changed` the variables, to the device. */
MUST_CHECK enum tn_status device_memory_begin(const struct tn_program *program, bool values_changed,
                                              struct error *error);
/* Copy what the caller reads, and the gradient's elements below `final_from`, which were not yet
 * copied. All kernels are done when it returns. */
MUST_CHECK enum tn_status device_memory_end(const struct tn_program *program, uint64_t final_from,
                                            struct error *error);

/* Let the call of the instruction read and write the device's memory. */
void device_memory_bind(const struct tn_program *program, struct instruction *instruction);
/* Copies for an operation on the CPU, and for a look at results. */
MUST_CHECK enum tn_status device_memory_fetch_inputs(const struct tn_program *program,
                                                     const struct instruction *instruction,
                                                     struct error *error);
MUST_CHECK enum tn_status device_memory_send_outputs(const struct tn_program *program,
                                                     const struct instruction *instruction,
                                                     struct error *error);
MUST_CHECK enum tn_status device_memory_fetch_outputs(const struct tn_program *program,
                                                      const struct instruction *instruction,
                                                      struct error *error);
/* Elements [from, end) of the gradient. Those without a gradient are zeros. */
MUST_CHECK enum tn_status device_memory_fetch_gradient(const struct tn_program *program,
                                                       uint64_t from, uint64_t end,
                                                       struct error *error);
/* Losses, metrics, outputs, gradients of rows, as far as they are computed. */
MUST_CHECK enum tn_status device_memory_fetch_roots(const struct tn_program *program,
                                                    struct error *error);

#endif

/*
 * graph/device_memory.h: the memory of a program on a device (struct backend_device): one
 * allocation for the arena, the variables, their gradient, the fields and the constants.
 *
 * The host keeps memory for the same places, so that program_memory() is where the caller reads
 * and writes, and where an operation without a kernel for the device runs. Copies are explicit:
 *
 *   fields                     before the first instruction, or during the run before
 *   variables that changed     part by part, each before the first instruction that reads it
 *   an operation on the CPU    its inputs before it, its outputs behind it
 *   the gradient               as its parts become final
 *   losses                     with the first part
 *   metrics and outputs        at the end
 *
 * All but those of operations on the CPU run beside the kernels (device_copies.c).
 *
 * Errors of all functions: TN_EDEVICE: the device has failed; the text has the reason.
 *
 * Threads: as the program. Private to graph/.
 */
#ifndef GRAPH_DEVICE_MEMORY_H
#define GRAPH_DEVICE_MEMORY_H

#include "graph/program.h"

/* Bytes. */
struct device_memory_size {
    uint64_t values, gradient, results, rest; /* On the device; `rest`: fields and constants. */
    uint64_t pinned;                          /* On the host, with the fields. */
    uint64_t fetched; /* On the host: losses and outputs, in its copy of the results. */
};

/* The memory of a device and pinned memory that a program allocates. The device may be missing. */
struct device_memory_size device_memory_size(const struct tn_program *program);

/* TN_ENOMEM: the text has the bytes, what they are for, and the remedy. */
MUST_CHECK enum tn_status device_memory_open(struct tn_program *program, struct error *error);
void device_memory_close(struct tn_program *program); /* Allowed without a device. */

/* The fields on the host: pinned memory with a device. Without one, they are NULL if there is no
 * memory. */
MUST_CHECK enum tn_status device_memory_open_fields(struct tn_program *program,
                                                    struct error *error);
void device_memory_close_fields(struct tn_program *program);

/* Before each run: the functions below, and kernels, are for the program's device. */
void device_memory_select(const struct tn_program *program);

/* ------------------------------------------------------ copies beside kernels, in this order */

/* Queue the copy of the fields, unless they were sent in the last run and the program uses them;
 * `values_changed`: so have the variables. */
MUST_CHECK enum tn_status device_copies_begin(const struct tn_program *program, bool values_changed,
                                              struct error *error);
/* Queue the copies of variables that the instruction reads, before it is started. It is started
 * apart from the kernels before it if it is the first to read a part, whether that is copied or
 * not. */
MUST_CHECK enum tn_status device_copies_use_values(const struct tn_program *program,
                                                   const struct instruction *instruction,
                                                   struct error *error);
/* Queue the copy of what became final by the instruction that was started. */
MUST_CHECK enum tn_status device_copies_fetch_final(const struct tn_program *program,
                                                    const struct instruction *instruction,
                                                    struct error *error);
/* Queue the copies of other results; all instructions are started. */
MUST_CHECK enum tn_status device_copies_fetch_rest(const struct tn_program *program,
                                                   struct error *error);
/* Let the caller fill the fields for the next run while this one computes, and queue their copy.
 * `fill` returns whether it has filled them. The mode is TN_TRAIN. */
MUST_CHECK enum tn_status device_copies_send_next(const struct tn_program *program,
                                                  bool (*fill)(void *user), void *user,
                                                  struct error *error);
/* The gradient on the host while it stays on the device: for operations on the CPU. */
void *device_copies_gradient(const struct tn_program *program);
/* The parts of the gradient. Wait for one, in their order: then the elements from `*first` on, and
 * the losses, are complete on the host. */
uint32_t device_copies_parts(const struct tn_program *program);
MUST_CHECK enum tn_status device_copies_await_part(const struct tn_program *program,
                                                   uint32_t number, uint64_t *first,
                                                   struct error *error);
/* All results are complete on the host, and all kernels are done. */
MUST_CHECK enum tn_status device_copies_await_rest(const struct tn_program *program,
                                                   struct error *error);
/* After an error, wait for all that is queued. */
void device_copies_abandon(const struct tn_program *program);

/* ------------------------------------------------------ kernels */

/* Start the kernels of the instructions in between together, as far as copies allow it. The second
 * is called also after an error. */
void device_memory_begin_kernels(const struct tn_program *program);
MUST_CHECK enum tn_status device_memory_end_kernels(const struct tn_program *program,
                                                    struct error *error);

/* ------------------------------------------------------ instructions */

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

#endif

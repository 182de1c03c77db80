/* kernels/cuda/emulation_private.h: what the files of the emulation share. */
#ifndef KERNELS_CUDA_EMULATION_PRIVATE_H
#define KERNELS_CUDA_EMULATION_PRIVATE_H

#include "kernels/cuda/emulation.h"

/* A fault of the running thread, which does not go on. */
__attribute__((noreturn, format(printf, 3, 4))) void emulation_fault(enum emulation_fault_kind kind,
                                                                     int line, const char *format,
                                                                     ...);

/* A new block has no shared memory. */
void emulation_clear_shared(void);
/* All threads have passed a barrier. */
void emulation_next_phase(void);

#endif

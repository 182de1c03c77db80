/*
 * kernels/gpu/graphs.h: kernels of a GPU that are started together, as CUDA graphs.
 *
 * A program starts the same kernels in each run, with other arguments in some of them. Between
 * begin() and end(), the kernels that the thread starts are held back. They are started, in their
 * order, when something else must be behind them: by cut(), by end(), and by all functions of
 * struct cuda_library and struct gpu_queues of this GPU, before their own work. Those that are
 * started together are one graph. The first run makes it; later ones compare each kernel with that
 * of the run before, and change the arguments that differ, so no kernel has to announce what it
 * depends on. If other kernels come than in the run before, the graph is made again.
 *
 * A kernel alone is not made a graph. If the driver has no functions for graphs, or fails to make
 * one, which is logged once, kernels are started one by one from then on, with the same bits.
 * TANIST_GPU_GRAPHS=0 in the environment of create() has the same effect.
 *
 * Functions with a status fail with TN_EDEVICE and the reason: then, or earlier, the device has
 * failed.
 *
 * Threads: begin() to end() are of one thread, which selects no other GPU in between. A GPU may
 * have graphs of several threads.
 */
#ifndef KERNELS_GPU_GRAPHS_H
#define KERNELS_GPU_GRAPHS_H

#include "common/base/error.h"

struct gpu_graphs; /* The graphs of one sequence of kernels. */

struct gpu_graph_functions {
    /* For the GPU that the thread has selected; the owner destroys it. TN_ENOMEM. */
    enum tn_status (*create)(struct gpu_graphs **graphs, struct error *error);
    /* All kernels are done. NULL is allowed. */
    void (*destroy)(struct gpu_graphs *graphs);
    void (*begin)(struct gpu_graphs *graphs);
    /* Start the kernels that are held back. Where it is called, and where other functions are, must
     * be equal in all runs: otherwise, graphs are made again. */
    enum tn_status (*cut)(struct error *error);
    /* As cut(), and hold back no more kernels, even if it fails. */
    enum tn_status (*end)(struct error *error);
};

#endif

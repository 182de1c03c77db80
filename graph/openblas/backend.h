/*
 * graph/openblas/backend.h: the backends over the tables of kernels/kernels.h: "openblas" (matrices
 * by OpenBLAS on one thread, vectorised loops) and "kernels-reference" (its plain C, for tests).
 * Operations that the tables lack run on the kernels of graph/reference/.
 *
 * The bits are those of worker/models/: the same kernels are called with the same sizes.
 */
#ifndef GRAPH_OPENBLAS_BACKEND_H
#define GRAPH_OPENBLAS_BACKEND_H

#include "graph/core/backend.h"

/* TN_ENOENT: OpenBLAS is not installed; the error names the package. Call it before the process
 * has threads. */
MUST_CHECK enum tn_status backend_openblas(const struct backend **out, struct error *error);

const struct backend *backend_kernels_reference(void);

#endif

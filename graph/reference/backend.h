/*
 * graph/reference/backend.h: the backend "reference": plain C, for tests and for checks of
 * gradients. The tests compare every other backend with it.
 */
#ifndef GRAPH_REFERENCE_BACKEND_H
#define GRAPH_REFERENCE_BACKEND_H

#include "graph/core/backend.h"

const struct backend *backend_reference(void);
/* The reference kernels, compiled for double. */
const struct backend *backend_reference_wide(void);

#endif

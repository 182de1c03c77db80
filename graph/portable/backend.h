/*
 * graph/portable/backend.h: the backend "portable", over kernels/portable/: equal bits on every
 * processor. Operations that only move, compare or add elements run on the plain C of
 * graph/reference/, which has this property too.
 */
#ifndef GRAPH_PORTABLE_BACKEND_H
#define GRAPH_PORTABLE_BACKEND_H

#include "graph/core/backend.h"

/* The backend for a class of processors, with the names and errors of portable_open(). */
MUST_CHECK enum tn_status backend_portable(const char *class_name, const struct backend **out,
                                           struct error *error);

#endif

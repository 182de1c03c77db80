/* graph/openblas/table.h: operations on a table of kernels. Private to graph/openblas/. */
#ifndef GRAPH_OPENBLAS_TABLE_H
#define GRAPH_OPENBLAS_TABLE_H

#include "graph/core/backend.h"
#include "kernels/kernels.h"

/* Each runs one operation, or leaves it to `other` where the table has no kernel for these
 * shapes. */
void table_matmul(const struct kernels *kernels, const struct kernel_call *call,
                  kernel_function other);
void table_matmul_add(const struct kernels *kernels, const struct kernel_call *call,
                      kernel_function other);
void table_matmul_add_relu(const struct kernels *kernels, const struct kernel_call *call,
                           kernel_function other);
void table_add(const struct kernels *kernels, const struct kernel_call *call,
               kernel_function other);
void table_sum(const struct kernels *kernels, const struct kernel_call *call,
               kernel_function other);
void table_relu(const struct kernels *kernels, const struct kernel_call *call,
                kernel_function other);
void table_relu_gradient(const struct kernels *kernels, const struct kernel_call *call,
                         kernel_function other);
void table_softmax_cross_entropy(const struct kernels *kernels, const struct kernel_call *call,
                                 kernel_function other);
void table_softmax_cross_entropy_gradient(const struct kernels *kernels,
                                          const struct kernel_call *call, kernel_function other);

#endif

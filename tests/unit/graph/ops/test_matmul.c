/* graph/ops/matmul.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_matmul.h"

FAMILY_MAIN(cases_matmul)

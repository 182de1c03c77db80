/* graph/numerics.c: TANIST_CHECK_NUMERICS: the first value that is not finite, by name. */
#include <inttypes.h>
#include <math.h>

#include "graph/ops/ops.h"
#include "graph/program.h"

/* The first element that is not finite; -1: all are, or the type is not float. */
static int64_t find_bad(const struct tn_program *program, const struct tn_view *view)
{
    if (view->type != TN_FLOAT32) { return -1; }
    for (int64_t i = 0; i < shape_elements(&view->shape); i++) {
        double element = program->backend->wide ? ((const double *)view->data)[i]
                                                : (double)((const float *)view->data)[i];
        if (!isfinite(element)) { return i; }
    }
    return -1;
}

static enum tn_status report(const struct node *node, const struct tn_view *view, int64_t element,
                             const struct tn_run *run, struct error *error)
{
    char shape[SHAPE_TEXT_MAX];
    const char *name = node->attributes.name;
    return error_set(error, TN_EINVAL,
                     "not finite: scope '%s', %s%s%s, element %" PRId64 " of %s, step %" PRIu64
                     ", slice from example %" PRIu64
                     ": look at the inputs of this operation, or lower the learning rate",
                     node->scope, node->op->name, name == NULL ? "" : " ", name == NULL ? "" : name,
                     element, shape_format(view->type, &view->shape, shape), run->step, run->first);
}

static enum tn_status check_leaves(const struct tn_program *program, const struct tn_run *run,
                                   struct error *error)
{
    for (uint32_t t = 0; t < program->order_count; t++) {
        const struct node *node = &program->graph->nodes[program->order[t]];
        if (node->op != &op_variable && node->op != &op_placeholder) { continue; }
        tn_tensor value = tensor_of(program->order[t], 0);
        struct tn_view view = {node->types[0], node->shapes[0],
                               program_memory(program, &program->plan.places[value.v - 1])};
        int64_t element = find_bad(program, &view);
        if (element >= 0) { return report(node, &view, element, run, error); }
    }
    return TN_OK;
}

enum tn_status program_check_numerics(const struct tn_program *program,
                                      const struct instruction *instruction,
                                      const struct tn_run *run, struct error *error)
{
    assert(run != NULL);
    if (instruction == NULL) { return check_leaves(program, run, error); }
    const struct node *node = instruction->call.node;
    for (uint32_t o = 0; o < node->op->outputs; o++) {
        int64_t element = find_bad(program, &instruction->call.out[o]);
        if (element >= 0) { return report(node, &instruction->call.out[o], element, run, error); }
    }
    return TN_OK;
}

"""Planted errors of graphs, for planted.py: in the planner of memory, in the passes, and in gradients. The test of each is
the unit test that must find it.
"""


def planner(name, old, new, path="graph/plan.c", test="graph_plan"):
    return f"planner: {name}", path, old, new, [f"test_{test}"], f"unit.{test}"


def gradient(name, path, old, new, test):
    return f"gradient: {name}", path, old, new, [f"test_{test}"], f"unit.{test}"


def reference(name, family, old, new):
    """An error of a kernel in graph/reference/."""
    return gradient(name, f"graph/reference/{family}.c", old, new, f"graph_ops_{family}")


def rule(name, family, old, new):
    """An error of the nodes that a gradient appends."""
    return gradient(name, f"graph/ops/{family}.c", old, new, f"graph_ops_{family}")


# (name, file, text, replacement, targets to build, test that must fail)
PLANTED = [
    planner("a value is free after its first reader", "            *last = u32_max(*last, t);\n",
            "            if (*last == 0) { *last = t; }\n"),
    planner("a result is overwritten", "planner->request->kept[i] ? planner->request->count : 0;", "0;"),
    planner("an input is overwritten before its last reader",
            "planner->is_fixed[root] || planner->last[root] != time)", "planner->is_fixed[root])"),
    planner("an input is overwritten that is read twice",
            "        if (k != input && planner->root[node->inputs[k].v - 1] == root) { return false; }\n",
            "        if (k == OP_INPUTS_MAX) { return false; }\n"),
    planner("every operation may overwrite its input",
            "    if ((node->op->traits.inplace >> input & 1) == 0) { return false; }\n", ""),
    planner("a value ends before the instruction that reads it", "if (other->last < lifetime->first ||",
            "if (other->last <= lifetime->first ||"),
    planner("a value begins too late", "lifetime->last < other->first) { continue; }",
            "lifetime->last <= other->first) { continue; }"),
    planner("values are placed a line too low", "u64_max(lifetime->offset, other->offset + other->bytes);",
            "u64_max(lifetime->offset, other->offset + other->bytes - PLAN_LINE);"),
    planner("a workspace has no memory", "            .bytes = request->workspace[t],\n", "            .bytes = PLAN_LINE,\n"),
    planner("the checker accepts any owner of a line", "if (checker->owner[i] != checker->content[value] + 1) {",
            "if (checker->owner[i] == 0) {", "graph/plan_check.c"),
    planner("the checker accepts results over inputs", "            if (!allowed && overlap(checker, in, out)) {",
            "            if (!allowed && overlap(checker, in, out) && o > 0) {", "graph/plan_check.c"),
    gradient("gradients that meet are not added", "graph/differentiate.c",
             "    *dy = dy->v == 0 ? gradient : tn_add(tape->graph, *dy, gradient);\n", "    *dy = gradient;\n",
             "graph_check"),
    gradient("the weight of a loss is forgotten", "graph/differentiate.c", "{(double)mark->weight}", "{1.0}",
             "graph_ops_elementwise"),
    rule("the sign of a difference", "elementwise", "tn_scale(graph, dy[0], -1));", "tn_scale(graph, dy[0], 1));"),
    rule("a product's other factor", "elementwise", "tn_multiply(graph, dy[0], b));", "tn_multiply(graph, b, b));"),
    rule("a quotient's divisor", "elementwise", "tn_multiply(graph, quotient, self), -1);",
         "tn_multiply(graph, dy[0], self), -1);"),
    rule("the exponent of a power", "unary", "exponent - 1);", "exponent);"),
    rule("a root's factor", "unary", "tn_divide(graph, dy[0], self), 0.5F);", "tn_divide(graph, dy[0], self), 1);"),
    rule("the density of erf", "unary", "tn_multiply(graph, x, x), -1));", "tn_multiply(graph, x, x), -0.5F));"),
    rule("a dropout draws other numbers", "dropout", "    dx[0] = graph_add(",
         "    attributes.integers[0]++;\n    dx[0] = graph_add("),
    reference("gelu's slope", "activation", "(1 + 3 * GELU_CUBE * x * x);", "(1 + GELU_CUBE * x * x);"),
    reference("silu's slope", "activation", "return s * (1 + x * (1 - s));", "return s * (1 + x * s);"),
    reference("the row's mean in softmax", "softmax", "((double)dy[i] - dot));", "((double)dy[i] - 0 * dot));"),
    reference("rows that are read twice", "gather", "out[id * width + c] += dy[c];", "out[id * width + c] = dy[c];"),
    reference("the smoothing of labels", "classify", "wanted(row, c, smoothing) : (double)NAN;",
              "wanted(row, c, 0 * smoothing) : (double)NAN;"),
    reference("the width of a Huber error", "regress", "difference : width * sign(difference);",
              "difference : sign(difference);"),
    reference("the scale of attention", "attention", "double ds = heads->scale * p *", "double ds = p *"),
    reference("the mean of the rows of attention", "attention", "heads->value_width) - outer);", "heads->value_width) - 0 * outer);"),
    reference("the mean in a norm", "normalize", "inverse * (g - sum - unit * product)", "inverse * (g - 0 * sum - unit * product)"),
    reference("the deviation in a norm", "normalize", "inverse * (g - sum - unit * product)", "inverse * (g - sum - 0 * unit * product)"),
    reference("windows of a maximum that overlap", "pool", "column, channel)] += real_input(call, 1)[result];",
              "column, channel)] = real_input(call, 1)[result];"),
    reference("the size of a mean's window", "pool", "real share = real_input(call, 0)[result] / size_of(part);",
              "real share = real_input(call, 0)[result] / 4;"),
    gradient("sums begin again with each image", "graph/portable/conv.c", "conv.filters, n > 0,", "conv.filters, false,",
             "graph_ops_fused"),
    gradient("places of maxima before pooling", "graph/reference/conv.c",
             "r % slopes->side * slopes->side + c % slopes->side;", "c % slopes->side;", "graph_ops_fused"),
    gradient("final elements come before the losses", "graph/program.c", "        if (until < least) { until = least; }\n", "        (void)least;\n",
             "worker_compute"),
    planner("a gradient with another reader disappears", "counts[readers->pool] == found;", "found > 0;",
            "graph/passes/fuse_gradients.c", "graph_passes_fuse_gradients"),
    reference("the groups of a convolution", "conv", "    int64_t first = filter / g->group_filters * g->group_channels;\n    double sum = 0;\n    for (int64_t image",
              "    int64_t first = filter / g->filters * g->group_channels;\n    double sum = 0;\n    for (int64_t image"),
    reference("windows of a convolution that overlap", "conv", "out[pixel + channel] += (real)sum;",
              "out[pixel + channel] = (real)sum;"),
]

/* graph/core/mark.h: the kinds of values that a graph names. */
#ifndef GRAPH_CORE_MARK_H
#define GRAPH_CORE_MARK_H

enum mark_kind { MARK_LOSS, MARK_METRIC, MARK_OUTPUT, MARK_KINDS };

#endif

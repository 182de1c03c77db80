/*
 * cli/curves/text_chart.h: a chart of one metric for a terminal: dots of Braille, or letters where
 * there is no UTF-8 or no colour to tell runs apart. Pure but for memory.
 */
#ifndef CLI_CURVES_TEXT_CHART_H
#define CLI_CURVES_TEXT_CHART_H

#include "cli/curves/chart.h"
#include "cli/inspect/canvas.h"

enum { TEXT_CHART_ROWS = 16, TEXT_CHART_LABELS = 10 };

/* Append the chart of metric `metric` to `canvas`, `columns` wide. False: out of memory. */
bool text_chart_draw(const struct chart_config *config, size_t metric, uint32_t columns, bool utf8,
                     struct canvas *canvas);

#endif

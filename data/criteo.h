/*
 * data/criteo.h: data like those of Criteo's contest of 2014, computed from the seed: a source of
 * any number of rows, for models with large tables.
 *
 * A row has `click` (0 or 1), the 13 numbers I1, I2, ... (nearly normal, mean 0 and deviation 1)
 * and the 26 categories C1, C2, ... (texts of 10 hexadecimal digits). A category has as many values
 * as in the contest's data, at most `values` of data.options; if that exceeds the largest of them,
 * all grow by the same factor. The value of rank r has the probability log(1 + 1 / (r + 1)) / log(n
 * + 1) of n values: Zipf's law with exponent 1, nearly.
 *
 * Clicks are drawn from a hidden model: the logit is the sum of a constant, a weight of each value
 * of a category, a weight times each number, and a product of two factors for each of four pairs
 * of categories (C1 and C2, ..., C7 and C8). So the best possible area under the ROC curve is
 * known: that of the hidden logits.
 *
 * All arithmetic is exact or in a fixed order, so that every machine computes the same rows.
 */
#ifndef DATA_CRITEO_H
#define DATA_CRITEO_H

#include <stdbool.h>

#include "data/source/source.h"

enum { CRITEO_NUMBERS = 13, CRITEO_CATEGORIES = 26 };

struct criteo_config {
    uint64_t seed;
    uint64_t rows;
    bool test;           /* Rows of the same hidden model that training does not see. */
    const char *options; /* The job's `data.options`; "": none. */
};

/* TN_EINVAL: the options are not valid; TN_ENOMEM. */
MUST_CHECK enum tn_status criteo_open(const struct criteo_config *config, struct source *out,
                                      struct error *error);

bool criteo_is_source(const struct source *source);
/* The number of values of each category. */
void criteo_values(const struct source *source, uint64_t out[static CRITEO_CATEGORIES]);
/* The best possible area under the ROC curve of the rows; NAN: all or none are clicks, or there is
 * no memory. 1 us for each row. */
double criteo_best_area(const struct source *source);

#endif

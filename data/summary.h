/*
 * data/summary.h: what the columns of files hold, for `tanist data show`: missing values, ranges.
 *
 * Threads: any. Blocking: on the disk; every row is read.
 */
#ifndef DATA_SUMMARY_H
#define DATA_SUMMARY_H

#include "data/column_table.h"

struct column_summary {
    uint64_t values, missing; /* `values` are not missing. */
    uint64_t numbers;         /* Values that are numbers; in a column with a shape, all numbers. */
    double least, most, mean; /* NAN without numbers. */
};

/* One for each column of the table's source, of the rows of its split; malloc'ed. Errors as
 * source_read(). */
MUST_CHECK enum tn_status summary_of(const struct column_table *table, struct column_summary **out,
                                     struct error *error);

/* The text of a value for people, cut short. */
enum { SUMMARY_TEXT_MAX = 64 };
void summary_show(const struct source *source, uint32_t column, const struct source_cell *cell,
                  char out[static SUMMARY_TEXT_MAX]);

#endif

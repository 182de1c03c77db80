/*
 * common/job/job_column_ranges.h: one key of `data.columns` for many columns: "x1..x26" stands for
 * the 26 keys x1, x2 to x26, in this order, all with the same value. A range of as many names in
 * "from" or "of" assigns one name to each key.
 */
#ifndef COMMON_JOB_JOB_COLUMN_RANGES_H
#define COMMON_JOB_JOB_COLUMN_RANGES_H

#include <jansson.h>

/* Other keys are not changed: "a..b" is a name. A range has at most 4096 numbers in ascending
 * order; if they have leading zeros, all have the same number of digits. Returns a new object;
 * NULL: two keys are equal, or out of memory. */
json_t *job_column_ranges_expand(const json_t *columns);

#endif

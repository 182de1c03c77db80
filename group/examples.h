/*
 * group/examples.h: the examples that a part of a model reads: each member of a group makes those
 * of the fields that it reads (rule A3).
 *
 * Threads: the owner's. Blocking: on the disk, if the data are in files.
 */
#ifndef GROUP_EXAMPLES_H
#define GROUP_EXAMPLES_H

#include "common/base/error.h"
#include "common/job/job.h"
#include "data/dataset.h"
#include "group/schedule.h"

struct group_examples {
    const struct job *job; /* All outlive it. */
    const struct dataset *train, *test;
    uint64_t *indices; /* Numbers of the examples of a slice. */
};

MUST_CHECK enum tn_status group_examples_open(struct group_examples *examples,
                                              const struct job *job, const struct dataset *train,
                                              const struct dataset *test, struct error *error);
void group_examples_close(struct group_examples *examples); /* A zeroed one is allowed. */

/* `field` of the examples of a slice. TN_EINVAL: the data do not have it; errors of the data. */
MUST_CHECK enum tn_status group_examples_slice(const struct group_examples *examples,
                                               const struct schedule_label *label,
                                               const char *field, struct tn_view view,
                                               struct error *error);
/* `field` of `count` examples of the test set from `first` on. */
MUST_CHECK enum tn_status group_examples_test(const struct group_examples *examples, uint64_t first,
                                              uint32_t count, const char *field,
                                              struct tn_view view, struct error *error);

/* A view of a field as fields of which only this one exists. TN_EINVAL: it has another name or
 * type than the data can have. */
MUST_CHECK enum tn_status group_examples_fields(const char *field, struct tn_view view,
                                                uint32_t count, struct fields *out,
                                                struct error *error);

#endif

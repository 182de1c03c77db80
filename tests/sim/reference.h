/*
 * tests/sim/reference.h: the expected parameters after each step: those of a local run
 * (local/trainer.h), which computes the whole batch in one place and does not use the code that
 * sums and updates on the ps (ps/shard.c).
 */
#ifndef SIM_REFERENCE_H
#define SIM_REFERENCE_H

#include "common/base/digest.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "data/dataset.h"
#include "kernels/kernels.h"
#include "model/training.h"

enum { REFERENCE_KEYS = 256 }; /* As many as the columns of sim_rows_job() hash into at most. */

struct reference;

struct reference *reference_create(const struct job *job, const struct model *model,
                                   const struct kernels *kernels, const struct dataset *train,
                                   const struct dataset *test);
void reference_free(struct reference *reference);

/* All parameters after `step` steps (0: initial ones), and their moving averages. Valid as long as
 * the reference. */
const float *reference_values(struct reference *reference, uint64_t step);
const float *reference_averages(struct reference *reference, uint64_t step);
/* A row of table `table` after `step` steps. The keys of the job's tables are hashed: they are
 * below REFERENCE_KEYS. */
const float *reference_row(struct reference *reference, uint64_t step, uint32_t table,
                           uint64_t key);
size_t reference_parameters(const struct reference *reference);
struct digest reference_digest(struct reference *reference, uint64_t step);

/* The last step: the first evaluation behind which `train.stop.patience` is over, or that of the
 * job. Of a sync job. */
uint64_t reference_end(struct reference *reference);

/*
 * The ledger: a model whose parameters count how often each example was used: the gradient of an
 * example is -1 for its own parameter, and with rate = batch size each use adds exactly 1. A lost
 * or doubled contribution is a wrong count, in any mode and order. It is opened instead of the
 * job's model.
 */
struct model *ledger_open(uint32_t examples);
/* The same with tables, for the columns of sim_rows_job(): a row counts the examples that have its
 * key. The job's table optimizer is SGD with the same rate. */
struct model *ledger_rows_open(void);
/* The examples of the ledger: the inputs are the rows of the unit matrix. */
struct dataset *ledger_dataset(uint32_t examples);

#endif

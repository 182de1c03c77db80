/* cli/run/result.h: the result of a run: the object that `tanist run -o json` prints. Pure. */
#ifndef CLI_RUN_RESULT_H
#define CLI_RUN_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"

struct result {
    const struct job *job;
    json_t *recoveries;  /* Owned. */
    json_t *evaluations; /* Owned; in ascending order of step. */
    json_t *tables;      /* Owned; in the order of the model. */
    double seconds;
    bool has_test; /* Evaluations used the validation split; this is the test set, at the end: */
    double test_loss, test_accuracy;
    char checkpoint_digest[DIGEST_TEXT_BYTES]; /* From cli/run/stored_digest.h; "": unknown. */
    bool digest_unknown; /* The digest of the evaluation is not that of all parameters. */
    struct error damage; /* The last checkpoint is damaged. Empty text: no damage is known. */
};

/* Without enough memory the arrays are NULL and stay empty. */
void result_init(struct result *result, const struct job *job);
void result_free(struct result *result);

/* Call it with every history entry. */
void result_note(struct result *result, const struct history_entry *entry);

/* Call it for each table of the model, with the rows that were trained and their bytes in
 * memory. */
void result_note_table(struct result *result, const char *name, uint64_t rows, uint64_t bytes);

/* An operator ended the run before training began: its phase is RUN_FAILED, but it did not fail. */
bool result_run_was_stopped(const struct run *run);

/* The object for `run`, which has ended or which its agent has left. `status` is "done", "failed"
 * or "stopped". The caller frees the text; NULL: out of memory. */
char *result_json(const struct result *result, const struct run *run, const char *status);

/* The result in a few lines of text. */
char *result_text(const struct result *result, const struct run *run, const char *status);

#endif

/*
 * evaluator/evaluator.h: the evaluator as a node: it registers, follows /run, and evaluates the
 * committed checkpoint that the chief orders there (C18, V1), as a worker evaluates
 * (worker/compute.h). Its report has the result until the next one. No other node waits for it, and
 * it keeps nothing: one that starts again follows the order of that time. A reactor, see
 * common/node/node.h; arithmetic and reading run inline.
 *
 * It exits with 0 when the run is done or it is asked to leave, with 1 when the run failed or
 * memory ran out, with 3 when the run uses other data or another arithmetic, else with membership's
 * code.
 */
#ifndef EVALUATOR_EVALUATOR_H
#define EVALUATOR_EVALUATOR_H

#include "common/base/error.h"
#include "common/node/node.h"
#include "worker/worker.h"

enum {
    EVALUATOR_RETRY_MS = 50, /* Between two attempts to read a checkpoint. */
    /* After this time it gives up: the manifest would have been copied by then. */
    EVALUATOR_WAIT_MS = 5000,
};

/* The values of a checkpoint. */
struct evaluator_values {
    uint64_t step;
    struct buffer *parameters;
    struct buffer *averages; /* Those that are evaluated; may be the parameters. */
};

/* Where checkpoints are read. */
struct evaluator_source {
    void *ctx;
    /* The values stay valid until the next call. TN_ENOENT: the checkpoint, or a part of it, does
     * not exist yet, or was deleted. Other errors do not pass. Blocking: on the disk. */
    enum tn_status (*read)(void *ctx, uint64_t checkpoint, struct evaluator_values *out,
                           struct error *error);
};

struct evaluator_config {
    struct worker_config worker; /* All pointers outlive the evaluator. `member` is not used. */
    struct evaluator_source source;
};

struct evaluator;

/* Errors as compute_open(). On failure `*out` is NULL. */
MUST_CHECK enum tn_status evaluator_create(const struct evaluator_config *config,
                                           struct evaluator **out, struct error *error);
void evaluator_destroy(struct evaluator *evaluator); /* NULL is allowed. */

/* Valid until evaluator_destroy(). */
struct node evaluator_node(struct evaluator *evaluator);

#endif

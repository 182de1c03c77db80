#include "worker/failure.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"

int failure_exit_code(enum tn_status status)
{
    assert(status != TN_OK);
    return status == TN_EDEVICE || status == TN_EINVAL ? (int)tanist_exit_code(status)
                                                       : TN_EXIT_ERROR;
}

void failure_log_divergence(uint64_t step, struct slice_node slices)
{
    assert(slices.count > 0);
    log_error("gradient is not finite: step=%" PRIu64 " slices=%" PRIu32 "..%" PRIu32
              ": training diverged or an example is not a number; lower train.learning_rate or "
              "check the data",
              step, slices.first, slices.first + slices.count - 1);
}

#include "ps/push_place.h"

#include <assert.h>

#include "common/job/strategy.h"
#include "kernels/optimizer.h"

bool push_place_exists(const struct job *job, const struct variable_table *variables,
                       uint64_t count, uint32_t chunks, uint32_t chunk_bytes)
{
    assert(chunk_bytes > 0);
    const struct optimizer optimizer = optimizer_of_job(job, variables);
    /* In async mode a push is an update of its own. With an average, the previous answer is not the
     * memory of values, and with tables, its rows are still looked up. A member of a group pushes
     * without the values of all ps. */
    return !strategy_of_job(job)->slice_updates && !optimizer_has_average(&optimizer) &&
           variables->row_table_count == 0 && strategy_members(job) == 1 &&
           count * sizeof(float) > (uint64_t)chunks * chunk_bytes;
}

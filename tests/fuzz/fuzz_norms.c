/*
 * Fuzz target: parts of norms from other ps. The first bytes of the input choose the number of
 * parameters, of ps, the receiver and the sender; the rest is the body of the frame. A part is
 * refused, or kept bit for bit.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/cluster/placement.h"
#include "ps/norms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buffer_pool *pool;
    static struct norms norms;
    static struct variable_table table;
    static struct optimizer optimizer;
    struct job job;
    uint32_t parameters;
    if (pool == NULL) { pool = buffer_pool_create(1 << 20); }
    if (pool == NULL || size < HEAD_BYTES) { return 0; }
    memcpy(&parameters, data, sizeof parameters);
    parameters = parameters % (1 << 24) + 1;
    memset(&table, 0, sizeof table);
    enum tn_status status = variable_table_add(&table, "a", 2, (const uint32_t[]){parameters, 1},
                                               VARIABLE_ZEROS, 0, NULL);
    assert(status == TN_OK);
    job_init(&job);
    job.train.optimizer = OPTIMIZER_LARS;
    optimizer = optimizer_of_job(&job, &table);
    const uint32_t ps_max = (uint32_t)u64_min(placement_ps_max(parameters), PS_MAX);
    const uint32_t ps = data[4] % ps_max + 1, sender = data[6];
    norms_init(&norms, pool, &optimizer, ps, data[5] % ps);
    /* Half of the inputs have the right size. */
    size_t bytes = size - HEAD_BYTES;
    if (data[7] % 2 == 0 && sender < ps) {
        bytes = size_min(bytes, norms_part_bytes(&norms, sender));
    }
    if (norms_fault(&norms, sender, bytes) == NULL) {
        const struct norm_part *part = &norms.parts[sender].whole;
        norms_hold(&norms, sender, data + HEAD_BYTES);
        for (uint32_t i = 0; i < part->count; i++) {
            assert(memcmp(&part->nodes[i].sum, data + HEAD_BYTES + 8 * i, 8) == 0);
        }
    }
    norms_close(&norms);
    return 0;
}

/*
 * Fuzz target: the plan of a server, as a client sends it. One that is accepted can be
 * compiled within a limit of memory.
 */
#include <stddef.h>
#include <stdint.h>

#include "session/compiled_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_MAX = 1 << 20, FLOATS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct server_plan plan;
    struct compiled_plan *compiled = NULL;
    if (server_plan_decode(data, size, 1, 2, MEMORY_MAX, &plan, NULL) != TN_OK) {
        server_plan_free(&plan);
        return 0;
    }
    if (compiled_plan_create(&plan, 1, FLOATS, MEMORY_MAX, &compiled, NULL) == TN_OK) {
        compiled_plan_destroy(compiled);
    }
    return 0;
}

#include "tests/sim/coverage.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const char *const names[MOMENTS] = {
    [MOMENT_BEFORE] = "before",   [MOMENT_NO_CHIEF] = "no-chief",   [MOMENT_FORMING] = "forming",
    [MOMENT_LOADING] = "loading", [MOMENT_RESTORING] = "restoring", [MOMENT_RUNNING] = "running",
    [MOMENT_SAVING] = "saving",   [MOMENT_PAUSED] = "paused",       [MOMENT_STOPPING] = "stopping",
};

void coverage_add(struct coverage *into, const struct coverage *from)
{
    assert(into != from);
    for (int k = 0; k < FAULT_KINDS; k++) {
        for (int m = 0; m < MOMENTS; m++) { into->cells[k][m] += from->cells[k][m]; }
    }
    into->seeds += from->seeds;
    into->virtual_ms += from->virtual_ms;
    into->handled += from->handled;
    into->steps += from->steps;
    into->values_checked += from->values_checked;
    into->lent += from->lent;
    into->grown += from->grown;
    into->rows_checked += from->rows_checked;
    into->elections += from->elections;
    into->loads += from->loads;
    into->restores += from->restores;
    into->commits += from->commits;
    into->kills += from->kills;
}

uint32_t coverage_print(const struct coverage *coverage)
{
    uint32_t empty = 0;
    printf("%-14s", "fault");
    for (int m = 0; m < MOMENTS; m++) { printf(" %9s", names[m]); }
    printf("\n");
    for (int k = 0; k < FAULT_KINDS; k++) {
        printf("%-14s", fault_name((enum fault_kind)k));
        for (int m = 0; m < MOMENTS; m++) {
            printf(" %9" PRIu64, coverage->cells[k][m]);
            empty += coverage->cells[k][m] == 0;
        }
        printf("\n");
    }
    return empty;
}

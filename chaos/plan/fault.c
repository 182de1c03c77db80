#include "chaos/plan/fault.h"

#include <stdlib.h>
#include <string.h>

static const struct fault_info faults[FAULT_COUNT] = {
#define FAULT_ROW(constant, name, needs, whom, about) {name, needs, whom, about},
    FAULT_LIST(FAULT_ROW)
#undef FAULT_ROW
};

const struct fault_info *fault_info(enum fault fault)
{
    return &faults[fault];
}

bool fault_parse(const char *name, enum fault *out)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (strcmp(faults[i].name, name) != 0) { continue; }
        *out = (enum fault)i;
        return true;
    }
    return false;
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->list);
    *schedule = (struct schedule){0};
}

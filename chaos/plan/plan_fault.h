/* chaos/plan/plan_fault.h: reads and checks one line of a plan's "faults". Private to chaos/plan/.
 * Pure. */
#ifndef CHAOS_PLAN_PLAN_FAULT_H
#define CHAOS_PLAN_PLAN_FAULT_H

#include "chaos/plan/plan.h"

/* `drawn`: the plan has "draw". TN_EINVAL: the error has the field, its value and a remedy. */
MUST_CHECK enum tn_status plan_fault_read(json_t *object, const char *where, bool drawn,
                                          struct plan_fault *out, struct error *error);

#endif

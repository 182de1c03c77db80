/* chaos/plan/plan_fault.h: one line of a plan's "faults" is read and checked. Private to
 * chaos/plan*.c. Pure. */
#ifndef CHAOS_PLAN_PLAN_FAULT_H
#define CHAOS_PLAN_PLAN_FAULT_H

#include "chaos/plan/plan.h"

/* `drawn`: the plan has "draw". TN_EINVAL: the field, its value and what is wanted. */
MUST_CHECK enum tn_status plan_fault_read(json_t *object, const char *where, bool drawn,
                                          struct plan_fault *out, struct error *error);

#endif

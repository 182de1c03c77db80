/* chaos/plan/plan_builtin.h: the plans of chaos/plan/builtin/, which the build puts into the
 * program. Private to chaos/plan/plan.c. */
#ifndef CHAOS_PLAN_PLAN_BUILTIN_H
#define CHAOS_PLAN_PLAN_BUILTIN_H

#include "common/base/embedded.h"

/* By name. */
extern const struct embedded_file plans_builtin[];

#endif

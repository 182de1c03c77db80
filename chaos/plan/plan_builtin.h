/* chaos/plan/plan_builtin.h: the plans of chaos/plan/builtin/, as the build put them into the
 * program (cmake/EmbedPlans.cmake). Private to chaos/plan/plan.c. */
#ifndef CHAOS_PLAN_PLAN_BUILTIN_H
#define CHAOS_PLAN_PLAN_BUILTIN_H

struct plan_builtin {
    const char *name;
    const unsigned char *text; /* Terminated. */
};

/* By name; the last has no name. */
extern const struct plan_builtin plans_builtin[];

#endif

/*
 * agent/limits.h: whether the limits of this process, which its children inherit, leave them enough
 * open files and threads, and files and stacks that are large enough.
 *
 * Threads: any. Blocking: no.
 */
#ifndef AGENT_LIMITS_H
#define AGENT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

/* For an agent with `children` processes; `has_servers`: of ZooKeeper, too. The limit of open files
 * is raised as far as it may be if it is too low. TN_EINVAL: a limit is too low; the error names it
 * and the remedy. */
MUST_CHECK enum tn_status limits_check(uint32_t children, bool has_servers, struct error *error);

/* For every process of the program: without it, a thread whose stack is full ends the process by
 * SIGSEGV. TN_EINVAL: the limit of the stack is too low; the error names it and the remedy. */
MUST_CHECK enum tn_status limits_check_stack(struct error *error);

#endif

/*
 * common/failpoint.h: named moments in the code, at which the chaos harness can kill, freeze, delay
 * or fail the process exactly there (`struct fault_slot`). Compiled in with -DTANIST_FAILPOINTS=ON
 * only; without it they are nothing at all.
 *
 *     FAILPOINT("ckpt.before_sync");                  kill, freeze, stall
 *     status = FAILPOINT_STATUS("ckpt.before_sync");  the same, or TN_EIO in place of the operation
 *
 * All names are in FAILPOINT_LIST; tests/tidy sees that each is in the code and in docs/chaos.md.
 * Never in a pure core: in its driver. Threads: any. Blocking: as ordered.
 */
#ifndef COMMON_FAILPOINT_H
#define COMMON_FAILPOINT_H

#include "common/error.h"

/* (name, who passes there, when) */
#define FAILPOINT_LIST(X) X("node.before_register", "any", "connected, and not yet registered")

#ifdef TANIST_FAILPOINTS
enum tn_status failpoint_pass(const char *name);
#define FAILPOINT(name)        ((void)failpoint_pass(name))
#define FAILPOINT_STATUS(name) failpoint_pass(name)
/* Who we are; before this, nothing is done. */
void failpoint_init(const char *task_name);
#else
#define FAILPOINT(name)           ((void)0)
#define FAILPOINT_STATUS(name)    TN_OK
#define failpoint_init(task_name) ((void)0)
#endif

struct failpoint_info {
    const char *name, *who, *when;
};
enum { FAILPOINTS_MAX = 64 };
/* All of them, also in a build without: `*count` rows, static. */
const struct failpoint_info *failpoint_list(unsigned *count);
/* Whether this program was built with them. */
_Bool failpoints_built(void);

#endif

/*
 * cli/wait_notice.h: when a wait is to be reported: no wait is silent for longer than 3 s. Pure.
 *
 *     struct wait_notice notice = wait_notice_start(now_ms);
 *     while (waiting) {
 *         if (wait_notice_due(&notice, now_ms)) { print the reason and the duration }
 *     }
 */
#ifndef CLI_WAIT_NOTICE_H
#define CLI_WAIT_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

enum { WAIT_NOTICE_MS = 3000 };

struct wait_notice {
    uint64_t start_ms, due_ms;
};

static inline struct wait_notice wait_notice_start(uint64_t now_ms)
{
    return (struct wait_notice){.start_ms = now_ms, .due_ms = now_ms + WAIT_NOTICE_MS};
}

/* A report is due; the next one is due WAIT_NOTICE_MS later. */
static inline bool wait_notice_due(struct wait_notice *notice, uint64_t now_ms)
{
    if (now_ms < notice->due_ms) { return false; }
    notice->due_ms = now_ms + WAIT_NOTICE_MS;
    return true;
}

/* Whole seconds since the wait began. */
static inline uint64_t wait_notice_seconds(const struct wait_notice *notice, uint64_t now_ms)
{
    return (now_ms - notice->start_ms) / 1000;
}

#endif

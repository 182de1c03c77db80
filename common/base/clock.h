/*
 * common/base/clock.h: the only module that reads clocks. Cores never include it: the time is in
 * their events. Threads: any. Blocking: never.
 */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC: since an unspecified start, the same for all processes of the machine; never
 * jumps. */
uint64_t clock_monotonic_ms(void);
uint64_t clock_monotonic_ns(void);

/* The processor time that the calling thread has used. */
uint64_t clock_thread_cpu_ns(void);

/* Since 1970 UTC; may jump. For people and records, never for decisions. */
uint64_t clock_wall_ms(void);

enum { TIME_TEXT_MAX = 32 };
/* "2026-11-20T21:36:49.123Z" */
void clock_format(uint64_t wall_ms, char text[static TIME_TEXT_MAX]);

/* A new incarnation or GUID: 63 random bits from the kernel, never 0. */
uint64_t clock_new_incarnation(void);

#endif

/* common/base/clock.h: the only place that reads clocks. Cores never include it: their time is in
 * the event. */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ms(void);
uint64_t clock_monotonic_ns(void);
uint64_t clock_wall_ms(
    void); /* Since 1970 UTC; may jump. For people and records, never for decisions. */

/* A new incarnation or GUID: 63 random bits from the kernel, never 0. */
uint64_t clock_new_incarnation(void);

#endif

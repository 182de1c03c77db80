/* chaos/outcome.h: the result of a round or of an attack. */
#ifndef CHAOS_OUTCOME_H
#define CHAOS_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

struct outcome {
    bool passed;                /* All checks of the verdict passed. */
    bool stopped;               /* The user ended it early. */
    uint32_t injected, skipped; /* Faults. */
    double seconds;
    char failed_checks[400]; /* "digest: ...; orders: ..."; "": none. */
};

#endif

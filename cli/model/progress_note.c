#include "cli/model/progress_note.h"

#include <inttypes.h>

#include "cli/output.h"
#include "common/base/clock.h"

enum { EVERY_MS = 3000 };

struct progress_note progress_note_begin(const char *command, uint64_t examples)
{
    return (struct progress_note){
        .command = command, .examples = examples, .next_ms = clock_monotonic_ms() + EVERY_MS};
}

void progress_note(struct progress_note *note, uint64_t done)
{
    const uint64_t now_ms = clock_monotonic_ms();
    if (now_ms < note->next_ms) { return; }
    note->next_ms = now_ms + EVERY_MS;
    if (note->examples > 0) {
        output_message(LOG_INFO, "%s: %" PRIu64 " of %" PRIu64 " examples", note->command, done,
                       note->examples);
    } else {
        output_message(LOG_INFO, "%s: %" PRIu64 " examples", note->command, done);
    }
}

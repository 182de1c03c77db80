/*
 * cli/model/progress_note.h: a line on stderr every 3 s of a long command: how many examples are
 * done.
 *
 * Threads: the owner's.
 */
#ifndef CLI_MODEL_PROGRESS_NOTE_H
#define CLI_MODEL_PROGRESS_NOTE_H

#include <stdint.h>

struct progress_note {
    const char *command;
    uint64_t examples; /* 0: unknown. */
    uint64_t next_ms;
};

struct progress_note progress_note_begin(const char *command, uint64_t examples);
void progress_note(struct progress_note *note, uint64_t done);

#endif

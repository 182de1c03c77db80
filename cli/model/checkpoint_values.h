/*
 * cli/model/checkpoint_values.h: `tanist checkpoints show` and `diff`: the parameters of a
 * checkpoint in a few figures for each variable, and those of two checkpoints compared.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef CLI_MODEL_CHECKPOINT_VALUES_H
#define CLI_MODEL_CHECKPOINT_VALUES_H

#include <stdbool.h>

/* The checkpoints of the run in `dir`, by their ids as the user typed them. Both print, errors as
 * well, and return the exit code. */
int checkpoint_show(const char *dir, const char *id, bool json);
int checkpoint_diff(const char *dir, const char *first, const char *second, bool json);

#endif

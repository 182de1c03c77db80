/*
 * ps/kept_file.h: the file in memory (memfd) that an agent keeps for a ps, which the ps inherits:
 * the pages outlive the process, and end with the agent. It is mapped at a multiple of 2 MiB, so
 * that its slots get huge pages as they are first used, where Linux has some to give (6.1 and
 * later; common/base/buffer.c): updates in small pages are slower.
 *
 * Threads: any. Nothing blocks.
 */
#ifndef PS_KEPT_FILE_H
#define PS_KEPT_FILE_H

#include <stddef.h>

#include "common/base/error.h"
#include "ps/table/cell_arena.h"

/* Map the file and close `fd`. A new file gets the size, which is then sealed; an old one must have
 * it. NULL: it cannot be used; the reason is in `error`. */
void *kept_file_map(int fd, size_t bytes, struct error *error);
void kept_file_unmap(void *memory, size_t bytes);

/* The size of an arena for as many rows as fit in the memory of this machine. */
struct cell_arena_size kept_file_rows(void);

#endif

/*
 * common/base/memory_file.h: anonymous memory that is passed to another process by its descriptor
 * (memfd). Its size is sealed, so that no process can shrink it under the feet of another, which
 * would be SIGBUS. Threads: any. Blocking: never.
 */
#ifndef COMMON_BASE_MEMORY_FILE_H
#define COMMON_BASE_MEMORY_FILE_H

#include <stddef.h>

/* A descriptor of `bytes` zero bytes, mapped at `*memory`; -1 and errno: not possible. */
int memory_file_create(const char *name, size_t bytes, void **memory);

/* Map a descriptor that another process sent. NULL and errno: it is not a memory file of exactly
 * `bytes` bytes whose size is sealed (EINVAL), or cannot be mapped. The descriptor stays open. */
void *memory_file_map(int fd, size_t bytes);

#endif

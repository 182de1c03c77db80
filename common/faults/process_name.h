/*
 * common/faults/process_name.h: the name of a process of a run, by its command line. The chaos
 * harness and the shim use it, so that both mean the same process by "ps:1".
 *
 * Pure. It needs nothing but string functions: the shim is loaded into programs it does not know.
 */
#ifndef COMMON_FAULTS_PROCESS_NAME_H
#define COMMON_FAULTS_PROCESS_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "common/faults/fault_control.h"

/*
 * `arguments` are those of /proc/PID/cmdline: `size` bytes, each argument zero-terminated, and one
 * more zero after them.
 *
 *   tanist ps ... --index 1 ...         "ps:1", the same of the other roles; also --index=1
 *   tanist run ..., tanist agent ...    "agent"
 *   java ... DIR/zookeeper/2/zoo.cfg    "zookeeper:2"
 *
 * False: it is another process, and `name` is empty.
 */
bool process_name(const char *arguments, size_t size, char name[static FAULT_CONTROL_NAME_MAX]);

#endif

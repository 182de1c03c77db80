/*
 * common/base/mapping_fault.h: a file that is mapped into memory, such as data or a shard, and that
 * becomes shorter or whose disk fails. The kernel reports that by SIGBUS, which would end the
 * process without a message.
 *
 * Threads: the main thread, before others exist.
 */
#ifndef COMMON_BASE_MAPPING_FAULT_H
#define COMMON_BASE_MAPPING_FAULT_H

/* From now on such a fault ends this process with TN_EXIT_IO, and a message on stderr names the
 * file. All other signals SIGBUS have the effect that they have now. */
void mapping_faults_handle(void);

#endif

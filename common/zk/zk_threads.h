/*
 * common/zk/zk_threads.h: whether the ZooKeeper library can start its threads. zookeeper_init()
 * asserts that pthread_create() succeeds, so a process at its limit of memory would be aborted.
 * Private to zk.c and its tests.
 */
#ifndef COMMON_ZK_ZK_THREADS_H
#define COMMON_ZK_ZK_THREADS_H

#include <stdbool.h>

/* Start as many threads as the library does, and end them. The C library keeps their stacks, which
 * the next threads use: after `true` they need no further address space. May be called from any
 * thread. */
bool zk_threads_fit(void);

#endif

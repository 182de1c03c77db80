#include "common/zk/zk_threads.h"

#include <pthread.h>

enum { LIBRARY_THREADS = 2 /* mt_adaptor.c: one for the socket, one for completions. */ };

static void *wait_for_end(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

bool zk_threads_fit(void)
{
    pthread_mutex_t all_started = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[LIBRARY_THREADS];
    int started = 0;
    pthread_mutex_lock(&all_started); /* All threads need a stack at the same time. */
    while (started < LIBRARY_THREADS &&
           pthread_create(&threads[started], NULL, wait_for_end, &all_started) == 0) {
        started++;
    }
    pthread_mutex_unlock(&all_started);
    for (int i = 0; i < started; i++) { pthread_join(threads[i], NULL); }
    pthread_mutex_destroy(&all_started);
    return started == LIBRARY_THREADS;
}

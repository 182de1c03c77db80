/*
 * common/base/library_function.h: functions of a library that was loaded with dlopen().
 *
 * Threads: any. Blocking: never.
 */
#ifndef COMMON_BASE_LIBRARY_FUNCTION_H
#define COMMON_BASE_LIBRARY_FUNCTION_H

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Set the function pointer at `function` to `symbol` of the library. False: the library has no such
 * symbol, and the pointer is NULL. */
static inline bool library_function(void *library, const char *symbol, void *function)
{
    assert(library != NULL);
    void *found = dlsym(library, symbol);
    /* C does not convert the data pointer of dlsym() to a function pointer. */
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

#endif

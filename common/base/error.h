/*
 * common/base/error.h: an operating error with the words a user needs: what, where, and the remedy.
 *
 * Context is added on the way up: "checkpoint 12: shard 1: no space left on the device". Threads:
 * an error belongs to its caller.
 */
#ifndef COMMON_BASE_ERROR_H
#define COMMON_BASE_ERROR_H

#include "tanist/status.h"

enum { ERROR_TEXT_MAX = 1024 };

struct error {
    enum tn_status status;
    char text[ERROR_TEXT_MAX];
};

/* Every function that can fail for more than one reason returns its status under this attribute. */
#define MUST_CHECK __attribute__((warn_unused_result))

/* Fill `error` (NULL is allowed and ignored) and return `status`, so that callers write
 * `return error_set(error, TN_EINVAL, "train.steps is %d: give a number from 1", n);`. Cuts too
 * long a text. */
enum tn_status error_set(struct error *error, enum tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* So that clang-tidy knows as well what error_set() returns. */
#define error_set(error, status, ...) ((void)(error_set)(error, status, __VA_ARGS__), (status))
#endif

/* Put "context: " before the text that is there. Returns the error's status. */
enum tn_status error_context(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

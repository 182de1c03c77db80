/*
 * common/base/error.h: an operating error and its message for the user: what failed, on what, why,
 * and the remedy.
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

/* Fill `error` (NULL: nothing) and return `status`, so that callers write
 * `return error_set(error, TN_EINVAL, "train.steps is %d: give a number from 1", n);`. A text that
 * does not fit is cut. */
enum tn_status error_set(struct error *error, enum tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* Shows clang-tidy the result of error_set(). */
#define error_set(error, status, ...) ((void)(error_set)(error, status, __VA_ARGS__), (status))
#endif

struct tn_error;

/* Copy `error` to a public error (tanist/base.h; NULL: nothing). Returns its status. */
enum tn_status error_export(const struct error *error, struct tn_error *out);

/* Put "context: " in front of the error's text. Returns the error's status. */
enum tn_status error_context(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

/*
 * tanist/base.h: the basis of every public header: visibility, checked results, and errors with
 * a message.
 *
 * Functions that can fail return enum tn_status and take a struct tn_error, which may be NULL; it
 * is written only on failure. No function keeps a pointer that it was given, unless its comment
 * has "kept".
 */
#ifndef TANIST_BASE_H
#define TANIST_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tanist/status.h"

#if defined(__GNUC__)
#define TN_API                   __attribute__((visibility("default")))
#define TN_CHECKED               __attribute__((warn_unused_result))
#define TN_FORMAT(string, first) __attribute__((format(printf, string, first)))
#else
#define TN_API
#define TN_CHECKED
#define TN_FORMAT(string, first)
#endif

enum { TN_ERROR_TEXT_MAX = 1024, TN_NAME_MAX = 128 };

/* `text` is one line that names the failed operation, the value and the remedy. */
struct tn_error {
    enum tn_status status;
    char text[TN_ERROR_TEXT_MAX];
};

#endif

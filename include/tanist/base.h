/*
 * tanist/base.h: the basis of every public header: statuses, and errors with a message.
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

#include "tanist/api.h"
#include "tanist/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface: a program works with a library of the same major number and at least the same
 * minor number. A new member or function raises the minor number. */
#define TN_API_MAJOR   1
#define TN_API_MINOR   0
#define TN_API_VERSION ((uint32_t)TN_API_MAJOR << 16 | TN_API_MINOR)

enum { TN_ERROR_TEXT_MAX = 1024, TN_NAME_MAX = 128 };

/* `text` is one line that names the failed operation, the value and the remedy. */
struct tn_error {
    enum tn_status status;
    char text[TN_ERROR_TEXT_MAX];
};

/* The version of the library: "0.1.0". Static storage. */
TN_API const char *tn_version(void);
/* The TN_API_VERSION of the library. */
TN_API uint32_t tn_api_version(void);

#ifdef __cplusplus
}
#endif
#endif

#include "common/base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tanist/base.h"

#undef error_set /* The function itself; see the header. */
enum tn_status error_set(struct error *error, enum tn_status status, const char *format, ...)
{
    assert(format != NULL);
    if (error == NULL) { return status; }
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    if (vsnprintf(error->text, sizeof error->text, format, arguments) < 0) {
        error->text[0] = '\0';
    }
    va_end(arguments);
    return status;
}

enum tn_status error_context(struct error *error, const char *format, ...)
{
    assert(format != NULL);
    if (error == NULL) { return TN_EINTERNAL; }
    char inner[ERROR_TEXT_MAX];
    memcpy(inner, error->text, sizeof inner);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (length < 0) { length = 0; }
    if ((size_t)length < sizeof error->text) {
        size_t space = sizeof error->text - (size_t)length;
        size_t keep = space > 3 ? space - 3 : 0;
        inner[keep < sizeof inner ? keep : sizeof inner - 1] = '\0';
        int more = snprintf(error->text + length, space, ": %s", inner);
        if (more < 0) { error->text[length] = '\0'; }
    }
    return error->status;
}

enum tn_status error_export(const struct error *error, struct tn_error *out)
{
    assert(error != NULL);
    _Static_assert((int)TN_ERROR_TEXT_MAX == (int)ERROR_TEXT_MAX, "a text fits");
    if (out != NULL) {
        out->status = error->status;
        memcpy(out->text, error->text, sizeof out->text);
    }
    return error->status;
}

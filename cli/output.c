#include "cli/output.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_reals.h"
#include "common/base/utf8.h"
#include "tanist/status.h"

enum { MESSAGE_MAX = 2048 };

void output_option_table(struct options *options, const char **format)
{
    static const char *const formats[] = {"table", "json", NULL};
    *format = formats[0];
    options_choice(options, 'o', "output", format, formats, "Output format; default table.");
}

void output_option_text(struct options *options, const char **format)
{
    static const char *const formats[] = {"text", "json", NULL};
    *format = formats[0];
    options_choice(options, 'o', "output", format, formats,
                   "Format of the result on stdout; default text.");
}

bool output_is_json(const char *format)
{
    assert(format != NULL);
    return strcmp(format, "json") == 0;
}

void output_message(enum log_level level, const char *format, ...)
{
    char text[MESSAGE_MAX];
    va_list arguments;
    assert(format != NULL);
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    utf8_plain(text);
    if (log_is_json()) {
        log_write(level, "%s", text);
    } else {
        fprintf(stderr, "%s%s\n", level == LOG_ERROR ? "tanist: " : "", text);
    }
}

int output_end(void)
{
    if (fflush(stdout) == 0) { return TN_EXIT_OK; }
    output_message(LOG_ERROR, "cannot write to stdout: %s", strerror(errno));
    return TN_EXIT_IO;
}

int output_json(json_t *object, size_t flags)
{
    char *text = object != NULL ? json_dumps(object, flags) : NULL;
    if (text != NULL) { json_reals_shorten(text); }
    const bool written = text != NULL && puts(text) != EOF;
    free(text);
    json_decref(object);
    return written ? output_end() : TN_EXIT_IO;
}

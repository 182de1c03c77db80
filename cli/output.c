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

static bool reported; /* An error was printed. */

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
    if (level == LOG_ERROR) { reported = true; }
    if (log_is_json()) {
        log_write(level, "%s", text);
    } else {
        fprintf(stderr, "%s%s\n", level == LOG_ERROR ? "tanist: " : "", text);
    }
}

int output_end(int exit_code)
{
    errno = 0;
    const bool written = fflush(stdout) == 0 && ferror(stdout) == 0;
    const bool is_only_problem = exit_code == TN_EXIT_OK || (exit_code == TN_EXIT_IO && !reported);
    if (written || !is_only_problem) { return exit_code; }
    output_message(LOG_ERROR, "cannot write to stdout%s%s", errno != 0 ? ": " : "",
                   errno != 0 ? strerror(errno) : "");
    return TN_EXIT_IO;
}

int output_json(json_t *object, size_t flags)
{
    char *text = object != NULL ? json_dumps(object, flags) : NULL;
    if (text != NULL) { json_reals_shorten(text); }
    const bool written = text != NULL && puts(text) != EOF;
    free(text);
    json_decref(object);
    return output_end(written ? TN_EXIT_OK : TN_EXIT_IO);
}

#include "cli/log_options.h"

#include <assert.h>
#include <string.h>

static const char *const formats[] = {"text", "json", NULL};
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

void log_options_add(struct options *options, struct log_options *given, const char *level_help)
{
    assert(given->format == NULL && given->level == NULL);
    options_choice(options, 0, "log-format", &given->format, formats,
                   "Format of the log on stderr; default text.");
    options_choice(options, 0, "log-level", &given->level, levels, level_help);
}

void log_options_start(const struct log_options *given, enum log_level level, const char *task)
{
    assert(task != NULL);
    const bool json = given->format != NULL && strcmp(given->format, "json") == 0;
    for (int i = 0; given->level != NULL && levels[i] != NULL; i++) {
        if (strcmp(levels[i], given->level) == 0) { level = (enum log_level)i; }
    }
    log_init(level, json ? LOG_JSON : LOG_TEXT, task);
}

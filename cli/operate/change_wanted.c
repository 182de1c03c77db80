#include "cli/operate/change_wanted.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/job/strategy.h"

/* The number behind "ps=" or "members=". */
static enum tn_status read_count(const char *word, uint32_t least, uint32_t most, uint32_t *out,
                                 struct error *error)
{
    char *end = NULL;
    const char *text = strchr(word, '=') + 1;
    errno = 0;
    const unsigned long value = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (end != NULL && *end == '\0' && errno == 0 && value >= least && value <= most) {
        *out = (uint32_t)value;
        return TN_OK;
    }
    const int name = (int)(text - 1 - word);
    return error_set(error, TN_EINVAL, "%.60s: give a number of %.*s from %" PRIu32 " to %" PRIu32,
                     word, name, word, least, most);
}

enum tn_status change_read_resize(const struct options *options, struct change_request *wanted,
                                  struct error *error)
{
    if (options->argument_count == 0) { return TN_OK; }
    const char *text = options->arguments[0];
    if (strncmp(text, "ps=", 3) == 0) { return read_count(text, 1, PS_MAX, &wanted->ps, error); }
    return error_set(error, TN_EINVAL, "\"%.60s\": give ps=N, the new number of ps", text);
}

static enum tn_status read_word(const char *word, struct change_request *wanted,
                                struct error *error)
{
    const bool in_group = wanted->strategy == CHANGE_TO_GROUP;
    if (wanted->strategy == CHANGE_TO_MIRROR) {
        return error_set(error, TN_EINVAL, "\"%.60s\": strategy mirror has no ps: leave it out",
                         word);
    }
    if (strncmp(word, "ps=", 3) == 0) { return read_count(word, 1, PS_MAX, &wanted->ps, error); }
    if (in_group && strncmp(word, "members=", 8) == 0) {
        return read_count(word, 2, GROUP_TASKS_MAX, &wanted->members, error);
    }
    return error_set(error, TN_EINVAL, "\"%.60s\": give ps=N, the number of ps%s", word,
                     in_group ? ", or members=N, that of the workers that act as one" : "");
}

static enum tn_status refuse_strategy(const char *name, struct error *error)
{
    static const char *const names[] = {"ps", "mirror", "group"};
    const char *near = nearest_word(name, names, sizeof names / sizeof *names);
    if (near != NULL) {
        return error_set(error, TN_EINVAL, "unknown strategy \"%.60s\": did you mean \"%s\"?", name,
                         near);
    }
    const bool is_local = strcmp(name, "local") == 0;
    return error_set(error, TN_EINVAL, "%s strategy \"%.60s\"%s: give ps, mirror or group",
                     is_local ? "a cluster cannot change to" : "unknown", name,
                     is_local ? ", a run in one process" : "");
}

enum tn_status change_read_strategy(const struct options *options, struct change_request *wanted,
                                    struct error *error)
{
    static const struct {
        const char *name;
        enum change_strategy strategy;
    } names[] = {
        {"ps", CHANGE_TO_PS},
        {"mirror", CHANGE_TO_MIRROR},
        {"group", CHANGE_TO_GROUP},
    };
    const char *name = options->arguments[0];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i].name) == 0) { wanted->strategy = names[i].strategy; }
    }
    if (wanted->strategy == CHANGE_BY_PS) { return refuse_strategy(name, error); }
    enum tn_status status = TN_OK;
    for (size_t i = 1; i < options->argument_count && status == TN_OK; i++) {
        status = read_word(options->arguments[i], wanted, error);
    }
    return status;
}

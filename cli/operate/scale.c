/* cli/operate/scale.c: `tanist scale`: change the number of workers of a running job (C22, S14). */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/operate/change.h"
#include "cli/operate/requests.h"
#include "cli/output.h"

static enum tn_status read_number(const char *text, uint64_t *workers, struct error *error)
{
    static const char key[] = "workers=";
    char *end = NULL;
    const char *digits = text + sizeof key - 1;
    assert(text != NULL);
    const bool named = strncmp(text, key, sizeof key - 1) == 0;
    if (named && *digits >= '0' && *digits <= '9' && strlen(digits) <= 4) {
        *workers = strtoull(digits, &end, 10);
        if (*end == '\0') { return TN_OK; }
    }
    return error_set(error, TN_EINVAL,
                     "\"%s\" is not a number of workers: give, for example, workers=4", text);
}

static enum tn_status is_in_range(const struct operation *operation, const struct spec *spec,
                                  struct error *error)
{
    if (operation->number >= spec->workers_least && operation->number <= spec->workers) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "workers=%" PRIu64 ": the job's cluster.workers is \"%" PRIu32 "-%" PRIu32
                     "\": give a number of that range",
                     operation->number, spec->workers_least, spec->workers);
}

static bool scaled(const struct operation *operation, const struct operation_state *before,
                   const struct operation_state *now)
{
    (void)before;
    return now->run.workers == operation->number && !run_is_over(&now->run);
}

/* Whether the job's cluster.workers is a range: then the chief changes the number at once (C22).
 * Otherwise the agent of the run changes the job at a checkpoint (S14). */
static enum tn_status find_range(struct target *target, bool *has_range, struct error *error)
{
    struct spec spec;
    struct zk_sync *sync = NULL;
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    zk_sync_close(sync);
    *has_range = spec.workers_least != 0;
    return TN_OK;
}

static int change_fixed(const struct operation *scale, const struct target *target,
                        uint64_t timeout_ms, bool json)
{
    struct error error = {0};
    if (scale->number >= 1 && scale->number <= WORKERS_MAX) {
        return change_workers(target, (uint32_t)scale->number, timeout_ms, json);
    }
    (void)error_set(&error, TN_EINVAL, "workers=%" PRIu64 ": give a number from 1 to %d",
                    scale->number, WORKERS_MAX);
    return command_failed(&error);
}

static int print_done(const char *cluster, const struct operation_result *result, bool json)
{
    const uint32_t workers = result->now.run.workers;
    if (json) {
        return output_json(json_pack("{s:i, s:s, s:i, s:i}", "version", 1, "cluster", cluster,
                                     "workers_before", (int)result->before.run.workers, "workers",
                                     (int)workers),
                           JSON_INDENT(2));
    }
    fprintf(stderr, "%s: the run has %" PRIu32 " worker%s now\n", cluster, workers,
            workers == 1 ? "" : "s");
    return TN_EXIT_OK;
}

int command_scale(int argc, char **argv)
{
    struct target_options given = {0};
    struct option_number timeout_s = {.value = OPERATION_EFFECT_S};
    struct operation scale = {
        .name = "scale", .kind = REQUEST_SCALE, .check = is_in_range, .has_effect = scaled};
    struct operation_result result;
    struct target target;
    struct error error = {0};
    const char *output = NULL;
    int exit_code = 0;
    struct options options = {
        .command = "scale",
        .synopsis = "workers=N " TARGET_SYNOPSIS,
        .about =
            "Change the number of workers of a running job. If its cluster.workers is a range, "
            "such as \"2-8\",\nsurplus workers hand over their work and leave, and new ones "
            "join. If it is a number, all nodes of\n`tanist run` stop at a checkpoint and "
            "start again with the new number. No step is repeated, and the\nparameters do not "
            "depend on the number of workers.",
        .examples = "  tanist scale workers=6 --dir runs/mirror\n"
                    "  tanist scale workers=2 --zk h1:2181,h2:2181 --cluster NAME\n",
        .arguments_least = 1,
        .arguments_most = 1};
    target_options_add(&options, &given);
    options_seconds(&options, "timeout", &timeout_s, 0,
                    "How long to wait until the number is accepted, or training continues; default "
                    "60.");
    output_option_text(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    enum tn_status status = read_number(options.arguments[0], &scale.number, &error);
    bool has_range = true;
    if (status == TN_OK) { status = target_find(&given, &target, &error); }
    if (status == TN_OK) { status = find_range(&target, &has_range, &error); }
    const bool json = output_is_json(output);
    if (!has_range) { return change_fixed(&scale, &target, timeout_s.value * 1000, json); }
    if (status == TN_OK) {
        status = operation_request(&scale, &target, timeout_s.value * 1000, &result, &error);
    }
    if (status != TN_OK) { return command_failed(&error); }
    return print_done(target.cluster, &result, json);
}

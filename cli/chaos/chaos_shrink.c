/* cli/chaos/chaos_shrink.c: `tanist chaos shrink`: find the fewest faults of a recorded round that
 * still make it fail. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/history.h"
#include "chaos/plan/shrink.h"
#include "cli/chaos/chaos.h"
#include "cli/chaos/chaos_replay.h"
#include "cli/output.h"
#include "common/base/text.h"

enum { TRIES = 3 };

struct search {
    struct chaos_session *session;
    const struct schedule *all;
    uint64_t tries; /* How often a subset that does not fail is tried. */
    uint32_t round; /* Number of the next round. */
    struct shrink shrink;
    bool subset[INJECTIONS_MAX];
};

/* The schedule of the faults in `subset`; they keep their ids. */
static enum tn_status make_schedule(const struct search *search, struct schedule *out,
                                    struct error *error)
{
    out->count = 0;
    assert(search->all->count <= INJECTIONS_MAX);
    out->list = calloc(search->all->count + 1, sizeof *out->list);
    if (out->list == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (uint32_t i = 0; i < search->all->count; i++) {
        if (search->subset[i]) { out->list[out->count++] = search->all->list[i]; }
    }
    return TN_OK;
}

static enum tn_status try_subset(struct search *search, bool *failed, struct error *error)
{
    struct schedule chosen;
    assert(search->all != NULL);
    enum tn_status status = make_schedule(search, &chosen, error);
    *failed = false;
    fprintf(stderr, "trying %u of %u fault%s\n", chosen.count, search->all->count,
            text_plural(search->all->count));
    for (uint64_t i = 0; status == TN_OK && !*failed && i < search->tries; i++) {
        bool passed = true;
        status = chaos_session_round(search->session, search->round++, &chosen, &passed, error);
        *failed = !passed;
    }
    schedule_free(&chosen);
    return status;
}

static int print_result(const struct search *search)
{
    assert(search->shrink.kept_count <= search->all->count);
    json_t *faults = json_array();
    for (uint32_t i = 0; i < search->shrink.kept_count; i++) {
        json_array_append_new(faults,
                              injection_to_json(&search->all->list[search->shrink.kept[i]]));
    }
    return output_json(json_pack("{s:i, s:i, s:o}", "version", 1, "rounds",
                                 (int)search->session->totals.rounds, "faults", faults),
                       JSON_INDENT(2));
}

static int conclude(struct search *search, enum tn_status status, const struct error *error)
{
    struct chaos_session *session = search->session;
    int exit_code = chaos_session_conclude(session, status, error);
    if (status != TN_OK) { return exit_code; }
    if (session->totals.failed == 0) {
        fprintf(stderr, "tanist: the round did not fail again: raise --tries, now %" PRIu64 "\n",
                search->tries);
        return TN_EXIT_ERROR;
    }
    return print_result(search);
}

static int work(struct search *search, const char *history)
{
    struct error error = {0};
    struct recorded_round recorded;
    struct chaos_session *session = search->session;
    enum tn_status status = recorded_round_open(history, session, &recorded, &error);
    if (status != TN_OK) { return chaos_session_conclude(session, status, &error); }
    search->all = &recorded.schedule;
    search->round = 1;
    shrink_init(&search->shrink, recorded.schedule.count);
    /* All faults first: if they do not make the round fail again, no subset can be found. */
    bool failed = true;
    memset(search->subset, true, recorded.schedule.count);
    status = try_subset(search, &failed, &error);
    while (status == TN_OK && failed && shrink_next(&search->shrink, search->subset)) {
        bool part_failed = false;
        status = try_subset(search, &part_failed, &error);
        if (status == TN_OK) { shrink_result(&search->shrink, part_failed); }
    }
    int exit_code = conclude(search, status, &error);
    recorded_round_free(&recorded);
    return exit_code;
}

int chaos_shrink(int argc, char **argv)
{
    struct search *search = calloc(1, sizeof *search);
    struct chaos_session *session = calloc(1, sizeof *session);
    struct option_number tries = {.value = TRIES};
    int exit_code = TN_EXIT_ERROR;
    if (search == NULL || session == NULL) {
        free(search);
        free(session);
        return exit_code;
    }
    search->session = session;
    session->options.dir = "runs/shrink";
    struct options options = {
        .command = "chaos shrink",
        .synopsis = "HISTORY [OPTION]...",
        .about = "Find the fewest faults of a recorded round that still make it fail, by running "
                 "it with subsets of\nthem. Prints these faults as JSON.\n"
                 "Exit status: 0 found, 1 the round did not fail again, 130 stopped.",
        .examples = "  tanist chaos shrink runs/chaos-everything-1/round-0003/history.jsonl --dir "
                    "/tmp/less\n",
        .arguments_least = 1,
        .arguments_most = 1};
    options_number(&options, "tries", &tries, "N",
                   "How often to try a subset before it counts as passing; default 3.");
    options_text(&options, "dir", &session->options.dir, "DIR",
                 "Folder for histories, failed rounds and the report; default runs/shrink.");
    chaos_options_add(&options, &session->options);
    session->options.may_be_idle = true; /* A subset whose faults are never due has not failed. */
    chaos_session_name(session, argc, argv);
    if (options_parse(&options, argc, argv, &exit_code)) {
        search->tries = tries.value;
        exit_code = work(search, options.arguments[0]);
    }
    chaos_session_close(session);
    free(session);
    free(search);
    return exit_code;
}

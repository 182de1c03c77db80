/* cli/chaos/chaos_shrink.c: `tanist chaos shrink`: the fewest faults of a recorded round that still
 * fail.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/history.h"
#include "chaos/plan/shrink.h"
#include "cli/chaos/chaos.h"
#include "cli/chaos/chaos_replay.h"

enum { TRIES = 3, OWN_OPTIONS = 2 };

struct search {
    struct chaos_session *session;
    const struct schedule *all;
    uint64_t tries; /* Of each subset, until one fails. */
    uint32_t round; /* Number of the next. */
    struct shrink shrink;
    bool subset[INJECTIONS_MAX];
};

/* The faults that `subset` names, with their own ids. */
static enum tn_status choose(const struct search *search, struct schedule *out, struct error *error)
{
    out->count = 0;
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
    enum tn_status status = choose(search, &chosen, error);
    *failed = false;
    fprintf(stderr, "with %u of %u faults:\n", chosen.count, search->all->count);
    for (uint64_t i = 0; status == TN_OK && !*failed && i < search->tries; i++) {
        bool kept = true;
        status = chaos_session_round(search->session, search->round++, &chosen, &kept, error);
        *failed = !kept;
    }
    schedule_free(&chosen);
    return status;
}

static int print_result(const struct search *search)
{
    json_t *faults = json_array();
    for (uint32_t i = 0; i < search->shrink.kept_count; i++) {
        json_array_append_new(faults,
                              injection_to_json(&search->all->list[search->shrink.kept[i]]));
    }
    json_t *object = json_pack("{s:i, s:i, s:o}", "version", 1, "rounds",
                               (int)search->session->totals.rounds, "faults", faults);
    bool good = json_dumpf(object, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF;
    json_decref(object);
    return good ? TN_EXIT_OK : TN_EXIT_IO;
}

static int conclude(struct search *search, enum tn_status status, const struct error *error)
{
    struct chaos_session *session = search->session;
    int exit_code = chaos_session_conclude(session, status, error);
    if (status != TN_OK) { return exit_code; }
    if (session->totals.broken == 0) {
        fprintf(stderr, "it did not fail again: try more --tries\n");
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
    /* The whole of it first: what does not fail again has no smallest part. */
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
    session->no_summary = true;
    chaos_session_name(session, argc, argv);
    session->options.dir = "runs/shrink";
    struct option rows[OWN_OPTIONS + CHAOS_OPTIONS] = {
        {"tries", 0, OPTION_COUNT, &tries, "N", NULL,
         "How often a set of faults is tried before it counts as harmless; default 3."},
        {"dir", 0, OPTION_TEXT, &session->options.dir, "DIR", NULL,
         "For histories, failed rounds and the report; default runs/shrink."},
    };
    chaos_options_fill(&session->options, rows + OWN_OPTIONS);
    struct options options = {
        .command = "chaos shrink",
        .synopsis = "HISTORY [OPTION]...",
        .about = "Find the fewest faults of a recorded round that still make it fail, by trying "
                 "parts of them.\nPrints these as JSON. Exit status: 0 found, 1 it did not fail "
                 "again.",
        .examples = "  tanist chaos shrink runs/chaos-everything-1/round-0003/history.jsonl --dir "
                    "/tmp/less\n",
        .list = rows,
        .count = OWN_OPTIONS + CHAOS_OPTIONS,
        .arguments_least = 1,
        .arguments_most = 1};
    if (options_parse(&options, argc, argv, &exit_code)) {
        search->tries = tries.value;
        exit_code = work(search, options.arguments[0]);
    }
    chaos_session_close(session);
    free(session);
    free(search);
    return exit_code;
}

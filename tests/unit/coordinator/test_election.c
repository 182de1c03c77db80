/* The election, by golden trace: events, and the requests that the candidate makes. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "coordinator/election.h"
#include "tests/unit/support/trace.h"

enum { NAMES_MAX = 8, INCARNATION = 42 };

static const char *const guids[] = {"000000000000002a-", "ffffffffffffffff-"};
static const char *const guid_names[] = {"own", "other"};

static struct election e;
static uint64_t now, op_in_flight;

/* "own:7" as the name of a znode; any other text stands for itself. */
static void name_of(const char *word, char name[static ELECTION_NAME_MAX])
{
    snprintf(name, ELECTION_NAME_MAX, "%s", word);
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(guid_names[i]);
        if (strncmp(word, guid_names[i], length) != 0 || word[length] != ':') { continue; }
        unsigned long sequence = strtoul(word + length + 1, NULL, 10);
        snprintf(name, ELECTION_NAME_MAX, "%s%010lu", guids[i], sequence);
    }
}

/* The inverse of name_of(). */
static const char *word_of(const char *name)
{
    static char word[ELECTION_NAME_MAX];
    snprintf(word, sizeof word, "%s", name);
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(guids[i]);
        if (strncmp(name, guids[i], length) != 0) { continue; }
        snprintf(word, sizeof word, "%s:%lu", guid_names[i], strtoul(name + length, NULL, 10));
    }
    return word;
}

static void show_action(const struct election_action *action)
{
    switch (action->type) {
    case ELECTION_DO_NOTHING: break;
    case ELECTION_DO_JOIN: trace_add("create %s\n", e.guid); break;
    case ELECTION_DO_LIST: trace_add("list\n"); break;
    case ELECTION_DO_WATCH: trace_add("watch %s\n", word_of(action->name)); break;
    case ELECTION_DO_READ_CHIEF: trace_add("read /chief\n"); break;
    case ELECTION_DO_READ_RUN: trace_add("read /run\n"); break;
    case ELECTION_DO_CLAIM:
        trace_add("claim epoch=%" PRIu64 " version=%" PRId32 " by %s took_ms=%" PRIu64 "\n",
                  action->epoch, action->version, word_of(action->name), action->took_ms);
        if (action->form != ELECTION_SET) {
            trace_add("by %s\n", action->form == ELECTION_CREATE ? "creation" : "replacement");
        }
        break;
    }
}

static void feed(struct election_event event)
{
    enum election_phase before = e.phase;
    event.now_ms = now;
    if (event.op == 0) { event.op = op_in_flight; }
    struct election_action action = election_step(&e, &event);
    if (action.type != ELECTION_DO_NOTHING) { op_in_flight = action.op; }
    show_action(&action);
    if (action.type == ELECTION_DO_NOTHING && election_deadline_ms(&e) != UINT64_MAX) {
        trace_add("retry in %" PRIu64 " ms\n", election_deadline_ms(&e) - now);
    }
    if (e.phase != before && e.phase == ELECTION_FOLLOWING) { trace_add("following\n"); }
    if (e.phase != before && e.phase == ELECTION_CHIEF) {
        trace_add("chief epoch=%" PRIu64 " version=%" PRId32 "\n", e.epoch, e.version);
    }
}

static enum election_outcome outcome_of(const char *word)
{
    if (word == NULL) { return ELECTION_OK; }
    if (strcmp(word, "refused") == 0) { return ELECTION_REFUSED; }
    if (strcmp(word, "absent") == 0) { return ELECTION_ABSENT; }
    if (strcmp(word, "denied") == 0) { return ELECTION_DENIED; }
    assert_string_equal(word, "unknown");
    return ELECTION_UNKNOWN;
}

static void feed_listing(char **arguments, unsigned count)
{
    static char names[NAMES_MAX][ELECTION_NAME_MAX];
    const char *list[NAMES_MAX];
    assert_true(count <= NAMES_MAX);
    for (unsigned i = 0; i < count; i++) {
        name_of(arguments[i], names[i]);
        list[i] = names[i];
    }
    feed((struct election_event){.type = ELECTION_EV_LISTED, .names = list, .count = count});
}

static void start(void)
{
    now = 1000;
    op_in_flight = 0;
    election_init(&e, INCARNATION);
    assert_string_equal(e.guid, guids[0]);
    feed((struct election_event){.type = ELECTION_EV_START});
}

static uint64_t number(const char *word)
{
    assert_non_null(word);
    return strtoull(word, NULL, 10);
}

/* start | again | joined|watched|claimed [refused|unknown] | listed NAME ... | changed |
 * chief EPOCH INCARNATION VERSION [FLOOR] | chief absent FLOOR | run EPOCH | listing absent |
 * claimed at VERSION | pass MS | tick | stale */
static void command(char **arguments, unsigned count)
{
    const char *verb = arguments[0], *first = arguments[1];
    if (strcmp(verb, "start") == 0) {
        start();
    } else if (strcmp(verb, "again") == 0) {
        feed((struct election_event){.type = ELECTION_EV_START});
    } else if (strcmp(verb, "joined") == 0) {
        feed((struct election_event){.type = ELECTION_EV_JOINED, .outcome = outcome_of(first)});
    } else if (strcmp(verb, "watched") == 0) {
        feed((struct election_event){.type = ELECTION_EV_WATCHED, .outcome = outcome_of(first)});
    } else if (strcmp(verb, "claimed") == 0 && count == 3) {
        int32_t version = (int32_t)number(arguments[2]);
        feed((struct election_event){.type = ELECTION_EV_CLAIMED, .version = version});
    } else if (strcmp(verb, "claimed") == 0) {
        feed((struct election_event){.type = ELECTION_EV_CLAIMED, .outcome = outcome_of(first)});
    } else if (strcmp(verb, "listing") == 0) {
        feed((struct election_event){.type = ELECTION_EV_LISTED, .outcome = outcome_of(first)});
    } else if (strcmp(verb, "run") == 0) {
        feed((struct election_event){.type = ELECTION_EV_RUN_READ, .epoch = number(first)});
    } else if (strcmp(verb, "chief") == 0 && strcmp(first, "absent") == 0) {
        feed((struct election_event){.type = ELECTION_EV_CHIEF_READ,
                                     .outcome = ELECTION_ABSENT,
                                     .floor = number(arguments[2])});
    } else if (strcmp(verb, "listed") == 0) {
        feed_listing(arguments + 1, count - 1);
    } else if (strcmp(verb, "changed") == 0) {
        feed((struct election_event){.type = ELECTION_EV_CHANGED});
    } else if (strcmp(verb, "chief") == 0) {
        feed((struct election_event){.type = ELECTION_EV_CHIEF_READ,
                                     .epoch = number(first),
                                     .incarnation = number(arguments[2]),
                                     .version = (int32_t)number(arguments[3]),
                                     .floor = count > 4 ? number(arguments[4]) : 0});
    } else if (strcmp(verb, "pass") == 0) {
        now += number(first);
    } else if (strcmp(verb, "tick") == 0) {
        feed((struct election_event){.type = ELECTION_EV_TICK});
    } else if (strcmp(verb, "stale") == 0) {
        feed((struct election_event){.type = ELECTION_EV_JOINED, .op = 99});
    } else {
        fail_msg("unknown command \"%s\"", verb);
    }
}

/* Each section of the trace is one rule of docs/protocol.md, section E, or one fault. */
static void election_follows_its_trace(void **state)
{
    (void)state;
    trace_check("tests/unit/coordinator/election_trace.txt", command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(election_follows_its_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

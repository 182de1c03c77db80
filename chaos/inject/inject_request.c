/* chaos/inject/inject_request.c: what operators ask of a chief: `tanist resign`, `pause`, `resume`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/subprocess.h"
#include "common/base/clock.h"

/* Grace: how much longer than ordered the wish may take, while chiefs die and ZooKeeper is away. */
enum { GRACE_MS = 120000, AGAIN_MS = 300, NAME_MAX_BYTES = 48, TEXT_MAX = 400 };

/* A pause: ASKING until it holds, HOLDING until its time is over, RESUMING until /run says so. */
enum stage { ASKING, HOLDING, RESUMING, DONE };

struct wish {
    enum stage stage;
    uint64_t began_ms, for_ms, next_ms;
    struct subprocess subprocess;
    char said[TEXT_MAX];
};

static enum tn_status ask(const struct target_cluster *cluster, const struct strike *strike,
                          const char *verb, struct wish *wish, struct error *error)
{
    char name[NAME_MAX_BYTES];
    const char *const words[] = {"tanist", verb, "--dir", cluster->run_dir, "--timeout", "60",
                                 "--wait", "60", NULL};
    snprintf(name, sizeof name, "%s-%u", verb, strike->injection.id);
    return subprocess_start(cluster, NULL, name, words, &wish->subprocess, error);
}

static enum tn_status begin_request(struct target_cluster *cluster, struct strike *strike,
                                    struct error *error)
{
    bool pause = strike->injection.fault == FAULT_PAUSE;
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    struct wish *wish = calloc(1, sizeof *wish);
    if (wish == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    status = ask(cluster, strike, pause ? "pause" : "resign", wish, error);
    if (status != TN_OK) {
        free(wish);
        return status;
    }
    wish->began_ms = clock_monotonic_ms();
    wish->for_ms = strike->injection.for_ms;
    strike->injection.for_ms += GRACE_MS; /* tick_request() shortens it. */
    strike->state = wish;
    snprintf(strike->text, sizeof strike->text, "`tanist %s` was given",
             pause ? "pause" : "resign");
    return TN_OK;
}

static void enter(struct wish *wish, enum stage stage, const char *words)
{
    size_t used = strlen(wish->said);
    snprintf(wish->said + used, sizeof wish->said - used, "%s%s after %llu ms", used ? ", " : "",
             words, (unsigned long long)(clock_monotonic_ms() - wish->began_ms));
    wish->stage = stage;
}

/* Over before its time, as far as whoever counts it looks. */
static void finish(struct strike *strike, struct wish *wish, const char *words)
{
    enter(wish, DONE, words);
    strike->injection.for_ms = 1;
}

/* A refusal is no bug here: the run may be over, or its chief away. It is asked again: a pause that
 * nobody lifts would last for ever. */
static void resume(struct target_cluster *cluster, struct strike *strike, struct wish *wish)
{
    struct error error;
    uint64_t now_ms = clock_monotonic_ms();
    if (!subprocess_has_ended(&wish->subprocess) || now_ms < wish->next_ms) { return; }
    if (wish->stage == RESUMING && wish->subprocess.exit_code == 0 &&
        wish->subprocess.signal == 0) {
        finish(strike, wish, "went on");
        return;
    }
    wish->stage = RESUMING;
    wish->next_ms = now_ms + AGAIN_MS;
    if (ask(cluster, strike, "resume", wish, &error) != TN_OK) {
        wish->subprocess = (struct subprocess){.ended = true, .exit_code = 1};
    }
}

static void answered(struct strike *strike, struct wish *wish)
{
    bool granted = wish->subprocess.exit_code == 0 && wish->subprocess.signal == 0;
    if (strike->injection.fault == FAULT_RESIGN) {
        finish(strike, wish, granted ? "another chief was in office" : "it was not granted");
    } else {
        enter(wish, HOLDING, granted ? "the workers were held" : "it was not granted");
    }
}

static void tick_request(struct target_cluster *cluster, struct strike *strike)
{
    struct wish *wish = strike->state;
    bool over = clock_monotonic_ms() >= wish->began_ms + wish->for_ms;
    if (wish->stage == ASKING && subprocess_has_ended(&wish->subprocess)) {
        answered(strike, wish);
    }
    if (wish->stage == RESUMING || (wish->stage == HOLDING && over)) {
        resume(cluster, strike, wish);
    }
}

static void end_request(struct target_cluster *cluster, struct strike *strike)
{
    struct wish *wish = strike->state;
    static const char *const so_far[] = {[ASKING] = "no answer when the round ended",
                                         [HOLDING] = "held when the round ended",
                                         [RESUMING] = "no answer to `tanist resume`",
                                         [DONE] = ""};
    (void)cluster;
    subprocess_stop(&wish->subprocess);
    if (wish->stage != DONE) { enter(wish, wish->stage, so_far[wish->stage]); }
    snprintf(strike->text, sizeof strike->text, "%s", wish->said);
    free(wish);
    strike->state = NULL;
}

const struct injector injector_request = {
    .begin = begin_request, .tick = tick_request, .end = end_request};

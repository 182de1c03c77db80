/*
 *   IDLE       -> JOINING     started
 *   JOINING    -> LISTING     created, or unknown
 *   LISTING    -> JOINING     our znode is not listed
 *   LISTING    -> WATCHING    another candidate precedes us
 *   LISTING    -> READING     none does
 *   WATCHING   -> FOLLOWING   the watch is set
 *   WATCHING   -> LISTING     the predecessor has left, or unknown
 *   FOLLOWING  -> LISTING     something changed
 *   READING    -> READING     /chief holds no epoch: read that of /run
 *   READING    -> CLAIMING    /chief names another process
 *   READING    -> CHIEF       /chief names us: the answer to DO_CLAIM was lost
 *   CLAIMING   -> CHIEF       done
 *   CLAIMING   -> LISTING     refused or unknown: start over from the list
 */
#include "coordinator/election.h"

#include <assert.h>

#include "common/base/minmax.h"
#include "common/base/text.h"
#include "common/cluster/znodes.h"

static const struct election_action nothing = {.type = ELECTION_DO_NOTHING};

static struct election_action ask(struct election *e, enum election_phase phase,
                                  enum election_action_type type)
{
    assert(e->phase != ELECTION_CHIEF);
    assert(type != ELECTION_DO_NOTHING);
    e->phase = phase;
    e->doubt = false;
    e->retry_at_ms = UINT64_MAX;
    return (struct election_action){.type = type, .op = ++e->op};
}

/* The request in flight is abandoned; election_deadline_ms() is when to ask again. */
static struct election_action retry(struct election *e, enum election_phase phase)
{
    assert(e->phase != ELECTION_CHIEF);
    assert(phase == ELECTION_JOINING || phase == ELECTION_LISTING);
    e->phase = phase;
    e->op++;
    e->retry_at_ms = e->now_ms + ELECTION_RETRY_MS;
    return nothing;
}

static struct election_action list(struct election *e)
{
    return ask(e, ELECTION_LISTING, ELECTION_DO_LIST);
}

/* ------------------------------------------------------------------- names */

/* The number ZooKeeper appended; false if the name has none. */
static bool sequence_of(const char *name, uint64_t *out)
{
    assert(name != NULL);
    size_t length = 0;
    while (name[length] != '\0' && length < ELECTION_NAME_MAX) { length++; }
    if (length <= SEQUENCE_DIGITS || length == ELECTION_NAME_MAX) { return false; }
    *out = 0;
    for (size_t i = length - SEQUENCE_DIGITS; i < length; i++) {
        if (name[i] < '0' || name[i] > '9') { return false; }
        *out = *out * 10 + (uint64_t)(name[i] - '0');
    }
    return true;
}

static bool is_ours(const struct election *e, const char *name)
{
    assert(e->guid[0] != '\0');
    for (size_t i = 0; e->guid[i] != '\0'; i++) {
        if (name[i] != e->guid[i]) { return false; }
    }
    return true;
}

/* Our lowest znode into `ours`, the highest below it into `before`; "" where none exists. */
static void find_place(struct election *e, const struct election_event *event)
{
    assert(event->names != NULL || event->count == 0);
    uint64_t mine = UINT64_MAX, highest = 0, sequence;
    e->ours[0] = e->before[0] = '\0';
    for (size_t i = 0; i < event->count; i++) {
        const char *name = event->names[i];
        if (!is_ours(e, name) || !sequence_of(name, &sequence) || sequence >= mine) { continue; }
        mine = sequence;
        text_set(e->ours, sizeof e->ours, name);
    }
    for (size_t i = 0; mine != UINT64_MAX && i < event->count; i++) {
        const char *name = event->names[i];
        if (!sequence_of(name, &sequence) || sequence >= mine) { continue; }
        if (e->before[0] != '\0' && sequence < highest) { continue; }
        highest = sequence;
        text_set(e->before, sizeof e->before, name);
    }
}

/* ------------------------------------------------------------------ events */

static struct election_action on_joined(struct election *e, const struct election_event *event)
{
    assert(e->phase == ELECTION_JOINING);
    if (event->outcome == ELECTION_UNKNOWN) { return retry(e, ELECTION_LISTING); /* E1 */ }
    if (event->outcome != ELECTION_OK) { return retry(e, ELECTION_JOINING); }
    return list(e);
}

static struct election_action on_listed(struct election *e, const struct election_event *event)
{
    assert(e->phase == ELECTION_LISTING);
    if (event->outcome == ELECTION_ABSENT) { return retry(e, ELECTION_JOINING); /* E5 */ }
    if (event->outcome != ELECTION_OK) { return retry(e, ELECTION_LISTING); }
    if (e->doubt) { return list(e); }
    find_place(e, event);
    if (e->ours[0] == '\0') { return ask(e, ELECTION_JOINING, ELECTION_DO_JOIN); /* E4 */ }
    if (e->before[0] == '\0') { return ask(e, ELECTION_READING, ELECTION_DO_READ_CHIEF); }
    struct election_action action = ask(e, ELECTION_WATCHING, ELECTION_DO_WATCH); /* E2 */
    e->waited = true;
    action.name = e->before;
    return action;
}

/* The time without a chief is measured from here. */
static struct election_action predecessor_changed(struct election *e)
{
    assert(e->waited && e->before[0] != '\0');
    e->since_ms = e->now_ms;
    return list(e);
}

static struct election_action on_watched(struct election *e, const struct election_event *event)
{
    assert(e->phase == ELECTION_WATCHING);
    if (event->outcome == ELECTION_UNKNOWN) { return retry(e, ELECTION_LISTING); }
    if (event->outcome != ELECTION_OK || e->doubt) { return predecessor_changed(e); }
    e->phase = ELECTION_FOLLOWING;
    return nothing;
}

/* A listing in flight may be older than the change. In the other phases the next request shows
 * it. */
static struct election_action on_changed(struct election *e)
{
    if (e->phase == ELECTION_LISTING || e->phase == ELECTION_WATCHING) { e->doubt = true; }
    return e->phase == ELECTION_FOLLOWING ? predecessor_changed(e) : nothing;
}

static struct election_action claim(struct election *e)
{
    struct election_action action = ask(e, ELECTION_CLAIMING, ELECTION_DO_CLAIM); /* E3 */
    e->epoch++;
    action.name = e->ours;
    action.epoch = e->epoch;
    action.version = e->version;
    action.form = e->absent ? ELECTION_CREATE : e->denied ? ELECTION_REPLACE : ELECTION_SET;
    action.took_ms = e->now_ms - e->since_ms;
    return action;
}

static struct election_action on_chief_read(struct election *e, const struct election_event *event)
{
    assert(e->phase == ELECTION_READING);
    assert(e->ours[0] != '\0' && e->before[0] == '\0');
    e->absent = event->outcome == ELECTION_ABSENT;
    if (event->outcome != ELECTION_OK && !e->absent) { return retry(e, ELECTION_LISTING); }
    e->damaged = event->damaged;
    e->version = event->version;
    e->epoch = event->epoch;
    if (event->epoch != 0 && event->incarnation == e->incarnation) {
        e->phase = ELECTION_CHIEF;
        return nothing;
    }
    if (event->epoch != 0 && event->epoch >= event->floor) { return claim(e); }
    e->epoch = event->floor;
    return ask(e, ELECTION_READING, ELECTION_DO_READ_RUN); /* E5 */
}

static struct election_action on_run_read(struct election *e, const struct election_event *event)
{
    assert(e->phase == ELECTION_READING);
    bool known = event->outcome == ELECTION_OK || event->outcome == ELECTION_ABSENT;
    if (!known) { return retry(e, ELECTION_LISTING); }
    e->epoch = u64_max(e->epoch, event->epoch);
    if (e->epoch > 0 || e->absent || e->damaged) { e->epoch += ELECTION_GAP; }
    return claim(e);
}

static struct election_action on_claimed(struct election *e, const struct election_event *event)
{
    assert(e->phase == ELECTION_CLAIMING);
    if (event->outcome == ELECTION_DENIED) {
        e->denied = true;
        return retry(e, ELECTION_LISTING);
    }
    if (event->outcome == ELECTION_UNKNOWN) { return retry(e, ELECTION_LISTING); }
    if (event->outcome != ELECTION_OK) { return list(e); }
    e->version = event->version;
    e->phase = ELECTION_CHIEF;
    return nothing;
}

static struct election_action on_tick(struct election *e)
{
    if (e->now_ms < e->retry_at_ms) { return nothing; }
    assert(e->phase == ELECTION_JOINING || e->phase == ELECTION_LISTING);
    return e->phase == ELECTION_JOINING ? ask(e, ELECTION_JOINING, ELECTION_DO_JOIN) : list(e);
}

static struct election_action on_start(struct election *e)
{
    if (e->phase != ELECTION_IDLE) { return nothing; }
    e->since_ms = e->now_ms;
    return ask(e, ELECTION_JOINING, ELECTION_DO_JOIN);
}

void election_init(struct election *e, uint64_t incarnation)
{
    *e = (struct election){.phase = ELECTION_IDLE, .incarnation = incarnation};
    e->retry_at_ms = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        e->guid[i] = "0123456789abcdef"[incarnation >> (60 - 4 * i) & 15];
    }
    e->guid[16] = '-';
}

struct election_action election_step(struct election *e, const struct election_event *event)
{
    static const enum election_phase answered_in[] = {
        [ELECTION_EV_JOINED] = ELECTION_JOINING,   [ELECTION_EV_LISTED] = ELECTION_LISTING,
        [ELECTION_EV_WATCHED] = ELECTION_WATCHING, [ELECTION_EV_CHIEF_READ] = ELECTION_READING,
        [ELECTION_EV_RUN_READ] = ELECTION_READING, [ELECTION_EV_CLAIMED] = ELECTION_CLAIMING,
    };
    assert(event->now_ms >= e->now_ms);
    assert(e->phase <= ELECTION_CHIEF);
    assert(e->phase == ELECTION_IDLE || e->since_ms <= e->now_ms);
    e->now_ms = event->now_ms;
    bool answer = event->type >= ELECTION_EV_JOINED && event->type != ELECTION_EV_CHANGED;
    if (answer && (event->op != e->op || e->phase != answered_in[event->type])) { return nothing; }
    switch (event->type) {
    case ELECTION_EV_START: return on_start(e);
    case ELECTION_EV_TICK: return on_tick(e);
    case ELECTION_EV_JOINED: return on_joined(e, event);
    case ELECTION_EV_LISTED: return on_listed(e, event);
    case ELECTION_EV_WATCHED: return on_watched(e, event);
    case ELECTION_EV_CHANGED: return on_changed(e);
    case ELECTION_EV_CHIEF_READ: return on_chief_read(e, event);
    case ELECTION_EV_RUN_READ: return on_run_read(e, event);
    case ELECTION_EV_CLAIMED: return on_claimed(e, event);
    }
    return nothing;
}

uint64_t election_deadline_ms(const struct election *e)
{
    assert(e->retry_at_ms == UINT64_MAX || e->phase == ELECTION_JOINING ||
           e->phase == ELECTION_LISTING);
    return e->retry_at_ms;
}

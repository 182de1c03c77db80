/*
 * coordinator/election.h: how a candidate comes into office: ZooKeeper's recipe for election
 * without a herd, as a pure state machine: events in, actions out.
 *
 *  E1  A candidate stands by an ephemeral sequential znode whose name begins with its own GUID.
 *      When the answer to its creation is lost, it is found in the listing by that GUID; two of
 *      ours do no harm: the lower one counts.
 *  E2  It watches only the candidate just before it. When that one goes, it lists again.
 *  E3  The first in line takes office by one transaction: our znode still exists, /chief is still
 *      of the version we read and now says epoch + 1. When the answer is lost, /chief tells.
 *  E4  On any doubt it looks again; when its znode is gone it stands anew. It never resets anybody.
 *
 * Threads: the owner's. A step cannot fail.
 */
#ifndef COORDINATOR_ELECTION_H
#define COORDINATOR_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELECTION_NAME_MAX = 64,  /* Of a znode under /election, with its sequence number. */
    ELECTION_RETRY_MS = 50,  /* After a request without an answer. */
    ELECTION_GUID_BYTES = 18 /* Sixteen digits, '-' and the end. */
};

enum election_phase {
    ELECTION_OUT,       /* Not begun. */
    ELECTION_JOINING,   /* Creating our znode. */
    ELECTION_LISTING,   /* Reading who stands. */
    ELECTION_WATCHING,  /* Setting the watch on our predecessor. */
    ELECTION_FOLLOWING, /* Behind him. */
    ELECTION_READING,   /* First in line; reading /chief. */
    ELECTION_TAKING,    /* The transaction is under way. */
    ELECTION_OFFICE,    /* Chief. There is no way back: losing it ends the process. */
    ELECTION_PHASES
};

enum election_outcome {
    ELECTION_OK,
    ELECTION_REFUSED, /* Surely not applied. */
    ELECTION_UNKNOWN, /* Nobody knows. */
};

enum election_event_type {
    ELECTION_EV_START,
    ELECTION_EV_TICK,    /* election_deadline_ms() has passed. */
    ELECTION_EV_JOINED,  /* Answer to DO_JOIN. */
    ELECTION_EV_LISTED,  /* Answer to DO_LIST: `names`, if OK. */
    ELECTION_EV_WATCHED, /* Answer to DO_WATCH; REFUSED: he is gone already. */
    ELECTION_EV_CHANGED, /* The predecessor's watch fired, or ZooKeeper was away meanwhile. */
    ELECTION_EV_CHIEF,   /* Answer to DO_READ_CHIEF. */
    ELECTION_EV_TAKEN,   /* Answer to DO_TAKE_OFFICE. */
};

struct election_event {
    enum election_event_type type;
    uint64_t now_ms;
    uint64_t op; /* Of the action that is answered. */
    enum election_outcome outcome;
    const char *const *names; /* LISTED: borrowed for the call. */
    size_t count;
    uint64_t epoch;       /* CHIEF: 0 if nobody has held the office. */
    uint64_t incarnation; /* CHIEF: its holder's. */
    int32_t version;      /* CHIEF: of the znode. TAKEN, OK: its new one. */
};

enum election_action_type {
    ELECTION_DO_NOTHING,
    ELECTION_DO_JOIN,        /* Create /election/GUIDnnnn, ephemeral and sequential. */
    ELECTION_DO_LIST,        /* List /election. */
    ELECTION_DO_WATCH,       /* Watch /election/`name`. */
    ELECTION_DO_READ_CHIEF,  /* Read /chief. */
    ELECTION_DO_TAKE_OFFICE, /* Check /election/`name`, set /chief of `version` to `epoch`. */
};

/* What one step asks for: one thing at most. Valid until the next step. */
struct election_action {
    enum election_action_type type;
    uint64_t op;
    const char *name;
    uint64_t epoch;
    int32_t version;
    uint64_t took_ms; /* TAKE_OFFICE: since the predecessor was seen gone. */
};

struct election {
    /* Read by the driver: */
    enum election_phase phase;
    uint64_t epoch;               /* In OFFICE: ours. */
    int32_t version;              /* In OFFICE: of /chief, the fence. */
    bool waited;                  /* There was a predecessor. */
    uint64_t since_ms;            /* When he was seen gone; when we began, if there was none. */
    char ours[ELECTION_NAME_MAX]; /* Our znode; "": none known. */
    char guid[ELECTION_GUID_BYTES];
    char before[ELECTION_NAME_MAX]; /* Our predecessor. */
    /* Private: */
    uint64_t incarnation;
    uint64_t now_ms;
    uint64_t op; /* Of the request under way; other answers are stale. */
    uint64_t retry_at_ms;
    bool doubt; /* A change came in the middle of listing or watching: list once more. */
};

void election_init(struct election *e, uint64_t incarnation);

/* Apply one event. Events that are stale or out of place are ignored. */
struct election_action election_step(struct election *e, const struct election_event *event);

uint64_t election_deadline_ms(const struct election *e); /* UINT64_MAX: none. */

const char *election_phase_name(enum election_phase phase); /* Static storage. */

#endif

/*
 * coordinator/election.h: how a candidate becomes chief: ZooKeeper's leader election recipe without
 * a herd effect, as a pure state machine: events in, actions out. Rules (docs/protocol.md):
 *
 *  E1  A candidate joins by creating an ephemeral sequential znode whose name begins with its own
 *      GUID. When the answer to the creation is lost, the candidate finds its znode in the listing
 *      by that GUID. If it has two, the lower one counts and the other does no harm.
 *  E2  It watches only its predecessor, the candidate just before it. When the predecessor's znode
 *      goes, the candidate lists again.
 *  E3  The first candidate becomes chief by one transaction: its znode still exists, and /chief
 *      still has the version that was read and now holds epoch + 1. When the answer is lost, the
 *      candidate reads /chief again.
 *  E4  On any doubt the candidate lists again; when its own znode is missing, it joins again. It
 *      never changes another candidate's znode.
 *  E5  What another program deleted or damaged is restored: the folder of the candidates, and
 *      /chief. If /chief has no epoch, or a lower one than this process knows, the claim is above
 *      both the known epoch and that of /run. The fence of a chief is its candidate's znode as well
 *      as the version of /chief: after a deletion of /chief its versions begin again at 0.
 *
 * Threads: the owner's. A step cannot fail.
 */
#ifndef COORDINATOR_ELECTION_H
#define COORDINATOR_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELECTION_NAME_MAX = 64,  /* The name of a znode under /election, with its sequence number. */
    ELECTION_RETRY_MS = 50,  /* After a request without an answer. */
    ELECTION_GAP = 64,       /* E5: epochs that may have been used although no znode shows them. */
    ELECTION_GUID_BYTES = 18 /* Sixteen digits, '-' and the terminating NUL. */
};

enum election_phase {
    ELECTION_IDLE,      /* Not started. */
    ELECTION_JOINING,   /* Creating the candidate's znode. */
    ELECTION_LISTING,   /* Reading the list of candidates. */
    ELECTION_WATCHING,  /* Setting the watch on the predecessor. */
    ELECTION_FOLLOWING, /* The watch is set; waiting for a change. */
    ELECTION_READING,   /* First candidate; reading /chief, and /run if that holds no epoch. */
    ELECTION_CLAIMING,  /* The transaction of E3 is in flight. */
    ELECTION_CHIEF,     /* Chief. Final: losing the leadership ends the process. */
};

enum election_outcome {
    ELECTION_OK,
    ELECTION_REFUSED, /* Certainly not applied. */
    ELECTION_ABSENT,  /* Refused, because the znode does not exist. */
    ELECTION_DENIED,  /* Refused, because its ACL forbids it. */
    ELECTION_UNKNOWN, /* Applied or not: the answer was lost. */
};

enum election_event_type {
    ELECTION_EV_START,
    ELECTION_EV_TICK,       /* election_deadline_ms() has passed. */
    ELECTION_EV_JOINED,     /* Answer to DO_JOIN. */
    ELECTION_EV_LISTED,     /* Answer to DO_LIST: `names`, if OK. */
    ELECTION_EV_WATCHED,    /* Answer to DO_WATCH; REFUSED: the predecessor has left already. */
    ELECTION_EV_CHANGED,    /* The predecessor's watch fired, or ZooKeeper was disconnected. */
    ELECTION_EV_CHIEF_READ, /* Answer to DO_READ_CHIEF. */
    ELECTION_EV_RUN_READ,   /* Answer to DO_READ_RUN. */
    ELECTION_EV_CLAIMED,    /* Answer to DO_CLAIM. */
};

struct election_event {
    enum election_event_type type;
    uint64_t now_ms;
    uint64_t op; /* The action that is answered. */
    enum election_outcome outcome;
    const char *const *names; /* LISTED: borrowed for the call. */
    size_t count;
    uint64_t epoch; /* CHIEF_READ: 0 if it holds no record. RUN_READ: 0 if it is unreadable. */
    bool damaged;   /* CHIEF_READ: its contents are unreadable. */
    uint64_t floor; /* CHIEF_READ: the highest epoch that this process knows of. */
    uint64_t incarnation; /* CHIEF_READ: of the chief it names. */
    int32_t version;      /* CHIEF_READ: of the znode. CLAIMED, OK: its new one. */
};

enum election_action_type {
    ELECTION_DO_NOTHING,
    ELECTION_DO_JOIN,       /* Create /election/GUIDnnnn, ephemeral and sequential. */
    ELECTION_DO_LIST,       /* List /election. */
    ELECTION_DO_WATCH,      /* Watch /election/`name`. */
    ELECTION_DO_READ_CHIEF, /* Read /chief. */
    ELECTION_DO_READ_RUN,   /* Read /run. */
    ELECTION_DO_CLAIM,      /* Check /election/`name`, set /chief of `version` to `epoch`, as `form`
                               demands. */
};

/* E5: how /chief is written. */
enum election_form {
    ELECTION_SET,
    ELECTION_CREATE,  /* It does not exist. */
    ELECTION_REPLACE, /* Its ACL forbids a change: delete and create it. */
};

/* The result of one step: at most one request. Valid until the next step. */
struct election_action {
    enum election_action_type type;
    uint64_t op;
    const char *name;
    uint64_t epoch;
    int32_t version;
    enum election_form form;
    uint64_t took_ms; /* CLAIM: since the predecessor's znode was found missing. */
};

struct election {
    /* Read by the driver: */
    enum election_phase phase;
    uint64_t epoch;    /* In phase CHIEF: of this chief. */
    int32_t version;   /* In phase CHIEF: of /chief, the fence. */
    bool waited;       /* There was a predecessor. */
    uint64_t since_ms; /* When its znode was found missing; without a predecessor, when this
                          candidate started. */
    char ours[ELECTION_NAME_MAX]; /* Our znode; "": none known. */
    char guid[ELECTION_GUID_BYTES];
    char before[ELECTION_NAME_MAX]; /* Our predecessor's znode. */
    /* Private: */
    uint64_t incarnation;
    uint64_t now_ms;
    uint64_t op; /* The request in flight; other answers are stale. */
    uint64_t retry_at_ms;
    bool doubt; /* A change arrived while listing or watching: list once more. */
    /* /chief does not exist; its contents are unreadable; its ACL forbids a change. */
    bool absent, damaged, denied;
};

void election_init(struct election *e, uint64_t incarnation);

/* Apply one event. Stale and misplaced events are ignored. */
struct election_action election_step(struct election *e, const struct election_event *event);

uint64_t election_deadline_ms(const struct election *e); /* UINT64_MAX: none. */

#endif

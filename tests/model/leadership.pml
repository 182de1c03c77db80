/*
 * tests/model/leadership.pml: election, leadership, fenced orders and generations, small enough to visit every state.
 *
 * Three candidates, two ps, two workers. Any session may expire while its process continues without knowing it (its
 * decisions then depend on old reads). The answer to any write of a candidate may get lost; the write then takes effect
 * at once, later, or never. Any ps may be killed and restarted, with its memory or empty. ZooKeeper is one atomic
 * store: its own protocol is not part of the model.
 *
 * The model is small for these reasons, and none of them excludes a behaviour:
 *   - A restarted candidate is a new one at the end of the line. Therefore candidates never restart here: the three are
 *     three incarnations, and a fixed order 0, 1, 2 does not restrict them.
 *   - A process reads and decides in one step, and acts on it in another: between the two anything may happen. A value
 *     that it keeps only until then is cleared in the same step (a cleared value makes no states).
 *   - A write whose answer is lost waits in `late`. The network decides whether it is applied at once, later or never.
 *   - Versions of /run are only compared with the present one: a bit holds whether it is the one that was read. In the
 *     same way a bit holds whether a report is from the present incarnation of its ps.
 *   - ZooKeeper refuses writes of an expired session. The orders here depend only on the fence.
 *
 * Rules: docs/protocol.md E1 to E4, C1 to C5, P1, W1. Safety, as assertions:
 *   S1  an epoch is taken once, by the first candidate in line, and epochs grow one by one
 *   S2  every effective order comes from the holder of the newest epoch
 *   S3  the generation of /run never decreases; a new one begins with "loading", and "running g" follows loading or
 *       pausing g
 *   S4  a ps applies a contribution to the generation that it loaded, in memory that really has it
 *   S5  nothing is applied in a generation that was not ordered to run; that order is given when every ps has loaded
 *       it; and no ps loads a generation after it was ordered to run
 *
 * Run: ./test.sh --model. Each -D of tests/model/mutants.sh plants an error that an assertion must find.
 */
#ifndef GENERATIONS
#define GENERATIONS 2 /* The initial load, and restores. */
#endif
#ifndef RESTARTS
#define RESTARTS 2    /* Restarts of ps, in all. */
#endif
#ifndef UNKNOWNS
#define UNKNOWNS 2    /* Lost answers. */
#endif
#define CANDIDATES 3
#define PS 2
#define NONE 3

mtype:phase = { FORMING, LOADING, RUNNING, PAUSED };
mtype:write = { NOTHING, CLAIM, ORDER };

/* ZooKeeper: the election znodes (a bit for each), /chief (its version is the epoch), /run. */
byte znodes = 7;
byte epoch = 0;
byte owner = NONE;
mtype:phase run_phase = FORMING;
byte run_generation = 0;
bool is_current[CANDIDATES + 1];   /* /run is unchanged since this candidate, or `late`, read it. */
#define LATE CANDIDATES

/* The ps, and the last report of each, which may be out of date. */
byte loaded[PS];                   /* The generation that it reports; 0: none. */
byte reported_generation[PS];
bool is_known[PS];                 /* The report is from the present incarnation. */

/* A write in flight whose sender no longer waits for the answer. */
mtype:write late = NOTHING;
byte late_from = 0, late_epoch = 0, late_generation = 0;
mtype:phase late_phase = FORMING;

byte restarts = 0, unknowns = 0;

#ifdef MUTANT_READS_BEFORE_REGISTERED
/* The former /run: a server that lags may still show it to a new session. A session that has written, for example its
 * registration, is shown nothing older than its write. */
mtype:phase previous_phase = FORMING;
byte previous_generation = 0;
bool is_new[PS];
#endif

/* Read only by assertions. */
byte holds[PS];                    /* The generation that is really in the memory of a ps. */
bool ordered_to_run[GENERATIONS + 1];

#define IS_FIRST(me)  ((znodes & (1 << (me))) && (znodes & ((1 << (me)) - 1)) == 0)

#ifdef MUTANT_OLD_REPORT_COUNTS
#define IS_KNOWN(p) true
#else
#define IS_KNOWN(p) is_known[p]
#endif
#define HAS_REPORTED(p, g) (IS_KNOWN(p) && reported_generation[p] == (g))
#ifdef MUTANT_RUN_WITHOUT_WAITING
#define ALL_HAVE_REPORTED(g) true
#else
#define ALL_HAVE_REPORTED(g) (HAS_REPORTED(0, g) && HAS_REPORTED(1, g))
#endif

#ifdef MUTANT_NO_ZNODE
#define HAS_ZNODE(me) true
#else
#define HAS_ZNODE(me) (znodes & (1 << (me)))
#endif
#ifdef MUTANT_NO_FENCE
#define FENCE(e) true
#else
#define FENCE(e) (epoch == (e))
#endif
#ifdef MUTANT_NO_RUN_VERSION
#define SAME_RUN(reader) true
#else
#define SAME_RUN(reader) is_current[reader]
#endif

#ifdef MUTANT_LOADS_WHILE_RUNNING
#define ORDERED_TO_LOAD (run_phase != FORMING)
#else
#define ORDERED_TO_LOAD (run_phase == LOADING)
#endif

inline forget_late() {
    late = NOTHING; late_from = 0; late_epoch = 0; late_generation = 0; late_phase = FORMING;
    is_current[LATE] = false
}

/* One transaction: the znode of the candidate exists, and /chief is unchanged; now it names the candidate. */
inline claim_chief(claimant, read_epoch) {
    if
    :: HAS_ZNODE(claimant) && epoch == read_epoch ->
        assert(IS_FIRST(claimant) && owner != claimant);          /* S1 */
        epoch = read_epoch + 1;
        owner = claimant
    :: else
    fi
}

inline remember_run() {
#ifdef MUTANT_READS_BEFORE_REGISTERED
    previous_phase = run_phase; previous_generation = run_generation;
#endif
    skip
}

/* One transaction: /chief has the epoch of the writer, and /run is unchanged; now it holds the order. */
inline give_order(writer, reader, its_epoch, phase, generation) {
    if
    :: FENCE(its_epoch) && SAME_RUN(reader) ->
        assert(owner == writer && epoch == its_epoch);     /* S2 */
        assert(generation >= run_generation);           /* S3 */
        assert(phase == LOADING || generation == run_generation);
        assert(phase != LOADING || generation == run_generation + 1);
        assert(phase != RUNNING || run_phase == LOADING || run_phase == PAUSED);
        remember_run();
        run_phase = phase;
        run_generation = generation;
        is_current[0] = false; is_current[1] = false; is_current[2] = false; is_current[LATE] = false;
        if
        :: phase == RUNNING -> ordered_to_run[generation] = true
        :: else
        fi
    :: else
    fi
}

inline decide(writer, phase, generation) {
    wanted = phase; wanted_generation = generation; is_current[writer] = true
}

proctype candidate(byte me)
{
    byte my_epoch = 0;      /* 0: not the chief. */
    bool has_read = false;
    byte read_epoch = 0;
    mtype:phase wanted = FORMING; /* An order that is decided and not yet written; FORMING: none. */
    byte wanted_generation = 0;

end_of_candidate:
    do
    /* E2, E3: the first candidate reads /chief. It names the candidate already if the answer was lost (E1). */
    :: atomic { my_epoch == 0 && !has_read && IS_FIRST(me) ->
        if
        :: owner == me -> my_epoch = epoch
        :: else -> has_read = true; read_epoch = epoch
        fi }
    :: atomic { has_read ->
        if
        :: claim_chief(me, read_epoch)
        :: unknowns < UNKNOWNS && late == NOTHING ->
            unknowns++; late = CLAIM; late_from = me; late_epoch = read_epoch;
#ifdef MUTANT_UNKNOWN_IS_SUCCESS
            my_epoch = read_epoch + 1
#endif
        fi;
        has_read = false; read_epoch = 0 }

    /* C3, C4, C5: read /run and the reports, and decide on an order. */
    :: d_step { my_epoch != 0 && wanted == FORMING && run_phase == FORMING ->
        decide(me, LOADING, 1) }
    :: d_step { my_epoch != 0 && wanted == FORMING && (run_phase == LOADING || run_phase == PAUSED) &&
                ALL_HAVE_REPORTED(run_generation) ->
        assert(holds[0] == run_generation && holds[1] == run_generation); /* S5 */
        decide(me, RUNNING, run_generation) }
    :: d_step { my_epoch != 0 && wanted == FORMING && run_phase == RUNNING &&
                !ALL_HAVE_REPORTED(run_generation) ->
        decide(me, PAUSED, run_generation) }
    :: d_step { my_epoch != 0 && wanted == FORMING && run_phase == PAUSED && run_generation < GENERATIONS &&
                IS_KNOWN(0) && IS_KNOWN(1) && !ALL_HAVE_REPORTED(run_generation) ->
        decide(me, LOADING, run_generation + 1) }

    /* C1: later, write the order. When the fence refuses it, the process ends; else it decides again. */
    :: atomic { wanted != FORMING ->
        if
        :: give_order(me, me, my_epoch, wanted, wanted_generation);
           if
           :: !FENCE(my_epoch) -> my_epoch = 0; znodes = znodes & ~(1 << me)
           :: else
           fi
        :: unknowns < UNKNOWNS && late == NOTHING ->
            unknowns++; late = ORDER; late_from = me; late_epoch = my_epoch;
            late_phase = wanted; late_generation = wanted_generation;
            is_current[LATE] = is_current[me]
        fi;
        wanted = FORMING; wanted_generation = 0; is_current[me] = false }
    od
}

/* Writes without an answer arrive; sessions expire without their process knowing it. */
proctype network()
{
end_of_network:
    do
    :: atomic { late == CLAIM -> claim_chief(late_from, late_epoch); forget_late() }
    :: atomic { late == ORDER ->
        give_order(late_from, LATE, late_epoch, late_phase, late_generation); forget_late() }
    :: d_step { znodes & 1 -> znodes = znodes & ~1 }
    :: d_step { znodes & 2 -> znodes = znodes & ~2 }
    :: d_step { znodes & 4 -> znodes = znodes & ~4 }
    od
}

proctype ps(byte me)
{
end_of_ps:
    do
    /* P1: a ps loads a newer generation only when /run orders it. It reads /run after registering, so that /run is not
     * older than this incarnation. Reading and loading are one step here: nothing else of this process depends on the
     * order, so that a later load is the same as a later read. */
    :: d_step { ORDERED_TO_LOAD && run_generation > loaded[me] ->
        assert(!ordered_to_run[run_generation]);           /* S5 */
        loaded[me] = run_generation; holds[me] = run_generation }
#ifdef MUTANT_READS_BEFORE_REGISTERED
    :: d_step { is_new[me] && previous_phase == LOADING && previous_generation > loaded[me] ->
        assert(!ordered_to_run[previous_generation]);      /* S5 */
        loaded[me] = previous_generation; holds[me] = previous_generation; is_new[me] = false }
#endif
    :: d_step { !is_known[me] || reported_generation[me] != loaded[me] ->
        is_known[me] = true; reported_generation[me] = loaded[me] }
    /* kill -9: the next incarnation finds its memory, or is empty. */
    :: atomic { restarts < RESTARTS && loaded[me] != 0 ->
        restarts++; is_known[me] = false;
#ifdef MUTANT_READS_BEFORE_REGISTERED
        is_new[me] = true;
#endif
#ifndef MUTANT_OLD_REPORT_COUNTS
        reported_generation[me] = 0;
#endif
        if
        :: true
        :: holds[me] = 0;
#ifndef MUTANT_KEEPS_GENERATION
           loaded[me] = 0
#endif
        fi }
    od
}

proctype worker()
{
    byte generation = 0; /* Generation of the last "running" that it read; this may be over. */

end_of_worker:
    do
    /* W1 */
    :: d_step { run_phase == RUNNING && generation != run_generation -> generation = run_generation }
    /* A contribution, possibly of an old generation, arrives: it is applied or refused. */
    :: d_step { generation != 0 && loaded[0] == generation ->
        assert(holds[0] == generation);                 /* S4 */
        assert(ordered_to_run[generation]) }               /* S5 */
    :: d_step { generation != 0 && loaded[1] == generation ->
        assert(holds[1] == generation);                 /* S4 */
        assert(ordered_to_run[generation]) }               /* S5 */
    od
}

init {
    atomic {
        run candidate(0); run candidate(1); run candidate(2);
        run network();
        run ps(0); run ps(1);
        run worker(); run worker()
    }
}

/*
 * tests/model/office.pml: election, office, fenced orders and generations, small enough to exhaust.
 *
 * Three candidates, two ps, two workers. Any session may expire while its process goes on unknowing (a zombie: its
 * decisions rest on what it read long ago); the answer to any write of a candidate may get lost, the write then takes
 * effect at once, later, or never; any ps may be killed and reborn, with its memory or empty. ZooKeeper is one atomic
 * store: what its own protocol guarantees is not our question.
 *
 * How it is kept small, and why nothing is lost by that:
 *   - A restarted candidate is a new one at the end of the line. So candidates never restart here: the three stand for
 *     three incarnations, and standing in the order 0, 1, 2 is no restriction.
 *   - A process reads and decides in one step, and acts on it in another: between the two anything may happen. What it
 *     keeps only until then is forgotten in the same step (a forgotten value makes no states).
 *   - A write whose answer is lost waits in `late`. Applied at once, later or never: when the network moves, decides.
 *   - Versions of /run are only ever compared with the present one: a bit says whether it is the one that was read.
 *     In the same way a bit says whether a report is of the present incarnation of its ps.
 *   - ZooKeeper refuses writes of an expired session. The orders here do not rely on it: only on the fence.
 *
 * Rules: docs/protocol.md E1 to E4, C1 to C5, P1, W1. Safety, as assertions:
 *   S1  an epoch is taken once, by who is first in line, and epochs grow one by one
 *   S2  every effective order comes from the holder of the newest epoch
 *   S3  /run's generation never goes back; a new one begins with "loading", and "running g" follows loading or pausing g
 *   S4  what a ps applies a contribution to is what it loaded: its generation, in memory that really has it
 *   S5  nothing is applied in a generation that was not ordered to run; that order is given when every ps has loaded
 *       it; and no ps loads a generation once it was ordered to run
 *
 * Run: ./test.sh --model. Each -D of tests/model/mutants.sh plants an error that an assertion must find.
 */
#ifndef GENERATIONS
#define GENERATIONS 2 /* The initial load, and restores. */
#endif
#ifndef REBIRTHS
#define REBIRTHS 2    /* Of ps, in all. */
#endif
#ifndef UNKNOWNS
#define UNKNOWNS 2    /* Answers lost. */
#endif
#define CANDIDATES 3
#define PS 2
#define NOBODY 3

mtype:phase = { FORMING, LOADING, RUNNING, PAUSED };
mtype:write = { NOTHING, TAKE, ORDER };

/* ZooKeeper: the election znodes (a bit each), /chief (its version is the epoch), /run. */
byte seats = 7;
byte epoch = 0;
byte owner = NOBODY;
mtype:phase run_phase = FORMING;
byte run_generation = 0;
bool is_current[CANDIDATES + 1];   /* /run is as this candidate, or `late`, last read it: the versions are equal. */
#define LATE CANDIDATES

/* The ps, and the last report of each: it may be older than the truth. */
byte loaded[PS];                   /* What it says it has; 0: nothing. */
byte reported_generation[PS];
bool is_known[PS];                 /* The report names the present incarnation. */

/* A write on its way whose sender has given up waiting. */
mtype:write late = NOTHING;
byte late_from = 0, late_epoch = 0, late_generation = 0;
mtype:phase late_phase = FORMING;

byte rebirths = 0, unknowns = 0;

#ifdef MUTANT_READS_BEFORE_REGISTERED
/* What /run said before: a server that lags behind may still show it to a session that has just begun. One that has
 * written something there, as its registration, is shown nothing older than that. */
mtype:phase previous_phase = FORMING;
byte previous_generation = 0;
bool is_new[PS];
#endif

/* What only the assertions see. */
byte holds[PS];                    /* What a ps has in its memory in truth. */
bool told_to_run[GENERATIONS + 1];

#define IS_FIRST(me)  ((seats & (1 << (me))) && (seats & ((1 << (me)) - 1)) == 0)

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

#ifdef MUTANT_NO_SEAT
#define HAS_SEAT(who) true
#else
#define HAS_SEAT(who) (seats & (1 << (who)))
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

/* One transaction: our seat is there, /chief is as we read it; it is ours now. */
inline take_office(who, read_epoch) {
    if
    :: HAS_SEAT(who) && epoch == read_epoch ->
        assert(IS_FIRST(who) && owner != who);          /* S1 */
        epoch = read_epoch + 1;
        owner = who
    :: else
    fi
}

inline remember_run() {
#ifdef MUTANT_READS_BEFORE_REGISTERED
    previous_phase = run_phase; previous_generation = run_generation;
#endif
    skip
}

/* One transaction: /chief is at our epoch, /run is as we read it; it says this now. */
inline give_order(who, reader, its_epoch, phase, generation) {
    if
    :: FENCE(its_epoch) && SAME_RUN(reader) ->
        assert(owner == who && epoch == its_epoch);     /* S2 */
        assert(generation >= run_generation);           /* S3 */
        assert(phase == LOADING || generation == run_generation);
        assert(phase != LOADING || generation == run_generation + 1);
        assert(phase != RUNNING || run_phase == LOADING || run_phase == PAUSED);
        remember_run();
        run_phase = phase;
        run_generation = generation;
        is_current[0] = false; is_current[1] = false; is_current[2] = false; is_current[LATE] = false;
        if
        :: phase == RUNNING -> told_to_run[generation] = true
        :: else
        fi
    :: else
    fi
}

inline decide(who, phase, generation) {
    wanted = phase; wanted_generation = generation; is_current[who] = true
}

proctype candidate(byte me)
{
    byte my_epoch = 0;      /* 0: not in office. */
    bool has_read = false;
    byte read_epoch = 0;
    mtype:phase wanted = FORMING; /* An order decided on and not yet given; FORMING: none. */
    byte wanted_generation = 0;

end_of_candidate:
    do
    /* E2, E3: nobody stands before us; whose is /chief? It is ours if our answer was lost (E1). */
    :: atomic { my_epoch == 0 && !has_read && IS_FIRST(me) ->
        if
        :: owner == me -> my_epoch = epoch
        :: else -> has_read = true; read_epoch = epoch
        fi }
    :: atomic { has_read ->
        if
        :: take_office(me, read_epoch)
        :: unknowns < UNKNOWNS && late == NOTHING ->
            unknowns++; late = TAKE; late_from = me; late_epoch = read_epoch;
#ifdef MUTANT_UNKNOWN_IS_SUCCESS
            my_epoch = read_epoch + 1
#endif
        fi;
        has_read = false; read_epoch = 0 }

    /* C3, C4, C5: read /run and the reports; what should it say? */
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

    /* C1: some time later the order. Refused by the fence, the process ends; else it looks again. */
    :: atomic { wanted != FORMING ->
        if
        :: give_order(me, me, my_epoch, wanted, wanted_generation);
           if
           :: !FENCE(my_epoch) -> my_epoch = 0; seats = seats & ~(1 << me)
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

/* What had no answer arrives; and sessions end, without a word to their process. */
proctype network()
{
end_of_network:
    do
    :: atomic { late == TAKE -> take_office(late_from, late_epoch); forget_late() }
    :: atomic { late == ORDER ->
        give_order(late_from, LATE, late_epoch, late_phase, late_generation); forget_late() }
    :: d_step { seats & 1 -> seats = seats & ~1 }
    :: d_step { seats & 2 -> seats = seats & ~2 }
    :: d_step { seats & 4 -> seats = seats & ~4 }
    od
}

proctype ps(byte me)
{
end_of_ps:
    do
    /* P1: a newer generation is loaded when /run says so, and at no other time. /run is read after registering, so
     * that it is not older than this incarnation. To act on the order later would be to act before what came in
     * between: nothing else of this process depends on it. */
    :: d_step { ORDERED_TO_LOAD && run_generation > loaded[me] ->
        assert(!told_to_run[run_generation]);           /* S5 */
        loaded[me] = run_generation; holds[me] = run_generation }
#ifdef MUTANT_READS_BEFORE_REGISTERED
    :: d_step { is_new[me] && previous_phase == LOADING && previous_generation > loaded[me] ->
        assert(!told_to_run[previous_generation]);      /* S5 */
        loaded[me] = previous_generation; holds[me] = previous_generation; is_new[me] = false }
#endif
    :: d_step { !is_known[me] || reported_generation[me] != loaded[me] ->
        is_known[me] = true; reported_generation[me] = loaded[me] }
    /* kill -9: the next incarnation finds its memory, or nothing. */
    :: atomic { rebirths < REBIRTHS && loaded[me] != 0 ->
        rebirths++; is_known[me] = false;
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
    byte generation = 0; /* Of the last "running" it has seen. It may not know that this is over. */

end_of_worker:
    do
    /* W1 */
    :: d_step { run_phase == RUNNING && generation != run_generation -> generation = run_generation }
    /* A contribution of what may be a bygone generation arrives: applied, or refused. */
    :: d_step { generation != 0 && loaded[0] == generation ->
        assert(holds[0] == generation);                 /* S4 */
        assert(told_to_run[generation]) }               /* S5 */
    :: d_step { generation != 0 && loaded[1] == generation ->
        assert(holds[1] == generation);                 /* S4 */
        assert(told_to_run[generation]) }               /* S5 */
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

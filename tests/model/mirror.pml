/*
 * tests/model/mirror.pml: training without ps, small enough to visit every state: ranges whose owners die and move,
 * workers that join and fetch values, and the count of workers before a load.
 *
 * WORKERS workers keep all values. Each may die at any moment, is started again, and joins. A session may expire while
 * its process continues. Connections break, and frames on them are lost. Slices move at whim. Views of /run and
 * /assignment are as old as they like. The chief decides on the last reports, and its write takes effect later.
 *
 * The model is small for these reasons:
 *   - A frame is a fact: its content is a function of its label (generation, step, range), so only labels are modelled,
 *     and for gradients the slices that they cover.
 *   - After each event a worker does at once all that it can do alone, as mirror/replica.c does. A computation is one
 *     step: between its beginning and its end nothing that it reads is replaced.
 *   - A connection carries one question for a range and one answer at a time; a later one waits.
 *   - A question that was refused is repeated when it would be accepted: all earlier repetitions change nothing. It may
 *     still be refused, because it travels. So the model has no endless loops, and a worker that is left waiting is a
 *     deadlock. For the same reason any fault may stay away from some moment on.
 *   - Hints (M5) are left out: they are for speed alone. So are checkpoints and evaluations: loads begin at step 0.
 *   - One chief: elections, epochs and fences are those of leadership.pml.
 *
 * Rules: docs/protocol.md C21, M1 to M4, M6 to M8, M11. Assertions, and one that is a deadlock:
 *   I18  no worker goes back within a generation, and none loses its values but by a death or another generation
 *   I19  no load is ordered while a registered worker holds values, and none becomes a holder of an older generation
 *   U1   a sum has each slice once, from values of its own step and generation: it is unique for a range and step
 *   U2   a worker takes a sum only for the step and generation of its values
 *   D1   once no fault occurs, all living workers reach the last step
 *
 * Run: ./test.sh --model. Each -D of tests/model/mutants.sh plants an error that must be found.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef RANGES
#define RANGES 1
#endif
#ifndef SLICES
#define SLICES 2
#endif
#ifndef STEPS
#define STEPS 2
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef EXPIRIES
#define EXPIRIES 0    /* Sessions that expire while their process continues. */
#endif
#ifndef LOSSES
#define LOSSES 0      /* Connections that break. */
#endif
#ifndef MOVES
#define MOVES 0       /* Changes of /assignment without a reason. */
#endif
#ifndef KEEP          /* keep_sums: 0 or 1. */
#define KEEP 1
#endif
/* BEGINS_LOADING: at the beginning all load, else all hold the values of step 0. */
#define NO_WORKER WORKERS
#define ALL_SLICES ((1 << SLICES) - 1)
#define ALL_RANGES ((1 << RANGES) - 1)
#define RANGE(w, r) ((w) * RANGES + (r))
#define WIRE(a, p, r) (((a) * WORKERS + (p)) * RANGES + (r))   /* a asks p for range r. */
#define HELD(w, r, s) (RANGE(w, r) * 2 + (s) % 2)

mtype:phase = { LOADING, RUNNING, STOPPING, PAUSED };
mtype:answer = { NO_ANSWER, SUM, GONE, REFUSED };
mtype:fetch = { NO_FETCH, ASKED, VALUES, FETCH_REFUSED };

/* ZooKeeper: /run, /assignment, members. */
#ifdef BEGINS_LOADING
mtype:phase run_phase = LOADING;
#else
mtype:phase run_phase = RUNNING;
#endif
byte run_generation = 1;
byte assigned[SLICES];               /* The worker of each slice. */
bool registered[WORKERS];

/* The chief: the last report of each worker, and an order that is decided and not yet written. */
bool reported[WORKERS], reported_holder[WORKERS], reported_end[WORKERS];
bool counted[WORKERS];               /* The report follows the present pause (M8). */
bool is_decided = false;
mtype:phase decided = PAUSED;

/* A worker. Generation 0: it has read no order. */
bool alive[WORKERS];
bool run_seen[WORKERS], assignment_seen[WORKERS];   /* Its view is the present one. */
mtype:phase phase[WORKERS];
byte generation[WORKERS], step[WORKERS], kept_from[WORKERS];
bool whole[WORKERS], loading[WORKERS], is_behind[WORKERS];
byte owned[WORKERS], done[WORKERS];  /* Slices: those of its view, and those with a gradient of `step`. */
byte have[WORKERS];                  /* Ranges whose sum of `step` has arrived. */
byte owner[WORKERS * RANGES];        /* In its view. */
byte held[WORKERS * RANGES * 2];     /* Slices of the gradients held for `step` and the next one. */
byte held_step[WORKERS * RANGES * 2], held_generation[WORKERS * RANGES * 2];    /* Read only by assertions. */
byte asked[WORKERS * RANGES], sent[WORKERS * RANGES];
bool pulled[WORKERS * RANGES], refused[WORKERS * RANGES];

/* A question on its way, an answer on its way, and whether the asker waits at the asked worker: step + 1. */
bool asks[WORKERS * WORKERS * RANGES];
byte ask_generation[WORKERS * WORKERS * RANGES], ask_step[WORKERS * WORKERS * RANGES];
byte ask_slices[WORKERS * WORKERS * RANGES];
mtype:answer answer[WORKERS * WORKERS * RANGES];
byte answer_generation[WORKERS * WORKERS * RANGES], answer_step[WORKERS * WORKERS * RANGES];
byte waits[WORKERS * WORKERS * RANGES];

/* The question of a worker for all values, or its answer. */
mtype:fetch fetch[WORKERS];
byte donor[WORKERS], fetch_generation[WORKERS], fetch_step[WORKERS];   /* In a question step + 1, 0 without values. */

byte deaths = 0, expiries = 0, losses = 0, moves = 0;
hidden byte i, j, k, n, r2;
hidden byte again;

#define IS_ACTIVE(w) (generation[w] != 0 && (phase[w] == RUNNING || STEPS_IN_STOPPING(w)))
#define TRAINS(w) (whole[w] && IS_ACTIVE(w) && step[w] < STEPS)
#define HAS(w, r) (have[w] & (1 << (r)))
#define REACHABLE(w) ((w) != NO_WORKER && alive[w])

#ifdef MUTANT_NO_STEPS_IN_STOPPING
#define STEPS_IN_STOPPING(w) false
#else
#define STEPS_IN_STOPPING(w) (phase[w] == STOPPING)
#endif
#ifdef MUTANT_VALUES_COUNT_WHILE_PAUSED
#define MAY_ADOPT(w) (generation[w] != 0)
#else
#define MAY_ADOPT(w) IS_ACTIVE(w)
#endif
#ifdef MUTANT_LOAD_COUNTS_WHILE_PAUSED
#define MAY_LOAD(w) true
#else
#define MAY_LOAD(w) (phase[w] == LOADING || IS_ACTIVE(w))
#endif
#ifdef MUTANT_OLD_REPORT_COUNTS
#define COUNTED(w) true
#else
#define COUNTED(w) counted[w]
#endif
#ifdef MUTANT_UNKNOWN_COUNTS
#define IS_KNOWN(w) true
#define IS_COUNTED(w) true
#else
#define IS_KNOWN(w) reported[w]
#define IS_COUNTED(w) COUNTED(w)
#endif
#ifdef MUTANT_SUM_OF_SOME_SLICES
#define COVERED(slices) ((slices) != 0)
#else
#define COVERED(slices) ((slices) == ALL_SLICES)
#endif
#ifdef MUTANT_ANY_SUM_COUNTS
#define IS_FOR(w, g, s) true
#else
#define IS_FOR(w, g, s) ((g) == generation[w] && (s) == step[w])
#endif
#ifdef MUTANT_LOAD_REPLACES_VALUES
#define MAY_REPLACE(w) true
#else
#define MAY_REPLACE(w) (!whole[w])
#endif
#ifdef MUTANT_ADOPTS_BACKWARDS
#define IS_FURTHER(w, s) true
#else
#define IS_FURTHER(w, s) (!whole[w] || (s) > step[w])
#endif

/* Answers that w would give to a question for (generation, step) of range r. */
#define IS_OF(w, g) (whole[w] && generation[w] == (g))
#define HAS_SUM(w, r, g, s) (IS_OF(w, g) && (s) >= kept_from[w] && ((s) < step[w] || ((s) == step[w] && HAS(w, r))))
#define IS_GONE(w, g, s) (IS_OF(w, g) && (s) < kept_from[w])
#define WOULD_HOLD(w, r, g, s) (IS_OF(w, g) && ((s) == step[w] || (s) == step[w] + 1) && owner[RANGE(w, r)] == (w))
#define WOULD_GIVE(w, g, next) (IS_OF(w, g) && step[w] + 1 > (next))

#include "mirror_worker.pml"
#include "mirror_network.pml"

proctype worker(byte w)
{
end_of_worker:
    do
    :: d_step { alive[w] && !run_seen[w] ->
        run_seen[w] = true;
        if
        :: generation[w] != run_generation -> begin_generation(w)
        :: else
        fi;
        phase[w] = run_phase;
        if
        :: run_phase == LOADING && !whole[w] -> loading[w] = true
        :: else
        fi;
        proceed(w); skip }
    :: d_step { alive[w] && !assignment_seen[w] ->
        assignment_seen[w] = true;
        read_assignment(w);
        proceed(w); skip }
    /* The ordered load ends. */
    :: d_step { alive[w] && loading[w] ->
        loading[w] = false;
        if
        :: MAY_REPLACE(w) && MAY_LOAD(w) -> become_holder(w, 0)
        :: else
        fi;
        proceed(w); skip }
    :: d_step { alive[w] && TRAINS(w) && fetch[w] == NO_FETCH && (owned[w] & ~done[w]) != 0 ->
        done[w] = done[w] | owned[w];
        proceed(w); skip }
    :: d_step { alive[w] && registered[w] &&
                (!reported[w] || reported_holder[w] != (whole[w] && generation[w] == run_generation) ||
                 reported_end[w] != (whole[w] && generation[w] == run_generation && step[w] == STEPS) ||
                 (run_phase == PAUSED && run_seen[w] && !counted[w])) ->
        reported[w] = true;
        reported_holder[w] = (whole[w] && generation[w] == run_generation);
        reported_end[w] = (whole[w] && generation[w] == run_generation && step[w] == STEPS);
        counted[w] = (run_phase == PAUSED && run_seen[w]) }
    /* A former process has ended, and its session: another one is started. */
    :: d_step { !alive[w] && !registered[w] -> alive[w] = true; registered[w] = true }
    od
}

inline forget_report(gone) {
    reported[gone] = false; reported_holder[gone] = false; reported_end[gone] = false; counted[gone] = false
}

inline write_run(new_phase) {
    run_phase = new_phase;
    i = 0;
    do
    :: i < WORKERS -> run_seen[i] = false; counted[i] = false; i++
    :: else -> break
    od
}

#if WORKERS == 2
#define ANY(what) (what(0) || what(1))
#else
#define ANY(what) (what(0) || what(1) || what(2))
#endif
#define IS_HOLDER(w) (registered[w] && reported_holder[w])
#define IS_UNKNOWN(w) (registered[w] && !IS_KNOWN(w))
#define IS_UNCOUNTED(w) (registered[w] && (!IS_KNOWN(w) || !IS_COUNTED(w)))
#define IS_AT_END(w) (IS_HOLDER(w) && reported_end[w])
#define HOLDS(w) (registered[w] && whole[w])
#define IS_REGISTERED(w) (registered[w])
#if SLICES == 1
#define ANY_SLICE(what) what(0)
#define HAS_MORE(v) false
#elif SLICES == 2
#define ANY_SLICE(what) (what(0) || what(1))
#define HAS_MORE(v) (assigned[0] == assigned[1])
#else
#define ANY_SLICE(what) (what(0) || what(1) || what(2))
#define HAS_MORE(v) (assigned[v] == assigned[((v) + 1) % SLICES] || assigned[v] == assigned[((v) + 2) % SLICES])
#endif
#define LOST(v) (assigned[v] == NO_WORKER || !IS_HOLDER(assigned[v]))
#define OWNS_NONE(w) (assigned[0] != (w) && assigned[SLICES / 2] != (w) && assigned[SLICES - 1] != (w))
#define GETS_A_SHARE(w) \
    d_step { HAS_MORE((w) % SLICES) && run_phase == RUNNING && IS_HOLDER(w) && !ANY_SLICE(LOST) && OWNS_NONE(w)

inline assignment_is_written() {
    i = 0;
    do
    :: i < WORKERS -> assignment_seen[i] = false; i++
    :: else -> break
    od
}

proctype chief()
{
end_of_chief:
    do
    /* C21: decide on an order. */
    :: d_step { !is_decided && run_phase == LOADING && ANY(IS_HOLDER) -> is_decided = true; decided = RUNNING }
    :: d_step { !is_decided && run_phase == RUNNING && ANY(IS_AT_END) -> is_decided = true; decided = STOPPING }
    :: d_step { !is_decided && (run_phase == RUNNING || run_phase == STOPPING) && !ANY(IS_UNKNOWN) && !ANY(IS_HOLDER) ->
        is_decided = true; decided = PAUSED }
    :: d_step { !is_decided && run_phase == PAUSED && !ANY(IS_UNCOUNTED) && ANY(IS_HOLDER) ->
        is_decided = true; decided = RUNNING }
    :: d_step { !is_decided && run_phase == PAUSED && !ANY(IS_UNCOUNTED) && !ANY(IS_HOLDER) && ANY(IS_REGISTERED) ->
        is_decided = true; decided = LOADING }
    /* The write takes effect. */
    :: d_step { is_decided ->
        if
        :: decided == LOADING ->
            assert(!ANY(HOLDS));                                      /* I19 */
            run_generation++;
            reported_holder[0] = false; reported_holder[1] = false;
#if WORKERS > 2
            reported_holder[2] = false;
#endif
        :: else
        fi;
        write_run(decided);
        is_decided = false; decided = PAUSED }
    /* The slices of workers that no longer hold values go to another, by one assignment: M1, C10. */
    :: atomic { (run_phase == RUNNING || run_phase == STOPPING) && ANY(IS_HOLDER) && ANY_SLICE(LOST) ->
        if
        :: IS_HOLDER(0) -> j = 0
        :: IS_HOLDER(1) -> j = 1
#if WORKERS > 2
        :: IS_HOLDER(2) -> j = 2
#endif
        fi;
        i = 0;
        do
        :: i < SLICES ->
            if
            :: LOST(i) -> assigned[i] = j
            :: else
            fi;
            i++
        :: else -> break
        od;
        assignment_is_written(); skip }
    /* A holder without slices gets one of another that has more. */
    :: GETS_A_SHARE(0) -> assigned[0 % SLICES] = 0; assignment_is_written(); skip }
    :: GETS_A_SHARE(1) -> assigned[1 % SLICES] = 1; assignment_is_written(); skip }
#if WORKERS > 2
    :: GETS_A_SHARE(2) -> assigned[2 % SLICES] = 2; assignment_is_written(); skip }
#endif
    /* M2: slices, and so ranges, move at whim. */
    :: atomic { moves < MOVES && (run_phase == RUNNING || run_phase == STOPPING) && !ANY_SLICE(LOST) ->
        moves++;
        if
        :: IS_HOLDER(0) -> j = 0
        :: IS_HOLDER(1) -> j = 1
#if WORKERS > 2
        :: IS_HOLDER(2) -> j = 2
#endif
        fi;
        if
        :: assigned[0] = j
        :: assigned[SLICES - 1] = j
        :: assigned[0] = j; assigned[SLICES - 1] = j
        fi;
        assignment_is_written(); skip }
    od
}

inline clear_worker(cleared) {
    release_values(cleared);
    generation[cleared] = 0; phase[cleared] = PAUSED; loading[cleared] = false; run_seen[cleared] = false;
    assignment_seen[cleared] = false; owned[cleared] = 0;
    clear_fetch(cleared);
    i = 0;
    do
    :: i < RANGES -> owner[RANGE(cleared, i)] = NO_WORKER; i++
    :: else -> break
    od
}

/* SIGKILL: the frames that it has sent are read, or lost. */
inline die(victim, are_read) {
    alive[victim] = false;
    n = 0;
    do
    :: n < WORKERS ->
        if
        :: n != victim -> break_connection(n, victim, are_read); break_connection(victim, n, false)
        :: else
        fi;
        n++
    :: else -> break
    od;
    clear_worker(victim)
}

proctype faults(byte w)
{
end_of_faults:
    do
    :: d_step { deaths < DEATHS && alive[w] -> deaths++; die(w, false); skip }
    :: d_step { deaths < DEATHS && alive[w] -> deaths++; die(w, true); skip }
    /* Its session is closed, or expires. */
    :: d_step { !alive[w] && registered[w] -> registered[w] = false; forget_report(w) }
#if EXPIRIES > 0
    :: d_step { expiries < EXPIRIES && alive[w] && registered[w] -> expiries++; registered[w] = false; forget_report(w) }
    /* It learns that its session has expired, and ends. */
    :: d_step { alive[w] && !registered[w] -> die(w, true); skip }
#endif
#if LOSSES > 0
    :: d_step { losses < LOSSES && alive[w] && alive[(w + 1) % WORKERS] ->
        losses++; break_connection(w, (w + 1) % WORKERS, false); skip }
#if WORKERS > 2
    :: d_step { losses < LOSSES && alive[w] && alive[(w + 2) % WORKERS] ->
        losses++; break_connection(w, (w + 2) % WORKERS, false); skip }
#endif
#endif
    od
}

#define HAS_ENDED(w) (alive[w] && registered[w] && whole[w] && step[w] == STEPS && generation[w] == run_generation)

/* D1: from some moment on no fault occurs. This process ends only in the right state. */
proctype end_of_run()
{
    d_step { deaths = DEATHS; expiries = EXPIRIES; losses = LOSSES; moves = MOVES };
    HAS_ENDED(0) && HAS_ENDED(1) && HAS_ENDED(WORKERS - 1)
}

init {
    atomic {
        i = 0;
        do
        :: i < WORKERS ->
            alive[i] = true; registered[i] = true; fetch[i] = NO_FETCH; run_seen[i] = true; generation[i] = 1;
            phase[i] = run_phase;
#ifdef BEGINS_LOADING
            loading[i] = true;
#else
            reported[i] = true; reported_holder[i] = true; whole[i] = true;
#endif
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < WORKERS * RANGES -> asked[i] = NO_WORKER; owner[i] = NO_WORKER; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < WORKERS * WORKERS * RANGES -> answer[i] = NO_ANSWER; i++
        :: else -> break
        od;
        i = 0;
        do
#ifdef BEGINS_LOADING
        :: i < SLICES -> assigned[i] = NO_WORKER; i++
#else
        :: i < SLICES -> assigned[i] = i % WORKERS; i++
#endif
        :: else -> break
        od;
        read_assignment(0); assignment_seen[0] = true;
        read_assignment(1); assignment_seen[1] = true;
#if WORKERS > 2
        read_assignment(2); assignment_seen[2] = true;
#endif
        j = 0;
        do
        :: j < WORKERS ->
            run worker(j); run faults(j);
            k = 0;
            do
            :: k < WORKERS && k != j ->
                run transfer(j, k);
                n = 0;
                do
                :: n < RANGES -> run connection(j, k, n); n++
                :: else -> break
                od;
                k++
            :: k == j -> k++
            :: else -> break
            od;
            j++
        :: else -> break
        od;
        run chief();
        run end_of_run()
    }
}

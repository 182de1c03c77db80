/*
 * tests/model/office.pml: election, office, fenced orders and generations, small enough to exhaust.
 *
 * Three candidates (one of them may be a zombie at any time), two ps, two workers; any request may lose its answer
 * (applied or not: the candidate cannot tell), any session may expire while its process goes on unknowing, any ps may
 * be reborn empty. ZooKeeper is one atomic store: what its own protocol guarantees is not our question.
 *
 * Rules (docs/protocol.md): E1-E4, C1, C4, C5, P1, W1. Safety, as assertions:
 *   S1  an epoch is taken once, and epochs only grow
 *   S2  every effective order comes from the holder of the newest epoch
 *   S3  the generation of /run only grows, and "running g" follows "loading g" only
 *   S4  a step is applied on a ps only in the generation that this incarnation loaded
 *   S5  when a worker has a step applied by both ps, both are of the same generation, and that one was told to run
 *
 * Run: ./test.sh --model
 */
#ifndef EPOCHS
#define EPOCHS 2      /* Elections. */
#endif
#ifndef GENERATIONS
#define GENERATIONS 2 /* Restores. */
#endif
#ifndef REBIRTHS
#define REBIRTHS 1    /* Of ps. */
#endif
#ifndef UNKNOWNS
#define UNKNOWNS 1    /* Answers lost. */
#endif
#define CANDIDATES 3
#define PS 2
#define WORKERS 2
#define NOBODY 7

mtype:phase = { FORMING, LOADING, RUNNING };

/* ZooKeeper. */
byte epoch = 0;                 /* /chief: its data ... */
byte owner = NOBODY;            /* ... and who wrote it; its version is the epoch here. */
mtype:phase run_phase = FORMING;
byte run_generation = 0;
byte run_version = 0;
bool seated[CANDIDATES];        /* An election znode of a living session. */
byte seat_number[CANDIDATES];   /* Its sequence number. */
byte next_number = 1;

/* The ps: what this incarnation has loaded (0: nothing). A report may be older than the truth: it names its incarnation. */
byte incarnation[PS];
byte loaded[PS];
byte reported_incarnation[PS];
byte reported_generation[PS];

byte rebirths = 0;
byte unknowns = 0;
bool told_to_run[GENERATIONS + 2];

inline first_in_line(me, result) {
    result = seated[me];
    if
    :: seated[me] ->
        if
        :: (me != 0 && seated[0] && seat_number[0] < seat_number[me]) ||
           (me != 1 && seated[1] && seat_number[1] < seat_number[me]) ||
           (me != 2 && seated[2] && seat_number[2] < seat_number[me]) -> result = false
        :: else -> skip
        fi
    :: else -> skip
    fi
}

/* Take office: one transaction: our seat exists, /chief is at the version we read. */
inline take_office(me, read_epoch, mine) {
    if
    :: seated[me] && epoch == read_epoch ->
        assert(read_epoch + 1 > epoch);                 /* S1 */
        epoch = read_epoch + 1;
        owner = me;
        mine = read_epoch + 1
    :: else -> mine = 0
    fi
}

/* A fenced order: /chief is at our epoch, /run at the version we read. */
inline order(me, my_epoch, seen_version, new_phase, new_generation, applied) {
    if
    :: epoch == my_epoch && run_version == seen_version ->
        assert(owner == me);                            /* S2 */
        assert(new_generation >= run_generation);       /* S3 */
        assert(new_phase != RUNNING || run_phase == LOADING && new_generation == run_generation);
        run_phase = new_phase;
        run_generation = new_generation;
        run_version++;
        if
        :: new_phase == RUNNING -> told_to_run[new_generation] = true
        :: else -> skip
        fi;
        applied = true
    :: else -> applied = false
    fi
}

proctype candidate(byte me)
{
    byte my_epoch = 0;      /* 0: not in office. */
    byte read_epoch, seen_version, seen_generation;
    mtype:phase seen_phase;
    bool first, applied;
    bool knows_run = false;

end_of_candidate:
    do
    :: my_epoch == 0 && !seated[me] && next_number < 5 -> /* Join; found again by GUID if the answer is lost. */
        atomic { seated[me] = true; seat_number[me] = next_number; next_number++ }

    :: my_epoch == 0 && seated[me] && epoch < EPOCHS -> /* A listing may be old by the time it is acted on. */
        atomic { first_in_line(me, first); read_epoch = epoch };
        if
        :: first ->
            atomic {
                take_office(me, read_epoch, my_epoch);
                if
                :: my_epoch != 0 && unknowns < UNKNOWNS -> unknowns++; my_epoch = 0 /* Answer lost. */
                :: skip
                fi
            };
            atomic {
                if
                :: my_epoch == 0 && owner == me && seated[me] -> my_epoch = epoch
                :: else -> skip
                fi;
                first = false; read_epoch = 0
            }
        :: else -> read_epoch = 0
        fi

    :: my_epoch != 0 && !knows_run -> /* Read /run; if /chief is another's, leave (a new process joins later). */
        atomic {
            if
            :: epoch != my_epoch -> my_epoch = 0; seated[me] = false
            :: else ->
                seen_phase = run_phase; seen_generation = run_generation; seen_version = run_version;
                knows_run = true
            fi
        }

    :: my_epoch != 0 && knows_run ->
        /* What should /run say, by the reports of present incarnations? Then the order, some time later. */
        if
        :: seen_phase == FORMING && seen_generation < GENERATIONS ->
            seen_phase = LOADING; seen_generation++
        :: seen_phase != FORMING && seen_generation < GENERATIONS &&
           (reported_incarnation[0] == incarnation[0] && reported_incarnation[1] == incarnation[1]) &&
           (seen_phase == RUNNING && (reported_generation[0] != seen_generation ||
                                      reported_generation[1] != seen_generation)) ->
            seen_phase = LOADING; seen_generation++
        :: seen_phase == LOADING &&
           (reported_incarnation[0] == incarnation[0] && reported_generation[0] == seen_generation) &&
           (reported_incarnation[1] == incarnation[1] && reported_generation[1] == seen_generation) ->
            seen_phase = RUNNING
        :: else -> goto nothing_to_do
        fi;
        atomic {
            order(me, my_epoch, seen_version, seen_phase, seen_generation, applied);
            /* Refused, unknown or done: read again. What is forgotten makes no states. */
            knows_run = false; seen_phase = FORMING; seen_generation = 0; seen_version = 0; applied = false;
            if
            :: epoch != my_epoch -> my_epoch = 0; seated[me] = false
            :: else -> skip
            fi
        };
nothing_to_do:
        atomic { knows_run = false; seen_phase = FORMING; seen_generation = 0; seen_version = 0 }
    od
}

/* Sessions end at any moment; their process is not told. */
proctype expiry()
{
    byte left = 2;
end_of_expiry:
    do
    :: left > 0 ->
        left--;
        if
        :: seated[0] -> seated[0] = false
        :: seated[1] -> seated[1] = false
        :: seated[2] -> seated[2] = false
        fi
    od
}

proctype ps(byte me)
{
    byte ordered;
end_of_ps:
    do
    :: run_phase == LOADING && run_generation > loaded[me] -> /* A watch: the order may be overtaken meanwhile. */
        ordered = run_generation;
        atomic { if :: ordered > loaded[me] -> loaded[me] = ordered :: else -> skip fi; ordered = 0 }
    :: reported_incarnation[me] != incarnation[me] || reported_generation[me] != loaded[me] ->
        atomic { reported_incarnation[me] = incarnation[me]; reported_generation[me] = loaded[me] }
    :: rebirths < REBIRTHS && loaded[me] != 0 -> /* kill -9, and born again with nothing. */
        atomic { rebirths++; incarnation[me]++; loaded[me] = 0; ordered = 0 }
    od
}

proctype worker()
{
    byte generation, applied_at_0, applied_at_1;
end_of_worker:
    do
    :: run_phase == RUNNING && run_generation != generation ->
        atomic { if :: run_phase == RUNNING -> generation = run_generation :: else -> skip fi }
    :: generation != 0 ->
        applied_at_0 = 0; applied_at_1 = 0;
        atomic { if :: loaded[0] == generation -> applied_at_0 = loaded[0] :: else -> skip fi }; /* Else refused. */
        atomic { if :: loaded[1] == generation -> applied_at_1 = loaded[1] :: else -> skip fi };
        if
        :: applied_at_0 != 0 && applied_at_1 != 0 ->
            assert(applied_at_0 == applied_at_1);       /* S4, S5 */
            assert(told_to_run[applied_at_0])
        :: else -> skip
        fi;
        generation = 0
    od
}

init {
    atomic {
        incarnation[0] = 1; incarnation[1] = 1;
        run candidate(0); run candidate(1); run candidate(2);
        run expiry();
        run ps(0); run ps(1);
        run worker(); run worker()
    }
}

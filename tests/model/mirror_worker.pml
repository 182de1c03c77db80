/*
 * tests/model/mirror_worker.pml: the rules of a worker, for mirror.pml: gradients, sums, steps, values, owners of ranges.
 */
inline say(asker, giver, its_range, kind, its_generation, its_step) {
    answer[WIRE(asker, giver, its_range)] = kind; answer_generation[WIRE(asker, giver, its_range)] = its_generation;
    answer_step[WIRE(asker, giver, its_range)] = its_step
}

inline clear_wire(from, to, asked_range) {
    asks[WIRE(from, to, asked_range)] = false; ask_generation[WIRE(from, to, asked_range)] = 0;
    ask_step[WIRE(from, to, asked_range)] = 0; ask_slices[WIRE(from, to, asked_range)] = 0
}

inline clear_held(keeper, kept_range, kept_step) {
    held[HELD(keeper, kept_range, kept_step)] = 0; held_step[HELD(keeper, kept_range, kept_step)] = 0;
    held_generation[HELD(keeper, kept_range, kept_step)] = 0
}

inline clear_fetch(fetcher) {
    fetch[fetcher] = NO_FETCH; donor[fetcher] = 0; fetch_generation[fetcher] = 0; fetch_step[fetcher] = 0
}

/* Gradients are kept for a step of this generation. */
inline hold(holder, held_range, at_step, slices) {
    if
    :: held[HELD(holder, held_range, at_step)] == 0 ->
        held_step[HELD(holder, held_range, at_step)] = at_step;
        held_generation[HELD(holder, held_range, at_step)] = generation[holder]
    :: else
    fi;
    held[HELD(holder, held_range, at_step)] = held[HELD(holder, held_range, at_step)] | (slices);
    assert(held_step[HELD(holder, held_range, at_step)] == at_step);                       /* U1 */
    assert(held_generation[HELD(holder, held_range, at_step)] == generation[holder])       /* U1 */
}

inline forget_asks(who, which) {
    asked[RANGE(who, which)] = NO_WORKER; sent[RANGE(who, which)] = 0; pulled[RANGE(who, which)] = false;
    refused[RANGE(who, which)] = false
}

inline forget_step(stepper) {
    done[stepper] = 0; have[stepper] = 0; is_behind[stepper] = false;
    i = 0;
    do
    :: i < RANGES -> forget_asks(stepper, i); i++
    :: else -> break
    od
}

/* The sum of the present step has arrived: it is sent to those that wait for it. A refusal on its way answers a later
 * question of the same worker, which no longer waits for this sum, or asks again. */
inline answer_waiters(answerer, answered) {
    k = 0;
    do
    :: k < WORKERS ->
        if
        :: waits[WIRE(k, answerer, answered)] == step[answerer] + 1 ->
            waits[WIRE(k, answerer, answered)] = 0;
            if
            :: answer[WIRE(k, answerer, answered)] == NO_ANSWER || answer[WIRE(k, answerer, answered)] == SUM ->
                say(k, answerer, answered, SUM, generation[answerer], step[answerer])
            :: else
            fi
        :: else
        fi;
        k++
    :: else -> break
    od
}

/* All that a worker does alone: hold its own gradients, make sums, apply steps. */
inline proceed(me) {
    again = whole[me];
    do
    :: again ->
        again = false; r2 = 0;
        do
        :: r2 < RANGES ->
            if
            :: TRAINS(me) && !HAS(me, r2) && owner[RANGE(me, r2)] == me && done[me] != 0 ->
                hold(me, r2, step[me], done[me])
            :: else
            fi;
            if
            :: !HAS(me, r2) && COVERED(held[HELD(me, r2, step[me])]) ->
                assert(held[HELD(me, r2, step[me])] == ALL_SLICES);                /* U1 */
                assert(held_step[HELD(me, r2, step[me])] == step[me]);             /* U1 */
                assert(held_generation[HELD(me, r2, step[me])] == generation[me]);   /* U1 */
                have[me] = have[me] | (1 << r2);
                answer_waiters(me, r2)
            :: else
            fi;
            r2++
        :: else -> break
        od;
        if
        :: have[me] == ALL_RANGES && step[me] < STEPS ->
            r2 = 0;
            do
            :: r2 < RANGES ->
#ifndef MUTANT_HELD_STAYS
                clear_held(me, r2, step[me]);
#endif
                r2++
            :: else -> break
            od;
            step[me]++;
            if
            :: step[me] - kept_from[me] > KEEP -> kept_from[me] = step[me] - KEEP
            :: else
            fi;
            forget_step(me);
            again = true
        :: else
        fi
    :: else -> break
    od
}

/* A worker gets values: it loaded them, or a peer gave them. */
inline become_holder(becoming, new_step) {
    assert(!whole[becoming] || new_step > step[becoming]);                                 /* I18 */
    assert(!registered[becoming] || generation[becoming] == run_generation);         /* I19 */
    whole[becoming] = true; step[becoming] = new_step; kept_from[becoming] = new_step
}

inline release_values(loser) {
    assert(!whole[loser] || !alive[loser] || generation[loser] != run_generation);       /* I18 */
    whole[loser] = false; step[loser] = 0; kept_from[loser] = 0;
    forget_step(loser);
    i = 0;
    do
    :: i < RANGES ->
        clear_held(loser, i, 0); clear_held(loser, i, 1);
        k = 0;
        do
        :: k < WORKERS ->
            if
            :: waits[WIRE(k, loser, i)] != 0 -> say(k, loser, i, REFUSED, generation[loser], 0)
            :: else
            fi;
            waits[WIRE(k, loser, i)] = 0;
            k++
        :: else -> break
        od;
        i++
    :: else -> break
    od
}

inline begin_generation(beginner) {
    release_values(beginner);
    generation[beginner] = run_generation;
    loading[beginner] = false;
    clear_fetch(beginner)
}

/* The values of step s replace its own: M7. Gradients held for a step that is not over stay. */
inline adopt(adopter, adopted) {
    n = (whole[adopter] && adopted == step[adopter] + 1 -> 1 : 0);
    i = 0;
    do
    :: i < RANGES ->
        if
        :: n == 0 -> clear_held(adopter, i, adopted)
        :: else
        fi;
        clear_held(adopter, i, adopted + 1);
        i++
    :: else -> break
    od;
    become_holder(adopter, adopted);
    forget_step(adopter);
    i = 0;
    do
    :: i < RANGES ->
        k = 0;
        do
        :: k < WORKERS ->
            if
            :: waits[WIRE(k, adopter, i)] != 0 && waits[WIRE(k, adopter, i)] <= adopted ->
#ifndef MUTANT_WAITERS_ARE_FORGOTTEN
                say(k, adopter, i, GONE, generation[adopter], adopted);
#endif
                waits[WIRE(k, adopter, i)] = 0
            :: else
            fi;
            k++
        :: else -> break
        od;
        i++
    :: else -> break
    od
}

/* M2: the owners follow from the owners of slices (mirror/ranges.c). */
inline read_assignment(reader) {
    owned[reader] = 0; n = 0; i = 0;       /* n: the workers with slices, a bit for each. */
    do
    :: i < SLICES ->
        if
        :: assigned[i] != NO_WORKER -> n = n | (1 << assigned[i])
        :: else
        fi;
        if
        :: assigned[i] == reader -> owned[reader] = owned[reader] | (1 << i)
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0; k = 0;
    do
    :: i < RANGES && n == 0 -> owner[RANGE(reader, i)] = NO_WORKER; i++
    :: i < RANGES && n != 0 ->
        do      /* The next worker with slices, in turn. */
        :: (n & (1 << k)) != 0 -> break
        :: else -> k = (k + 1) % WORKERS
        od;
#ifdef MUTANT_DROPS_WHEN_IT_MOVES
        j = ((n & (1 << i)) != 0 && i < WORKERS -> i : k);
        if
        :: owner[RANGE(reader, i)] == reader && j != reader -> clear_held(reader, i, 0); clear_held(reader, i, 1)
        :: else
        fi;
#endif
        owner[RANGE(reader, i)] = ((n & (1 << i)) != 0 && i < WORKERS -> i : k);
        k = (k + 1) % WORKERS; i++
    :: else -> break
    od
}

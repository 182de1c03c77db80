/*
 * tests/model/mirror_network.pml: connections between workers, for mirror.pml: questions for sums and for all values.
 */
/* The connection on which a asks p breaks. Answers that are complete may still be read. */
inline break_connection(one, other, may_read) {
    j = 0;
    do
    :: j < RANGES ->
        clear_wire(one, other, j); waits[WIRE(one, other, j)] = 0;
        if
        :: may_read && answer[WIRE(one, other, j)] == SUM
        :: else -> say(one, other, j, NO_ANSWER, 0, 0)
        fi;
#ifndef MUTANT_NOT_ASKED_AGAIN
        if
        :: asked[RANGE(one, j)] == other -> forget_asks(one, j)
        :: else
        fi;
#endif
        j++
    :: else -> break
    od;
    if
    :: fetch[one] == NO_FETCH -> is_behind[one] = false
    :: fetch[one] != NO_FETCH && donor[one] == other && !(may_read && fetch[one] == VALUES) ->
        clear_fetch(one); is_behind[one] = false
    :: else
    fi
}

/* The connection on which a asks p. */
proctype connection(byte a; byte p; byte r)
{
end_of_connection:
    do
    /* M3: the gradients that the owner lacks, or the question alone. */
    :: d_step { TRAINS(a) && !HAS(a, r) && owner[RANGE(a, r)] == p && alive[p] && !asks[WIRE(a, p, r)] &&
                ((owned[a] & ~done[a]) == 0 || (fetch[a] != NO_FETCH && done[a] != 0)) &&
                (!refused[RANGE(a, r)] || WOULD_HOLD(p, r, generation[a], step[a]) ||
                 HAS_SUM(p, r, generation[a], step[a]) || IS_GONE(p, generation[a], step[a])) &&
                (asked[RANGE(a, r)] != p || (done[a] & ~sent[RANGE(a, r)]) != 0 ||
                 (done[a] == 0 && !pulled[RANGE(a, r)])) ->
        if
        :: asked[RANGE(a, r)] != p -> sent[RANGE(a, r)] = 0
        :: else
        fi;
        asks[WIRE(a, p, r)] = true; ask_generation[WIRE(a, p, r)] = generation[a]; ask_step[WIRE(a, p, r)] = step[a];
        ask_slices[WIRE(a, p, r)] = done[a] & ~sent[RANGE(a, r)];
        asked[RANGE(a, r)] = p; sent[RANGE(a, r)] = done[a]; pulled[RANGE(a, r)] = true; refused[RANGE(a, r)] = false }
#ifndef MUTANT_NO_ASKING_AROUND
    /* M6 */
    :: d_step { TRAINS(a) && !HAS(a, r) && owner[RANGE(a, r)] == a && alive[p] && !asks[WIRE(a, p, r)] &&
                answer[WIRE(a, p, r)] == NO_ANSWER &&
                (HAS_SUM(p, r, generation[a], step[a]) || IS_GONE(p, generation[a], step[a])) ->
        asks[WIRE(a, p, r)] = true; ask_generation[WIRE(a, p, r)] = generation[a]; ask_step[WIRE(a, p, r)] = step[a] }
#endif
    /* The question arrives. */
    :: d_step { asks[WIRE(a, p, r)] && answer[WIRE(a, p, r)] == NO_ANSWER ->
        if
        :: HAS_SUM(p, r, ask_generation[WIRE(a, p, r)], ask_step[WIRE(a, p, r)]) ->
            say(a, p, r, SUM, generation[p], ask_step[WIRE(a, p, r)])
        :: IS_GONE(p, ask_generation[WIRE(a, p, r)], ask_step[WIRE(a, p, r)]) ->
            say(a, p, r, GONE, generation[p], step[p])
#ifdef MUTANT_EARLY_IS_IGNORED
        :: WOULD_HOLD(p, r, ask_generation[WIRE(a, p, r)], ask_step[WIRE(a, p, r)]) &&
           ask_step[WIRE(a, p, r)] == step[p] + 1
        :: WOULD_HOLD(p, r, ask_generation[WIRE(a, p, r)], ask_step[WIRE(a, p, r)]) &&
           ask_step[WIRE(a, p, r)] == step[p] && !HAS(p, r) ->
#else
        :: WOULD_HOLD(p, r, ask_generation[WIRE(a, p, r)], ask_step[WIRE(a, p, r)]) &&
           !(ask_step[WIRE(a, p, r)] == step[p] && HAS(p, r)) ->
#endif
            waits[WIRE(a, p, r)] = ask_step[WIRE(a, p, r)] + 1;
            if
            :: ask_slices[WIRE(a, p, r)] != 0 -> hold(p, r, ask_step[WIRE(a, p, r)], ask_slices[WIRE(a, p, r)])
            :: else
            fi;
            proceed(p)
        :: else -> say(a, p, r, REFUSED, generation[p], step[p])
        fi;
        clear_wire(a, p, r) }
    /* The answer arrives. */
    :: d_step { answer[WIRE(a, p, r)] != NO_ANSWER ->
        if
        :: answer[WIRE(a, p, r)] == SUM && whole[a] && !HAS(a, r) &&
           IS_FOR(a, answer_generation[WIRE(a, p, r)], answer_step[WIRE(a, p, r)]) ->
            assert(answer_generation[WIRE(a, p, r)] == generation[a] && answer_step[WIRE(a, p, r)] == step[a]); /* U2 */
            have[a] = have[a] | (1 << r);
            answer_waiters(a, r);
            proceed(a)
        :: answer[WIRE(a, p, r)] == GONE || answer[WIRE(a, p, r)] == REFUSED ->
            if
            :: asked[RANGE(a, r)] == p -> forget_asks(a, r); refused[RANGE(a, r)] = true
            :: else
            fi;
            if
            :: answer[WIRE(a, p, r)] == GONE && whole[a] && answer_generation[WIRE(a, p, r)] == generation[a] &&
               answer_step[WIRE(a, p, r)] > step[a] ->
#ifdef MUTANT_GONE_EMPTIES
                release_values(a);
#endif
                is_behind[a] = true
            :: else
            fi
        :: else
        fi;
        say(a, p, r, NO_ANSWER, 0, 0) }
    od
}

/* Worker a asks p for all values: M7. */
proctype transfer(byte a; byte p)
{
end_of_transfer:
    do
    :: d_step { alive[a] && IS_ACTIVE(a) && fetch[a] == NO_FETCH && (!whole[a] || is_behind[a]) && alive[p] &&
                WOULD_GIVE(p, generation[a], (whole[a] -> step[a] + 1 : 0)) ->
        fetch[a] = ASKED; donor[a] = p; fetch_generation[a] = generation[a];
        fetch_step[a] = (whole[a] -> step[a] + 1 : 0) }
    :: d_step { fetch[a] == ASKED && donor[a] == p ->
        if
        :: WOULD_GIVE(p, fetch_generation[a], fetch_step[a]) -> fetch[a] = VALUES; fetch_step[a] = step[p]
        :: else -> fetch[a] = FETCH_REFUSED; fetch_step[a] = 0
        fi }
    :: d_step { fetch[a] == VALUES && donor[a] == p ->
        if
        :: fetch_generation[a] == generation[a] && MAY_ADOPT(a) && IS_FURTHER(a, fetch_step[a]) ->
            adopt(a, fetch_step[a]);
            clear_fetch(a);
            proceed(a)
        :: else -> clear_fetch(a)
        fi;
        skip }
    :: d_step { fetch[a] == FETCH_REFUSED && donor[a] == p -> clear_fetch(a) }
    od
}

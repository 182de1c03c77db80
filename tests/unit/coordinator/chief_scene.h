/*
 * A chief on a stage: the test tells what happens, and checks what the chief writes as one line of
 * text, e.g. "running g1 from 0@0 until 100 save 1@20 eval 50 +running" ("+": history entries).
 */
#ifndef TESTS_CHIEF_SCENE_H
#define TESTS_CHIEF_SCENE_H

#include <stdio.h>
#include <string.h>

#include "coordinator/chief.h"
#include "tanist/status.h"

static struct chief chief;
static struct chief_actions actions;
static struct chief_config config;
static uint64_t now_ms;
static char line[1024];
static struct report reports[2][2]; /* Of ps 0 and 1, workers 0 and 1. */

static inline void append(const char *format, unsigned long long a, unsigned long long b)
{
    size_t used = strlen(line);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(line + used, sizeof line - used, format, a, b);
#pragma GCC diagnostic pop
}

/* What is asked for now, as text. */
static inline const char *said(void)
{
    line[0] = '\0';
    if (actions.raise_epoch != 0) { append("raise to %llu", actions.raise_epoch, 0); }
    if (actions.exits) { append("exit %llu", (unsigned)actions.exit_code, 0); }
    if (actions.resign) { append("resign", 0, 0); }
    for (uint32_t i = 0; i < actions.delete_count; i++) {
        append("delete %llu ", actions.deletes[i], 0);
    }
    const struct chief_write *w = actions.write;
    if (w == NULL) { return line; }
    const struct run *run = &w->run;
    size_t used = strlen(line);
    snprintf(line + used, sizeof line - used, "%s", run_phase_name(run->phase));
    if (run->generation != 0) { append(" g%llu", run->generation, 0); }
    if (run->generation != 0) { append(" from %llu@%llu", run->load_checkpoint, run->load_step); }
    if (run->until != 0) { append(run->ending ? " until %llu" : " gate %llu", run->until, 0); }
    if (run->save_checkpoint != 0) {
        append(" save %llu@%llu", run->save_checkpoint, run->save_step);
    }
    if (run->evaluate_step != STEP_NONE) { append(" eval %llu", run->evaluate_step, 0); }
    if (w->commits) { append(" commit %llu@%llu", w->manifest.id, w->manifest.step); }
    if (w->answers) { append(" -request %llu", w->request, 0); }
    for (uint32_t i = 0; i < w->history_count; i++) {
        used = strlen(line);
        snprintf(line + used, sizeof line - used, " +%s", history_kind_name(w->history[i].kind));
    }
    return line;
}

static inline void show(struct chief_event event)
{
    event.now_ms = now_ms;
    event.wall_ms = 5000000 + now_ms;
    chief_step(&chief, &event, &actions);
}

/* Let time pass; ticks come when the chief wants them. */
static inline void pass(uint64_t milliseconds)
{
    now_ms += milliseconds;
    show((struct chief_event){.type = CHIEF_EV_TICK});
}

static inline void answer(enum chief_outcome outcome, const struct run *run)
{
    uint64_t op = actions.write != NULL ? actions.write->op : actions.raise_op;
    if (op == 0) { op = chief.op; }
    show((struct chief_event){.type = CHIEF_EV_WRITTEN,
                              .written = {.op = op, .outcome = outcome, .run = run}});
}

static inline void written(void)
{
    answer(CHIEF_WRITE_OK, NULL);
}

static inline void member(enum role role, uint32_t index, uint64_t incarnation, const char *cause)
{
    struct report *report = &reports[role == ROLE_WORKER][index];
    if (incarnation != report->incarnation) {
        *report = (struct report){
            .task = {role, index}, .incarnation = incarnation, .evaluation = {.step = STEP_NONE}};
    }
    show((struct chief_event){.type = CHIEF_EV_MEMBER,
                              .member = {.task = {role, index},
                                         .present = incarnation != 0,
                                         .incarnation = incarnation,
                                         .cause = cause}});
}

/* The report in `reports` again, with whatever the test changed in it. */
static inline void report(enum role role, uint32_t index)
{
    struct report *it = &reports[role == ROLE_WORKER][index];
    it->sequence++;
    show((struct chief_event){.type = CHIEF_EV_REPORT, .report = it});
}

static inline void ps_at(uint32_t index, uint64_t generation, uint64_t step)
{
    reports[0][index].generation = generation;
    reports[0][index].step = step;
    report(ROLE_PS, index);
}

static inline void ps_saved(uint32_t index, uint64_t checkpoint, uint64_t step)
{
    reports[0][index].saved_checkpoint = checkpoint;
    reports[0][index].saved_step = step;
    reports[0][index].saved_bytes = 64;
    report(ROLE_PS, index);
}

static inline void evaluated(uint64_t generation, uint64_t step, double accuracy)
{
    reports[1][0].generation = generation;
    reports[1][0].evaluation = (struct evaluation){.step = step, .accuracy = accuracy};
    report(ROLE_WORKER, 0);
}

static inline void worker_ready(uint32_t index)
{
    reports[1][index].ready = 1;
    report(ROLE_WORKER, index);
}

static inline void office(uint64_t epoch, const struct run *run,
                          const struct assignment *assignment,
                          const struct chief_checkpoint *checkpoints, uint32_t count)
{
    show((struct chief_event){.type = CHIEF_EV_OFFICE,
                              .office = {.epoch = epoch,
                                         .took_ms = 7,
                                         .cause = "first chief",
                                         .has_run = run != NULL,
                                         .run = run,
                                         .has_assignment = assignment != NULL,
                                         .assignment = assignment,
                                         .checkpoints = checkpoints,
                                         .checkpoint_count = count}});
}

static inline void request(uint64_t id, enum request_kind kind)
{
    show((struct chief_event){.type = CHIEF_EV_REQUEST,
                              .request = {.id = id, .kind = kind, .by = "operator"}});
}

/* Two ps, one worker (of one slice each two), 100 steps; the test changes `config` and begins. */
static inline void begin(void)
{
    now_ms = 10000;
    memset(reports, 0, sizeof reports);
    chief_init(&chief, &config);
}

static inline void configure(void)
{
    config = (struct chief_config){.self = {ROLE_COORDINATOR, 0},
                                   .ps = 2,
                                   .workers = 2,
                                   .min_workers = 1,
                                   .slices = 4,
                                   .steps = 100,
                                   .checkpoint_keep = 2,
                                   .manifest = {.parameter_count = 64}};
}

/* Soft things have waited long enough. */
static inline void settle(void)
{
    pass(CHIEF_SOFT_MS);
}

/* Everybody is there, loaded and running generation 1 at step 0; nothing is under way. */
static inline void begin_running(void)
{
    begin();
    office(1, NULL, NULL, NULL, 0);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        report(ROLE_PS, i);
    }
    member(ROLE_WORKER, 0, 20, NULL);
    worker_ready(0);
    while (chief.run.phase != RUN_RUNNING) {
        if (actions.write != NULL) {
            written();
        } else if (chief.writing) {
            answer(CHIEF_WRITE_OK, NULL);
        } else if (chief.run.phase == RUN_LOADING && reports[0][1].generation == 0) {
            ps_at(0, 1, 0);
            ps_at(1, 1, 0);
        } else {
            settle();
        }
    }
    for (int i = 0; i < 10; i++) {
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
        if (!chief.writing) { settle(); }
    }
}

#endif

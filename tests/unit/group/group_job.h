/* tests/unit/group/group_job.h: a job whose model two members of a group compute. */
#ifndef TESTS_UNIT_GROUP_GROUP_JOB_H
#define TESTS_UNIT_GROUP_GROUP_JOB_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/dataset.h"
#include "model/model.h"

enum { MEMBERS = 2 };

static inline void group_job_set(struct job *job, const char *assignment)
{
    struct error error;
    if (job_set(job, assignment, &error) != TN_OK) { fail_msg("%s: %s", assignment, error.text); }
}

static inline void group_job_init(struct job *job)
{
    static const char *const settings[] = {
        "model.type=layers",
        "model.inputs=6",
        "model.outputs=3",
        "model.layers=[{\"dense\": {\"units\": 7, \"activation\": \"tanh\"}, \"task\": 0}, "
        "{\"dense\": {\"units\": 5, \"activation\": \"relu\"}, \"task\": 1}, "
        "{\"dense\": {\"units\": 4}, \"task\": 0}, {\"dense\": {\"units\": 3}, \"task\": 1}]",
        "data.type=synthetic",
        "data.examples=100",
        "data.test_examples=23",
        "train.batch=20",
        "train.slices=6",
        "strategy.type=group",
        "strategy.members=2",
        "placement.strategy=greedy",
        "cluster.workers=2",
        "cluster.ps=3",
    };
    job_init(job);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        group_job_set(job, settings[i]);
    }
}

static inline struct model *group_job_model(const struct job *job)
{
    struct model *model = NULL;
    struct error error;
    if (model_open(job, &model, &error) != TN_OK) { fail_msg("%s", error.text); }
    return model;
}

#endif

/*
 * common/cluster/job.h: what to train and with which cluster: the job file, after defaults, file,
 * environment and flags. Keys are documented in docs/job-file.md, which the table in job.c
 * generates the reference part of.
 *
 * Precedence: flag > environment > file > default. Threads: a job is plain data.
 */
#ifndef COMMON_CLUSTER_JOB_H
#define COMMON_CLUSTER_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/znodes.h"

enum { JOB_PATH_MAX = 256, JOB_HIDDEN_MAX = 8, JOB_FILE_MAX = 1 << 20 };

enum train_mode { TRAIN_SYNC, TRAIN_ASYNC };
enum chief_failure_policy { CHIEF_FAILURE_CONTINUE, CHIEF_FAILURE_RESTORE };
enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM };

#define STALENESS_FREE UINT64_MAX

struct job {
    char name[CLUSTER_NAME_MAX]; /* Also the cluster's name. */
    uint64_t seed;
    struct {
        char type[32]; /* "mlp", "softmax", "linear" */
        uint32_t inputs, outputs;
        uint32_t hidden_count;
        uint32_t hidden[JOB_HIDDEN_MAX];
    } model;
    struct {
        char type[32]; /* "idx", "synthetic" */
        char path[JOB_PATH_MAX];
        uint32_t examples, test_examples; /* synthetic */
        double noise;                     /* synthetic */
    } data;
    struct {
        enum train_mode mode;
        uint64_t steps;
        uint32_t batch;  /* Global. */
        uint32_t slices; /* V */
        enum optimizer_kind optimizer;
        double learning_rate, momentum, beta1, beta2, epsilon;
        uint64_t decay_steps; /* 0: the learning rate stays. */
        double final_learning_rate;
        uint64_t max_staleness; /* Async; STALENESS_FREE: unbounded. */
        double target_accuracy; /* 0: none. */
    } train;
    struct {
        uint64_t every_steps; /* 0: only at the end. */
    } evaluate;
    struct {
        uint64_t every_steps;   /* 0: not by steps. */
        uint64_t every_seconds; /* 0: not by time. */
        uint32_t keep;
    } checkpoint;
    struct {
        uint32_t coordinators, ps, workers, min_workers;
    } cluster;
    struct {
        uint32_t servers; /* Of a local ensemble: 1 or 3. */
        uint32_t session_timeout_ms;
    } zookeeper;
    enum chief_failure_policy on_chief_failure;
};

/* Defaults of everything. */
void job_init(struct job *job);

/* Read a job file (JSON). TN_ENOENT, TN_EIO, TN_EINVAL with file, line or key, value and remedy;
 * unknown keys are refused with the nearest known one. Keys absent keep their values. */
MUST_CHECK enum tn_status job_read_file(struct job *job, const char *path, struct error *error);

/* The same from text in memory; `source` names it in errors. */
MUST_CHECK enum tn_status job_read_text(struct job *job, const char *text, size_t size,
                                        const char *source, struct error *error);

/* One "train.steps=500". TN_EINVAL as above. */
MUST_CHECK enum tn_status job_set(struct job *job, const char *assignment, struct error *error);

/* What no single key can tell: batch >= slices, ps <= parameters, ... Call it last. */
MUST_CHECK enum tn_status job_check(const struct job *job, struct error *error);

/* The whole job as canonical JSON; malloc'ed, NULL: out of memory. */
char *job_to_json(const struct job *job);

/* XXH3-64 of what must not change while a cluster lives: model, data, seed, mode, batch, slices,
 * optimizer and its settings, number of ps. Steps, checkpoint and evaluation intervals, numbers of
 * workers and coordinators may change. */
uint64_t job_hash(const struct job *job);

/* The first key that job_hash() covers in which `a` and `b` differ, with both values as text
 * ("train.batch is 64 there and 128 here"); false: none. */
bool job_difference(const struct job *a, const struct job *b, char *text, size_t size);

/* The reference of all keys as a Markdown table: what docs/job-file.md holds. malloc'ed; NULL: out
 * of memory. */
char *job_reference(void);

#endif

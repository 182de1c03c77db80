/*
 * tanist/model.h: a custom model, and a program that trains it, alone or as any node of a
 * cluster.
 *
 *     static void build(struct tn_graph *g, const struct tn_build *b, void *user)
 *     {
 *         tn_tensor x = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->inputs));
 *         tn_tensor y = tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
 *         tn_tensor h = tn_dense(g, "hidden", x, 128, TN_RELU);
 *         tn_tensor logits = tn_dense(g, "output", h, b->outputs, TN_LINEAR);
 *         tn_loss(g, tn_softmax_cross_entropy(g, logits, y), 1);
 *         tn_metric(g, "accuracy", tn_is_correct(g, logits, y));
 *     }
 *     TN_MODEL("mlp", build)
 *
 *     int main(int argc, char **argv) { return tn_main(argc, argv, &tanist_model); }
 *
 * The same program runs on every node; on a ps and a coordinator the graph only gives the
 * variables. docs/models.md is the guide.
 */
#ifndef TANIST_MODEL_H
#define TANIST_MODEL_H

#include "tanist/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The values that a model may read while it is built: the same on every node of a cluster. Later
 * versions may add members at the end. */
struct tn_build {
    size_t struct_size;
    const char *options;      /* model.options of the job as JSON text; "{}": none. */
    uint32_t inputs, outputs; /* model.inputs, model.outputs. */
    uint64_t batch, slices;   /* train.batch, train.slices. */
};

/* The progress of a run. Later versions may add members at the end. */
struct tn_progress {
    size_t struct_size;
    uint64_t step, generation;
    uint64_t checkpoint;               /* The last committed one; 0: none yet. */
    double train_loss, loss, accuracy; /* The last evaluation's; NAN: unknown. */
};

/*
 * Functions that are called while a run makes progress, each NULL or not. They observe and may ask
 * for an end, but change no value: the result of a step depends on the job alone.
 *
 * Process: the one that trains alone (`prog`, `run --local`), or on a cluster the one of `run`,
 * which observes its nodes. Nodes, and `agent`, call no hook. Threads: always the first thread of
 * that process, one call at a time. A hook should return soon: alone, training waits for it; on a
 * cluster, only the restart of dead nodes does.
 *
 * After a recovery of a cluster, steps, evaluations and checkpoints may be seen again.
 */
struct tn_hooks {
    size_t struct_size;
    /* Training begins at progress->step or continues there; once, before all others. */
    void (*started)(const struct tn_progress *progress, void *user);
    /* Alone: after each step. On a cluster: about twice a second, if the step has changed. */
    void (*stepped)(const struct tn_progress *progress, void *user);
    /* The values of progress->step were evaluated, on the validation split if the data have one,
     * otherwise on the test set. */
    void (*evaluated)(const struct tn_progress *progress, void *user);
    /* A checkpoint of progress->step is committed. */
    void (*saved)(const struct tn_progress *progress, uint64_t checkpoint, void *user);
    /* As often as `stepped`. True: end the run as `tanist stop` does, with an evaluation and a
     * checkpoint: alone at this step, on a cluster at one that the chief chooses. */
    bool (*should_stop)(const struct tn_progress *progress, void *user);
    /* The last call, if `started` was called. TN_OK: the run is done; TN_EAGAIN: it was
     * interrupted and can be continued; others: it failed. */
    void (*ended)(const struct tn_progress *progress, enum tn_status status, void *user);
};

/*
 * A model. It outlives the process's use of it: make it a constant.
 *
 * `build` appends the model to an empty graph, with at least one loss. It must be a function of
 * `build` and `user` alone: not of time, addresses, or the node. Its fields are "inputs" (float32
 * [batch, ...], with build->inputs numbers per example; uint8 for bytes as they are in the data)
 * and "labels" (uint8 or int32 [batch], of texts [batch, inputs]) or, where model.loss of the job
 * is an error of numbers, "targets" (float32 [batch, build->outputs]). The metric "accuracy" and
 * the output "outputs" have the meaning that docs/models.md describes.
 */
struct tn_model {
    size_t struct_size;
    uint32_t api_version; /* TN_API_VERSION. */
    const char *name;     /* The job and its cluster have it, unless a job file names them. */
    void (*build)(struct tn_graph *graph, const struct tn_build *build, void *user);
    const char *job; /* Defaults of the job: JSON with the keys of a job file. NULL: none. */
    const struct tn_hooks *hooks; /* NULL: none. */
    void *user;                   /* Passed to `build` and to hooks. */
};

/* Define the constant `tanist_model`: with a name and a build function; and the same with defaults
 * of the job and hooks, each NULL or not. */
#define TN_MODEL(model_name, build_function) TN_MODEL_WITH(model_name, build_function, NULL, NULL)
#define TN_MODEL_WITH(model_name, build_function, job_defaults, model_hooks)                       \
    TN_MODEL_BEGIN                                                                                 \
    extern TN_API const struct tn_model tanist_model;                                              \
    const struct tn_model tanist_model = {                                                         \
        sizeof(struct tn_model), TN_API_VERSION, (model_name), (build_function),                   \
        (job_defaults),          (model_hooks),  NULL,                                             \
    };                                                                                             \
    TN_MODEL_END
#ifdef __cplusplus
#define TN_MODEL_BEGIN extern "C" {
#define TN_MODEL_END   }
#else
#define TN_MODEL_BEGIN
#define TN_MODEL_END
#endif

/*
 * The whole of `tanist`, with this model in the place of the job's: `prog run` starts a cluster on
 * this machine, `prog status` shows one, and so on; `prog help` lists the commands. Job files are
 * optional, and only change the defaults of `model`.
 *
 * Without a command, the process becomes the node that TF_CONFIG, the variables JOB_NAME and
 * TASK_INDEX, or the flags --job_name and --task_index name; if they name none, it trains alone, as
 * `prog run --local` does. All options of that command may follow.
 *
 * Returns the exit code for main(): docs/exit-codes.md. 3: a member of `model` is not valid.
 *
 * Threads: call it once, from the first thread, before others exist. It installs handlers of
 * SIGTERM and SIGINT, and starts threads. Blocking: until the command has ended.
 */
TN_API int tn_main(int argc, char **argv, const struct tn_model *model);

#ifdef __cplusplus
}
#endif
#endif

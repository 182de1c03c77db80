/*
 * cli/run/warm_options.h: the options --warm-start, --map and --freeze of a run: initial values
 * from a file or from another run, and variables that are not trained.
 *
 * Threads: any.
 */
#ifndef CLI_RUN_WARM_OPTIONS_H
#define CLI_RUN_WARM_OPTIONS_H

#include "cli/options.h"
#include "common/job/job.h"

struct warm_options {
    const char *from; /* A file, or the folder of a run. */
    struct option_texts map, freeze;
};

void warm_options_add(struct options *options, struct warm_options *given);

/*
 * Put them into the job, whose run is in `dir`. The parameters of another run are exported to
 * DIR.warm-start.safetensors, beside the folder; a run in `dir` that is unfinished, or with
 * `resume` a finished one, continues with the file that it began with. `*exported`: the file was
 * written; the caller removes it if the run does not begin. TN_EINVAL: too many or too long; others
 * as export_newest().
 */
MUST_CHECK enum tn_status warm_options_apply(const struct warm_options *given, const char *dir,
                                             bool resume, struct job *job, bool *exported,
                                             struct error *error);

#endif

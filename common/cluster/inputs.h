/*
 * common/cluster/inputs.h: what the bits of a run depend on besides its job: the arithmetic of its
 * workers and the contents of their data. The first checkpoint or worker of a run determines both
 * (rule C13); a worker that differs gets no slices and exits. Pure.
 */
#ifndef COMMON_CLUSTER_INPUTS_H
#define COMMON_CLUSTER_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

enum { FINGERPRINT_MAX = 128, INPUTS_FROM_MAX = 40 };

struct inputs {
    char fingerprint[FINGERPRINT_MAX]; /* The one of the kernels; "": unknown. */
    uint64_t data[2];                  /* Digest (low, high) of the data set; 0, 0: unknown. */
    char from[INPUTS_FROM_MAX];        /* /run only: "worker:0", "checkpoint 7": the source. */
};

bool inputs_have_data(const struct inputs *inputs);

/* A value that is unknown on either side agrees with any. */
bool inputs_data_agree(const struct inputs *run, const struct inputs *node);
bool inputs_fingerprints_agree(const struct inputs *run, const struct inputs *node);

/* Both of the above; the fingerprints count only with `same_bits`. */
bool inputs_agree(const struct inputs *run, const struct inputs *node, bool same_bits);

#endif

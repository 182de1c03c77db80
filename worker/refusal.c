#include "worker/refusal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/job/strategy.h"
#include "kernels/gpu/cublas_identity.h"
#include "kernels/kernels.h"

static void log_data(const struct job *job, const struct inputs *run, const struct inputs *ours)
{
    char texts[2][DIGEST_TEXT_BYTES];
    assert(!inputs_data_agree(run, ours));
    digest_format((struct digest){ours->data[0], ours->data[1]}, texts[0]);
    digest_format((struct digest){run->data[0], run->data[1]}, texts[1]);
    log_error("refused: the data at %s have the digest %s, but those of this run have %s (from "
              "%s): copy the same files to every host, or start a new run",
              *job->data.path ? job->data.path : job->data.type, texts[0], texts[1], run->from);
}

/* Both have cuBLAS. A precision that is not float32 follows its identity, after ", ". */
static void advise_cublas(const char *run, const char *ours, char *remedy, size_t size)
{
    const char *end = strstr(run, CUBLAS_IDENTITY_END);
    const size_t same = end != NULL ? (size_t)(end - run) + strlen(CUBLAS_IDENTITY_END) : 0;
    if (same == 0 || strncmp(run, ours, same) != 0) {
        snprintf(remedy, size, "use the same version of cuBLAS and GPUs of this type");
        return;
    }
    static const char separator[] = ", ";
    const char *precision = strstr(run + same, separator);
    snprintf(remedy, size, "set train.precision=%s",
             precision != NULL ? precision + strlen(separator)
                               : precision_name(JOB_PRECISION_FLOAT32));
}

/* The kernels, of OpenBLAS the type of processor, and of cuBLAS its version, the type of the GPU
 * and the precision are the parts of a fingerprint that an operator can choose. */
static void log_kernels(const struct inputs *run, const struct inputs *ours)
{
    const char *core = strstr(run->fingerprint, KERNELS_FOR);
    assert(!inputs_fingerprints_agree(run, ours));
    char remedy[FINGERPRINT_MAX + 64] = "use the same version of tanist";
    const bool run_has_cublas = strstr(run->fingerprint, CUBLAS_IDENTITY) != NULL;
    if (run_has_cublas != (strstr(ours->fingerprint, CUBLAS_IDENTITY) != NULL)) {
        snprintf(remedy, sizeof remedy, "set train.kernels=%s",
                 run_has_cublas ? "cublas"
                 : core != NULL ? "openblas"
                                : "portable");
    } else if (run_has_cublas) {
        advise_cublas(run->fingerprint, ours->fingerprint, remedy, sizeof remedy);
    } else if ((core != NULL) != (strstr(ours->fingerprint, KERNELS_FOR) != NULL)) {
        snprintf(remedy, sizeof remedy, "set train.kernels=%s",
                 core != NULL ? "openblas" : "portable");
    } else if (core != NULL) {
        snprintf(remedy, sizeof remedy, "use the same OpenBLAS and set OPENBLAS_CORETYPE=%s",
                 core + strlen(KERNELS_FOR));
    }
    log_error("refused: the arithmetic of this worker is \"%s\", but that of this run is \"%s\" "
              "(from %s): %s, or permit other bits with train.same_bits=false",
              ours->fingerprint, run->fingerprint, run->from, remedy);
}

bool refusal_log(const struct job *job, const struct inputs *run, const struct inputs *ours)
{
    bool same_bits = job->train.same_bits && strategy_of_job(job)->exact_steps;
    if (inputs_agree(run, ours, same_bits)) { return false; }
    if (!inputs_data_agree(run, ours)) {
        log_data(job, run, ours);
    } else {
        log_kernels(run, ours);
    }
    return true;
}

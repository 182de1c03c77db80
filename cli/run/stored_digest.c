#include "cli/run/stored_digest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ps/store/store.h"
#include "ps/store/store_folder.h"

static enum tn_status compare(const struct run *run, struct digest stored, struct error *error)
{
    const struct evaluation *evaluation = &run->evaluation;
    const struct digest evaluated = {evaluation->digest[0], evaluation->digest[1]};
    char texts[2][DIGEST_TEXT_BYTES];
    if (evaluation->step != run->committed_step || digest_equal(stored, evaluated)) {
        return TN_OK;
    }
    digest_format(stored, texts[0]);
    digest_format(evaluated, texts[1]);
    return error_set(error, TN_ECORRUPT,
                     "checkpoint %" PRIu64 " (step %" PRIu64
                     "): the disk holds parameters with the "
                     "digest %s, but a worker evaluated %s at this step: do not use this "
                     "checkpoint; check the memory and the disks of the hosts of the ps, then "
                     "train again from an older one",
                     run->committed_checkpoint, run->committed_step, texts[0], texts[1]);
}

enum tn_status stored_digest_check(const char *folder, const struct run *run,
                                   char text[static DIGEST_TEXT_BYTES], struct error *error)
{
    struct digest stored;
    assert(folder != NULL);
    text[0] = '\0';
    if (run->committed_checkpoint == 0) {
        return error_set(error, TN_ENOENT, "no checkpoint was committed");
    }
    struct manifest *manifest = malloc(sizeof *manifest);
    if (manifest == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a manifest"); }
    enum tn_status status = store_get_manifest(folder, run->committed_checkpoint, manifest, error);
    if (status == TN_OK) {
        status = store_digest_values(folder, manifest, &stored, error);
        /* Unlike a manifest, which is copied after the commit, a shard must exist. */
        if (status == TN_ENOENT) { status = error->status = TN_ECORRUPT; }
        if (status == TN_OK) {
            digest_format(stored, text);
            status = compare(run, stored, error);
        }
    }
    free(manifest);
    return status;
}

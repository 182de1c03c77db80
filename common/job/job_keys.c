#include "common/job/job_keys.h"

#include "common/job/job_key_rows.h"

static const struct json_field fields[] = {
    TEXT("name", name, CHANGEABLE, "Name of the job and of its cluster: the znode `/tanist/NAME`."),
    NUMBER(FIELD_UINT, "seed", seed, 0, MANY, FIXED,
           "Decides initial values and the order of examples. Same seed, same bits."),
};

/* The order is that of the canonical JSON, and hence part of job_hash(). */
static const struct json_part *const parts[] = {
    &job_keys_model, &job_keys_data, &job_keys_train, &job_keys_run, NULL,
};

const struct json_table job_keys = {
    JSON_FIELDS(fields),
    .parts = parts,
    .rules = JSON_UNKNOWN_REFUSED | JSON_WHOLE_REALS,
    .status = TN_EINVAL,
    .keys_help = "`tanist help job` lists all keys",
};

/* worker/compute_fields.c: whether the data have what a model reads. */
#include <assert.h>
#include <inttypes.h>

#include "worker/compute.h"

static enum tn_status check_field(const char *name, const void *field, bool exists,
                                  struct error *error)
{
    if (field == NULL || exists) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "the model reads the field '%s', which the data do not have in this form: use "
                     "other data, another first layer or another loss",
                     name);
}

static enum tn_status check_keys(const struct fields *fields, const struct dataset *train,
                                 struct error *error)
{
    if (fields->keys == NULL || fields->keys_each == train->keys_each) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "the model reads %" PRIu32
                     " keys of tables per example, but data.columns give "
                     "%" PRIu32 ": give as many columns \"table\": true",
                     fields->keys_each, train->keys_each);
}

enum tn_status compute_check_fields(const struct fields *fields, const struct dataset *train,
                                    struct error *error)
{
    assert(fields != NULL && train != NULL);
    enum tn_status status =
        check_field("inputs", fields->input_bytes, dataset_has_bytes(train), error);
    const void *labels =
        fields->labels != NULL ? (const void *)fields->labels : fields->wide_labels;
    if (status == TN_OK) {
        status = check_field("labels", labels, dataset_has_labels(train), error);
    }
    if (status == TN_OK) {
        status = check_field("targets", fields->targets, dataset_has_targets(train), error);
    }
    if (status == TN_OK) { status = check_keys(fields, train, error); }
    if (status != TN_OK || labels == NULL || fields->labels_each == train->labels_each) {
        return status;
    }
    return error_set(error, TN_EINVAL,
                     "model.layers end with %" PRIu32
                     " rows of outputs per example, but the data have %" PRIu32
                     " labels for each: use other data, or end with one row for each label",
                     fields->labels_each, train->labels_each);
}

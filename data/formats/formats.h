/* data/formats/formats.h: the formats of files, one file each in this folder; data/open.c lists
 * them. */
#ifndef DATA_FORMATS_FORMATS_H
#define DATA_FORMATS_FORMATS_H

#include "common/base/json_codec.h"
#include "data/source/source.h"

extern const struct source_type csv_type, tsv_type;
extern const struct source_type npy_type, npy_folder_type, npz_type;
extern const struct source_type tfrecord_type;
extern const struct source_type images_type, tar_type, libsvm_type;
extern const struct source_type library_type;

/* Put the path in front of the error. A file that is damaged is a wrong input of the job
 * (TN_EINVAL), not a damaged checkpoint. */
enum tn_status formats_wrong_file(enum tn_status status, const char *path, struct error *error);

/* Read `data.options` by the format's table; NULL and "" leave the record as it is. TN_EINVAL: a
 * key is unknown, or its value is not valid. */
MUST_CHECK enum tn_status formats_read_options(const char *text, const struct json_table *table,
                                               void *record, struct error *error);

#endif

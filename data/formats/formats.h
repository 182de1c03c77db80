/* data/formats/formats.h: the formats of files, one file each in this folder; data/open.c lists
 * them. */
#ifndef DATA_FORMATS_FORMATS_H
#define DATA_FORMATS_FORMATS_H

#include "data/source/source.h"

extern const struct source_type csv_type, tsv_type;
extern const struct source_type npy_type, npy_folder_type, npz_type;
extern const struct source_type tfrecord_type;

/* Put the path in front of the error. A file that is damaged is a wrong input of the job
 * (TN_EINVAL), not a damaged checkpoint. */
enum tn_status formats_wrong_file(enum tn_status status, const char *path, struct error *error);

#endif

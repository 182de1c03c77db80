/*
 * data/formats/sources.h: the formats as types of sources, for the list in data/open.c.
 */
#ifndef DATA_FORMATS_SOURCES_H
#define DATA_FORMATS_SOURCES_H

#include "data/source/source.h"

extern const struct source_type source_npy, source_npy_folder, source_npz;

/* Put the path in front of the error. A file that is damaged is a wrong input of the job
 * (TN_EINVAL), not a damaged checkpoint. */
enum tn_status sources_wrong_file(enum tn_status status, const char *path, struct error *error);

#endif

/* data/formats/formats.h: the formats of files, one file each in this folder; data/open.c lists
 * them. */
#ifndef DATA_FORMATS_FORMATS_H
#define DATA_FORMATS_FORMATS_H

#include "data/source/source.h"

extern const struct source_type csv_type, tsv_type;

#endif

/*
 * data/text_windows.h: a text as examples: windows of model.inputs bytes, each byte with the next
 * one as its label. The last tenth of the file is the test set, divided into windows that do not
 * overlap; in the rest each byte begins a window.
 */
#ifndef DATA_TEXT_WINDOWS_H
#define DATA_TEXT_WINDOWS_H

#include "data/dataset.h"

enum { TEXT_WINDOWS_BYTES_MAX = 1 << 30 };

/* Read the file data.path into a zeroed data set. Blocks on the disk. After a failure
 * dataset_close() frees what it owns.
 *   TN_ENOENT: there is no such file; TN_EINVAL: it cannot be read as a text, is too short or too
 *   long, or has a byte that is not below model.outputs; TN_EIO; TN_ENOMEM */
MUST_CHECK enum tn_status text_windows_fill(const struct job *job, enum dataset_split split,
                                            struct dataset *dataset, struct error *error);

#endif

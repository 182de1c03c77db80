/*
 * cli/curves/chart_files.h: charts as files: SVG, a page that needs no other file, PNG.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef CLI_CURVES_CHART_FILES_H
#define CLI_CURVES_CHART_FILES_H

#include "cli/curves/chart.h"
#include "common/base/error.h"

/* Write the charts to `path`. The name's end, .svg, .html or .png, decides the format.
 * TN_EINVAL: another one; TN_EIO, TN_ENOSPC, TN_ENOMEM. */
MUST_CHECK enum tn_status chart_write(const struct chart_config *config, const char *path,
                                      struct error *error);

/* For chart_write(): the PNG file alone. */
MUST_CHECK enum tn_status chart_write_png(const struct chart_config *config, const char *path,
                                          struct error *error);

#endif

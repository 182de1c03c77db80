/*
 * cli/operate/change_wanted.h: the arguments of `tanist resize` and `tanist strategy`.
 *
 * Threads: the main thread. Blocking: no.
 */
#ifndef CLI_OPERATE_CHANGE_WANTED_H
#define CLI_OPERATE_CHANGE_WANTED_H

#include "cli/options.h"
#include "common/base/error.h"
#include "common/cluster/change_request.h"

/* "ps=5", or nothing. TN_EINVAL: another argument. */
MUST_CHECK enum tn_status change_read_resize(const struct options *options,
                                             struct change_request *wanted, struct error *error);

/* "mirror", "ps", "ps ps=5", "group ps=4 members=2"; a number that is not given stays 0. TN_EINVAL:
 * other arguments. */
MUST_CHECK enum tn_status change_read_strategy(const struct options *options,
                                               struct change_request *wanted, struct error *error);

#endif

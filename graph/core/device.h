/*
 * graph/core/device.h: device strings: "/job:ps/task:1/gpu:0", each part optional. Pure.
 */
#ifndef GRAPH_CORE_DEVICE_H
#define GRAPH_CORE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

enum { DEVICE_TEXT_MAX = 64, DEVICE_ANY = -1 };

/* DEVICE_ANY, and "" for the job, stand for parts that are left out. */
struct device {
    char job[16]; /* "worker" or "ps". */
    int32_t task;
    char kind[8]; /* "cpu" or "gpu". */
    int32_t index;
};

/* Read `text` over `*device`: parts that `text` lacks stay as they are; another job clears the
 * task. TN_EINVAL: the text is not a device; the error names the part. */
MUST_CHECK enum tn_status device_parse(const char *text, struct device *device,
                                       struct error *error);

/* A device without any part. */
struct device device_none(void);

/* The canonical text: job, task, kind and index in this order; "" without any part. */
void device_format(const struct device *device, char out[static DEVICE_TEXT_MAX]);

#endif

#include "common/job/job_workers.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "common/job/job.h"

enum { MOST, LEAST };

static_assert(offsetof(struct job, cluster.workers_least) ==
                  offsetof(struct job, cluster.workers) + sizeof(uint32_t),
              "the converter writes both");
static_assert(WORKERS_MAX == 128, "`wanted` names it");

static void write_range(uint32_t least, uint32_t most, char text[static JOB_WORKERS_TEXT_MAX])
{
    assert(least <= most);
    snprintf(text, JOB_WORKERS_TEXT_MAX, "%" PRIu32 "-%" PRIu32, least, most);
}

static json_t *build_workers(const void *member)
{
    const uint32_t *workers = member;
    char text[JOB_WORKERS_TEXT_MAX];
    if (workers[LEAST] == 0) { return json_integer(workers[MOST]); }
    write_range(workers[LEAST], workers[MOST], text);
    return json_string(text);
}

/* At most four digits. NULL: none. */
static const char *read_digits(const char *text, uint32_t *out)
{
    const char *at = text;
    *out = 0;
    while (*at >= '0' && *at <= '9' && at - text < 4) {
        *out = *out * 10 + (uint32_t)(*at++ - '0');
    }
    return at > text ? at : NULL;
}

static bool read_workers(const json_t *value, void *member)
{
    uint32_t *workers = member, least = 0, most = 0;
    const char *text = json_string_value(value);
    if (text != NULL) {
        text = read_digits(text, &least);
        if (text == NULL || *text != '-' || least == 0) { return false; }
        text = read_digits(text + 1, &most);
        if (text == NULL || *text != '\0' || most < least) { return false; }
    } else {
        const double number = json_number_value(value);
        if (!json_is_number(value) || !(number >= 1 && number <= WORKERS_MAX)) { return false; }
        most = (uint32_t)number;
        if (most != number) { return false; }
    }
    if (most > WORKERS_MAX) { return false; }
    workers[MOST] = most;
    workers[LEAST] = least == most ? 0 : least;
    return true;
}

const struct json_converter job_workers_converter = {
    .build = build_workers,
    .read = read_workers,
    .wanted = "1 to 128, or a range such as \"2-8\"",
};

uint32_t job_workers_least(const struct job *job)
{
    assert(job->cluster.workers_least <= job->cluster.workers);
    return job->cluster.workers_least != 0 ? job->cluster.workers_least : job->cluster.workers;
}

void job_workers_text(const struct job *job, char text[static JOB_WORKERS_TEXT_MAX])
{
    if (job->cluster.workers_least != 0) {
        write_range(job->cluster.workers_least, job->cluster.workers, text);
    } else {
        snprintf(text, JOB_WORKERS_TEXT_MAX, "%" PRIu32, job->cluster.workers);
    }
}

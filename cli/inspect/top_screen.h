/*
 * cli/inspect/top_screen.h: one frame of `tanist top` as text. Pure: the view holds everything that
 * is shown, including the time.
 */
#ifndef CLI_INSPECT_TOP_SCREEN_H
#define CLI_INSPECT_TOP_SCREEN_H

#include "agent/ensemble/zoo_cfg.h"
#include "agent/observe/event_text.h"
#include "agent/observe/observer.h"
#include "agent/observe/table_totals.h"
#include "common/job/job.h"

enum {
    TOP_SAMPLES_MAX = 60, /* Rates in the sparkline. */
    TOP_EVENTS_MAX = 10,
    TOP_TABLES_MAX = 8,         /* The largest are shown. */
    TOP_PARTS_MAX = 8,          /* Lines for the rows of ps. */
    TOP_FRAME_MAX = 256 * 1024, /* Bytes of a frame, with its NUL. */
};

/* ------------------------------------------------------------------ speed */

/* Steps per second between samples, oldest first. When steps go back (a restore), the rate is 0. */
struct top_speed {
    uint32_t count;
    double rates[TOP_SAMPLES_MAX];
    bool has_last;
    uint64_t last_step, last_ms;
};

/* Add a sample: the cluster had reached `step` at `now_ms`. */
void top_speed_add(struct top_speed *speed, uint64_t step, uint64_t now_ms);
/* Mean of the newest `samples` rates; 0 without samples. */
double top_speed_mean(const struct top_speed *speed, uint32_t samples);

/* ------------------------------------------------------------------- view */

struct top_ps_step {
    bool known;
    uint64_t generation, step;
};

struct top_server {
    char address[ZOO_ADDRESS_MAX];
    char mode[24]; /* "leader", "down", "no quorum"; "" while unknown. */
};

struct top_event {
    uint64_t wall_ms;
    enum history_kind kind; /* HISTORY_KINDS: not from the history. */
    char text[EVENT_TEXT_MAX];
};

struct top_view {
    const char *cluster, *connect;
    const struct job *job;
    const struct observer *observer;
    bool connected;
    uint64_t disconnected_ms; /* While not connected. */
    uint64_t wall_ms;         /* Now. */
    bool has_step;
    uint64_t step;
    const struct top_speed *speed;
    const struct top_ps_step *ps;      /* By index, top_holder_count() of them. */
    const struct table_totals *tables; /* NULL or without tables: none are shown. */
    uint32_t server_count;
    struct top_server servers[ZOO_SERVERS_MAX];
    uint32_t event_count; /* Oldest first. */
    struct top_event events[TOP_EVENTS_MAX];
};

/* The number of tasks that hold values: the ps, or without ps the workers. */
uint32_t top_holder_count(const struct job *job);

struct top_style {
    uint32_t columns, rows; /* 0: no limit. */
    bool color, unicode;
};

/* Draw a frame: lines that end with "\n", none wider than `columns`, and at most `rows` of them.
 * Tasks that do not fit are counted in one line. Returns the length; `text` is NUL-terminated. */
size_t top_screen_draw(const struct top_view *view, const struct top_style *style,
                       char text[static TOP_FRAME_MAX]);

#endif

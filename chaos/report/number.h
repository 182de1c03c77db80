/*
 * chaos/report/number.h: numbers as people read them. Pure.
 *
 * Each function returns its text by value, to be used at once: printf("%s", number_count(7).at).
 */
#ifndef CHAOS_REPORT_NUMBER_H
#define CHAOS_REPORT_NUMBER_H

#include <jansson.h>
#include <stdint.h>

struct number_text {
    char at[32];
};

/* "7 ms", "0.81 s", "12.4 s", "3 min 05 s"; below zero: a dash. */
struct number_text number_duration(double ms);
/* "12,043" */
struct number_text number_count(int64_t count);
/* The same of a member of a JSON object: without it, a dash and 0. */
struct number_text number_duration_member(const json_t *object, const char *key);
struct number_text number_count_member(const json_t *object, const char *key);
/* A ratio in percent with two digits after the point: "98.31 %"; below zero: a dash. */
struct number_text number_percent(double ratio);

#endif

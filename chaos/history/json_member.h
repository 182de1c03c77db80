/*
 * chaos/history/json_member.h: members of the lines of a history, which may be anything: others
 * wrote it. Pure.
 */
#ifndef CHAOS_HISTORY_JSON_MEMBER_H
#define CHAOS_HISTORY_JSON_MEMBER_H

#include <jansson.h>
#include <stdbool.h>

/* What is missing, of another type or beyond 10^15 is `otherwise`; the same of what is no object.
 * Texts are borrowed. */
const char *json_member_text(const json_t *object, const char *key, const char *otherwise);
double json_member_number(const json_t *object, const char *key, double otherwise);
json_int_t json_member_integer(const json_t *object, const char *key, json_int_t otherwise);
/* Whether the member is true; whatever else it may be, it is not. */
bool json_member_true(const json_t *object, const char *key);

/* Whether a line of a history is of that kind (chaos/history/history.h). */
bool line_is(const json_t *line, const char *kind);

#endif

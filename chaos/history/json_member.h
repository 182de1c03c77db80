/*
 * chaos/history/json_member.h: members of the lines of a history. A history comes from outside, so
 * any line may have any shape. Pure.
 */
#ifndef CHAOS_HISTORY_JSON_MEMBER_H
#define CHAOS_HISTORY_JSON_MEMBER_H

#include <jansson.h>
#include <stdbool.h>

/* The member `key` of `object`, or `otherwise`: if `object` is not an object, or the member is
 * missing, has another type, or is a number beyond 10^15. Texts are borrowed. */
const char *json_member_text(const json_t *object, const char *key, const char *otherwise);
double json_member_number(const json_t *object, const char *key, double otherwise);
json_int_t json_member_integer(const json_t *object, const char *key, json_int_t otherwise);
/* Whether the member is the JSON value true. */
bool json_member_true(const json_t *object, const char *key);

/* Whether a line of a history is of that kind (chaos/history/history.h). */
bool line_is(const json_t *line, const char *kind);

#endif

/*
 * agent/observe/event_text.h: the events of a cluster as sentences for people and as JSON for
 * programs. Pure.
 */
#ifndef AGENT_OBSERVE_EVENT_TEXT_H
#define AGENT_OBSERVE_EVENT_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/clock.h"
#include "common/cluster/znodes.h"

enum { EVENT_TEXT_MAX = 768 };

/* "14 s", "3 min 5 s", "2 h 10 min" */
void event_text_duration(uint64_t ms, char *text, size_t size);

/* One sentence, e.g. "running again from step 1000: ps:1 was lost (signal 9 (Killed)); 204 steps
 * redone; paused 818 ms". */
void event_text_history(const struct history_entry *entry, char text[static EVENT_TEXT_MAX]);

/* The changes of the registration of a node. */
enum member_event { MEMBER_UP, MEMBER_LOST, MEMBER_CHIEF_LOST };

/* "ps:1 (pid 123) is up", "... is lost", "... is lost: it was the chief" */
void event_text_member(const struct member *member, enum member_event event,
                       char text[static EVENT_TEXT_MAX]);
/* Its name in JSON: "task-up", "task-lost", "chief-lost". Static storage. */
const char *event_text_member_event(enum member_event event);

/* The object that `tanist watch -o jsonl` prints: a new reference; NULL: out of memory. */
json_t *event_text_history_json(const struct history_entry *entry);

/* {kind, task, cause, paused_ms, steps_redone} of a RECOVERED entry: a new reference; NULL: out of
 * memory. */
json_t *event_text_recovery_json(const struct history_entry *entry);

/* The name of an entry in JSON: "elected", "restored", ... Static storage. */
const char *event_text_event(const struct history_entry *entry);

/* 32 hexadecimal digits of an XXH3-128 (low, high). */
void event_text_digest(const uint64_t digest[2], char text[static 33]);

/* A JSON number; null for NaN and infinity, which JSON cannot express. */
json_t *event_text_number(double value);

#endif

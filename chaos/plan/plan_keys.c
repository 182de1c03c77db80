#include "chaos/plan/plan_keys.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/nearest.h"

enum { REMEDY_MAX = 640, KEYS_MAX = 32 };

enum tn_status plan_refuse(const char *where, const char *key, const json_t *value,
                           struct error *error, const char *remedy, ...)
{
    char words[REMEDY_MAX];
    va_list arguments;
    va_start(arguments, remedy);
    vsnprintf(words, sizeof words, remedy, arguments);
    va_end(arguments);
    char *text = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;
    error_set(error, TN_EINVAL, "%s%s%s%s%.80s: %s", where, *where && *key ? "." : "", key,
              text != NULL ? " is " : "", text != NULL ? text : "", words);
    free(text);
    return TN_EINVAL;
}

static enum tn_status refuse_key(const struct plan_key *keys, size_t count, const char *where,
                                 const char *name, struct error *error)
{
    const char *names[KEYS_MAX];
    char list[REMEDY_MAX / 2] = "", shown[48];
    size_t used = 0;
    assert(count <= KEYS_MAX);
    for (size_t i = 0; i < count; i++) { names[i] = keys[i].name; }
    for (size_t i = 0; i < count && used < sizeof list; i++) {
        int added = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", keys[i].name);
        used += added > 0 ? (size_t)added : 0;
    }
    const char *near = nearest_word(name, names, count);
    snprintf(shown, sizeof shown, "%.40s", name);
    if (near != NULL) {
        return plan_refuse(where, shown, NULL, error, "there is no such key: did you mean \"%s\"?",
                           near);
    }
    return plan_refuse(where, shown, NULL, error, "there is no such key; there are %s", list);
}

/* Of [least, most] the two ends, of a number it twice. */
static bool read_ends(const json_t *value, const struct plan_key *key, bool whole, double ends[2])
{
    const json_t *low = value, *high = value;
    if (json_is_array(value)) {
        if (json_array_size(value) != 2) { return false; }
        low = json_array_get(value, 0);
        high = json_array_get(value, 1);
    }
    if (whole && !(json_is_integer(low) && json_is_integer(high))) { return false; }
    if (!json_is_number(low) || !json_is_number(high)) { return false; }
    ends[0] = json_number_value(low);
    ends[1] = json_number_value(high);
    return ends[0] >= key->least && ends[1] <= key->most && ends[0] <= ends[1];
}

static bool read_text(const json_t *value, const struct plan_key *key, char *out)
{
    const char *text = json_string_value(value);
    if (text == NULL || strlen(text) >= key->size) { return false; }
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool read_value(const struct plan_key *key, const json_t *value, void *at)
{
    double ends[2];
    bool whole = key->type == PLAN_COUNT || key->type == PLAN_COUNTS;
    bool single = key->type == PLAN_COUNT || key->type == PLAN_REAL;
    if (key->type == PLAN_OTHER) { return true; }
    if (key->type == PLAN_TEXT) { return read_text(value, key, at); }
    if (key->type == PLAN_FLAG) {
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    }
    if ((single && json_is_array(value)) || !read_ends(value, key, whole, ends)) { return false; }
    uint32_t counts[2] = {whole ? (uint32_t)ends[0] : 0, whole ? (uint32_t)ends[1] : 0};
    if (whole) {
        memcpy(at, counts, single ? sizeof counts[0] : sizeof counts);
    } else {
        memcpy(at, ends, single ? sizeof ends[0] : sizeof ends);
    }
    return true;
}

static enum tn_status refuse_value(const struct plan_key *key, const json_t *value,
                                   const char *where, struct error *error)
{
    switch (key->type) {
    case PLAN_TEXT:
        return plan_refuse(where, key->name, value, error, "give %s, a text of at most %zu bytes",
                           key->wanted, key->size - 1);
    case PLAN_FLAG: return plan_refuse(where, key->name, value, error, "give true or false");
    case PLAN_REAL:
    case PLAN_COUNT:
        return plan_refuse(where, key->name, value, error, "give %s, %s from %.15g to %.15g",
                           key->wanted, key->type == PLAN_REAL ? "a number" : "a whole number",
                           key->least, key->most);
    case PLAN_RANGE:
    case PLAN_COUNTS:
    case PLAN_OTHER: break;
    }
    return plan_refuse(where, key->name, value, error,
                       "give %s, %s from %.15g to %.15g, or a range [least, most] of them",
                       key->wanted, key->type == PLAN_RANGE ? "a number" : "a whole number",
                       key->least, key->most);
}

enum tn_status plan_keys_read(const struct plan_key *keys, size_t count, json_t *object,
                              const char *where, void *record, struct error *error)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object)) {
        return plan_refuse(where, "", object, error, "give an object, {...}");
    }
    json_object_foreach(object, name, value)
    {
        const struct plan_key *key = keys;
        while (key < keys + count && strcmp(key->name, name) != 0) { key++; }
        if (key == keys + count) { return refuse_key(keys, count, where, name, error); }
        if (!read_value(key, value, (char *)record + key->offset)) {
            return refuse_value(key, value, where, error);
        }
    }
    return TN_OK;
}

#include "chaos/judge/verdict_checks.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "chaos/history/json_member.h"
#include "common/base/json_codec.h"

enum { TEXT_MAX = 640 };

void verdict_add(json_t *checks, const char *name, bool ok, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    assert(json_is_array(checks));
    assert(name != NULL);
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_t *check =
        json_pack("{s:s, s:b, s:o}", "name", name, "ok", (int)ok, "text", json_text(text));
    (void)json_array_append_new(checks, check);
}

void verdict_add_error(json_t *checks, const char *name, const struct error *error)
{
    assert(error != NULL);
    verdict_add(checks, name, false, "%.600s", error->text);
}

json_t *verdict_of_checks(json_t *checks)
{
    bool ok = json_array_size(checks) > 0;
    size_t i;
    const json_t *check;
    json_array_foreach(checks, i, check) ok = ok && json_is_true(json_object_get(check, "ok"));
    return json_pack("{s:b, s:o}", "ok", (int)ok, "checks", checks);
}

void verdict_list_failed(const json_t *verdict, char *text, size_t size)
{
    size_t i, used = 0;
    const json_t *check;
    assert(size > 0);
    text[0] = '\0';
    json_array_foreach(json_object_get(verdict, "checks"), i, check)
    {
        if (json_is_true(json_object_get(check, "ok")) || used >= size) { continue; }
        int wrote =
            snprintf(text + used, size - used, "%s%s: %s", used > 0 ? "; " : "",
                     json_member_text(check, "name", ""), json_member_text(check, "text", ""));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

/* The reference of all keys: for docs/job-file.md, and for `tanist help`. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/job_keys.h"

enum { LINE_COLUMNS = 88, INDENT = 4, DIGITS = 15 };

char *job_key_text(const struct json_field *key, const struct job *job, size_t digits)
{
    assert(key->type != FIELD_OTHER);
    json_t *value = json_codec_build_field(key, job);
    if (key->type == FIELD_CUSTOM) { digits = DIGITS; /* As job_layers_converter has them. */ }
    size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(digits);
    char *text = value != NULL ? json_dumps(value, flags) : NULL;
    json_decref(value);
    return text;
}

/* ------------------------------------------------------------- one key */

static void print_uint(FILE *out, const struct json_field *key)
{
    if (key->most >= 1e15) {
        fprintf(out, "%.0f or more", key->least);
    } else {
        fprintf(out, "%.0f to %.0f", key->least, key->most);
    }
    if (key->none != NULL) { fprintf(out, ", or `%s`", key->none); }
}

static void print_list(FILE *out, const struct json_field *key)
{
    assert(key->element != NULL);
    fprintf(out, "list of at most %zu %s", key->size / key->element->size,
            key->element->type == FIELD_REAL     ? "numbers"
            : key->element->type == FIELD_TEXT   ? "texts"
            : key->element->type == FIELD_OBJECT ? "objects"
                                                 : "whole numbers");
}

static void print_allowed(FILE *out, const struct json_field *key)
{
    switch (key->type) {
    case FIELD_TEXT: fprintf(out, "text"); break;
    case FIELD_CHOICE:
    case FIELD_ENUM:
        for (int i = 0; key->names[i] != NULL; i++) {
            fprintf(out, "%s`%s`", i == 0 ? "" : ", ", key->names[i]);
        }
        break;
    case FIELD_BOOL: fprintf(out, "`true`, `false`"); break;
    case FIELD_LIST: print_list(out, key); break;
    case FIELD_CUSTOM: fprintf(out, "%s", key->converter->wanted); break;
    case FIELD_REAL: fprintf(out, "%g to %g", key->least, key->most); break;
    case FIELD_UINT: print_uint(out, key); break;
    default: assert(false && "a job key of another type");
    }
}

/* Behind the name of a key. */
static const char *mark(const struct json_field *key)
{
    if ((key->tags & JOB_KEY_RESUME) != 0) { return " +"; }
    return (key->tags & JOB_KEY_FIXED) != 0 ? " *" : "";
}

static void print_row(FILE *out, const struct json_field *key, const struct job *defaults)
{
    char *value = job_key_text(key, defaults, DIGITS);
    fprintf(out, "| `%s`%s | ", key->name, mark(key));
    print_allowed(out, key);
    fprintf(out, " | `%s` | %s |\n", value != NULL ? value : "?", key->help);
    free(value);
}

/* ------------------------------------------------------------- plain text */

/* Skip the target of a Markdown link; its text stays. */
static const char *skip_target(const char *at)
{
    assert(at[0] == ']' && at[1] == '(');
    const char *end = strchr(at, ')');
    return end != NULL ? end + 1 : at + 1;
}

/* Copy `text` without the brackets and targets of Markdown links. A list such as [128] stays. */
static void without_links(const char *text, char *out)
{
    const char *open = NULL;
    while (*text != '\0') {
        if (*text == '[') {
            const char *close = strchr(text, ']');
            open = close != NULL && close[1] == '(' ? close : NULL;
            if (open != NULL) {
                text++;
                continue;
            }
        }
        if (text == open) {
            text = skip_target(text);
            continue;
        }
        *out++ = *text++;
    }
    *out = '\0';
}

/* Print `text` in lines of at most LINE_COLUMNS bytes, which it breaks at spaces. */
static void print_wrapped(FILE *out, const char *text)
{
    size_t column = 0;
    assert(text != NULL);
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        if (column > 0 && column + 1 + length > LINE_COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%*s%.*s", column == 0 ? INDENT : 1, "", (int)length, text);
        column += length + (column == 0 ? INDENT : 1);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_key(FILE *out, const struct json_field *key, const struct job *defaults)
{
    char *value = job_key_text(key, defaults, DIGITS), *allowed = NULL, *line = NULL;
    char *help = malloc(strlen(key->help) + 1);
    size_t size = 0;
    FILE *text = open_memstream(&allowed, &size);
    fprintf(out, "%s%s\n", key->name, mark(key));
    if (text != NULL) {
        print_allowed(text, key);
        fprintf(text, "; default `%s`", value != NULL ? value : "?");
        if (fclose(text) == 0) { line = allowed; }
    }
    if (line != NULL) { print_wrapped(out, line); }
    if (help != NULL) {
        without_links(key->help, help);
        print_wrapped(out, help);
    }
    free(help);
    free(allowed);
    free(value);
}

/* Whether `key` is the key `name`, or in the section `name`. */
static bool is_selected(const struct json_field *key, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(key->name, name, length) != 0) { return false; }
    return key->name[length] == '\0' || key->name[length] == '.';
}

/* ------------------------------------------------------------- all keys */

static const char introduction[] =
    "The keys of a job file, with the allowed values, the default and the meaning of each.\n"
    "*: the key affects the result, and must not change while a run or its checkpoints exist;\n"
    "+: the same, but `--resume` may change it. docs/job-file.md explains the keys further.\n\n";

static char *print_all(const char *name,
                       void (*print)(FILE *, const struct json_field *, const struct job *))
{
    char *text = NULL;
    size_t size = 0;
    struct job defaults;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) { return NULL; }
    job_init(&defaults);
    if (print == print_row) {
        fprintf(out, "| key | allowed | default | meaning |\n|---|---|---|---|\n");
    } else if (name == NULL) {
        fputs(introduction, out);
    }
    for (size_t i = 0; i < json_codec_count(&job_keys); i++) {
        const struct json_field *key = json_codec_row(&job_keys, i);
        if (name == NULL || is_selected(key, name)) { print(out, key, &defaults); }
    }
    if (fclose(out) == 0) { return text; }
    free(text);
    return NULL;
}

char *job_reference(void)
{
    return print_all(NULL, print_row);
}

bool job_has_key(const char *name)
{
    bool found = false;
    assert(name != NULL);
    for (size_t i = 0; !found && i < json_codec_count(&job_keys); i++) {
        found = is_selected(json_codec_row(&job_keys, i), name);
    }
    return found;
}

enum tn_status job_reference_text(const char *name, char **out, struct error *error)
{
    const bool all = strcmp(name, "job") == 0;
    assert(out != NULL);
    *out = NULL;
    if (!all && !job_has_key(name)) { return json_codec_refuse_key(&job_keys, "", name, error); }
    *out = print_all(all ? NULL : name, print_key);
    return *out != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory");
}

#include "common/cluster/task.h"

#include <assert.h>

static const struct {
    const char *name;
    uint32_t limit;
} roles[ROLE_COUNT] = {
    [ROLE_COORDINATOR] = {"coordinator", COORDINATORS_MAX},
    [ROLE_PS] = {"ps", PS_MAX},
    [ROLE_WORKER] = {"worker", WORKERS_MAX},
    [ROLE_EVALUATOR] = {"evaluator", EVALUATORS_MAX},
};

const char *role_name(enum role role)
{
    assert(role < ROLE_COUNT);
    return roles[role].name;
}

uint32_t role_limit(enum role role)
{
    assert(role < ROLE_COUNT);
    return roles[role].limit;
}

bool role_parse(const char *text, enum role *out)
{
    assert(text != NULL);
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (!text_equal(text, roles[role].name)) { continue; }
        *out = (enum role)role;
        return true;
    }
    return false;
}

bool task_equal(struct task a, struct task b)
{
    return a.role == b.role && a.index == b.index;
}

void task_format(struct task task, char separator, char *text, size_t size)
{
    assert(size > 0);
    const char between[2] = {separator, '\0'};
    struct text name = text_begin(text, size);
    text_add(&name, role_name(task.role));
    text_add(&name, between);
    text_add_number(&name, task.index);
}

void task_format_range(struct task first, uint32_t count, char separator, char *text, size_t size)
{
    char name[TASK_NAME_MAX];
    assert(count > 0);
    task_format(first, separator, name, sizeof name);
    struct text range = text_begin(text, size);
    text_add(&range, name);
    if (count == 1) { return; }
    text_add(&range, "-");
    text_add_number(&range, first.index + count - 1);
}

/* A decimal number below `limit`, without leading zeros, and nothing else. */
static bool parse_index(const char *digits, uint32_t limit, uint32_t *out)
{
    if (digits[0] == '\0' || (digits[0] == '0' && digits[1] != '\0')) { return false; }
    uint32_t value = 0;
    for (; *digits != '\0'; digits++) {
        if (*digits < '0' || *digits > '9') { return false; }
        value = value * 10 + (uint32_t)(*digits - '0');
        if (value >= limit) { return false; }
    }
    *out = value;
    return true;
}

bool task_parse(const char *text, struct task *out)
{
    assert(text != NULL);
    char name[TASK_NAME_MAX];
    uint32_t length = 0;
    while (text[length] != '\0' && text[length] != ':' && text[length] != '-') {
        if (length + 1 >= TASK_NAME_MAX) { return false; }
        name[length] = text[length];
        length++;
    }
    name[length] = '\0';
    struct task task = {0};
    if (text[length] == '\0' || !role_parse(name, &task.role)) { return false; }
    if (!parse_index(text + length + 1, roles[task.role].limit, &task.index)) { return false; }
    *out = task;
    return true;
}

void task_append(struct text *text, struct task task)
{
    char name[TASK_NAME_MAX];
    task_format(task, ':', name, sizeof name);
    text_add(text, name);
}

#include "common/faults/process_name.h"

#include <string.h>

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* "KIND:NUMBER"; false: the number is not one, or the name is too long. */
static bool set_name(char name[static FAULT_CONTROL_NAME_MAX], const char *kind, const char *number,
                     size_t digits)
{
    size_t length = strlen(kind);
    bool valid = digits > 0 && strspn(number, "0123456789") >= digits;
    if (!valid || length + 1 + digits >= FAULT_CONTROL_NAME_MAX) { return false; }
    memcpy(name, kind, length);
    name[length] = ':';
    memcpy(name + length + 1, number, digits);
    name[length + 1 + digits] = '\0';
    return true;
}

static bool name_of_node(const char *role, const char *end,
                         char name[static FAULT_CONTROL_NAME_MAX])
{
    static const char flag[] = "--index";
    const size_t length = sizeof flag - 1;
    if (strcmp(role, "coordinator") != 0 && strcmp(role, "ps") != 0 &&
        strcmp(role, "worker") != 0 && strcmp(role, "evaluator") != 0) {
        return false;
    }
    for (const char *at = role; at < end; at += strlen(at) + 1) {
        if (strncmp(at, flag, length) != 0 || (at[length] != '\0' && at[length] != '=')) {
            continue;
        }
        const char *number = at + length + 1; /* After the zero, or after the equals sign. */
        return number < end && set_name(name, role, number, strlen(number));
    }
    return false;
}

/* ".../zookeeper/2/zoo.cfg" */
static bool name_of_server(const char *path, char name[static FAULT_CONTROL_NAME_MAX])
{
    static const char folder[] = "/zookeeper/", file[] = "/zoo.cfg";
    size_t length = strlen(path);
    if (length < sizeof file || strcmp(path + length - (sizeof file - 1), file) != 0) {
        return false;
    }
    const char *end = path + length - (sizeof file - 1), *number = end;
    while (number > path && number[-1] >= '0' && number[-1] <= '9') { number--; }
    if (number < path + sizeof folder - 1) { return false; }
    if (memcmp(number - (sizeof folder - 1), folder, sizeof folder - 1) != 0) { return false; }
    return set_name(name, "zookeeper", number, (size_t)(end - number));
}

bool process_name(const char *arguments, size_t size, char name[static FAULT_CONTROL_NAME_MAX])
{
    const char *end = arguments + size, *program = file_of(arguments);
    const char *second = arguments + strlen(arguments) + 1;
    name[0] = '\0';
    if (second >= end) { return false; }
    if (strcmp(program, "tanist") == 0) {
        if (strcmp(second, "run") != 0 && strcmp(second, "agent") != 0) {
            return name_of_node(second, end, name);
        }
        memcpy(name, "agent", sizeof "agent");
        return true;
    }
    bool found = false;
    for (const char *at = second; strcmp(program, "java") == 0 && at < end; at += strlen(at) + 1) {
        found = name_of_server(at, name) || found;
    }
    return found;
}

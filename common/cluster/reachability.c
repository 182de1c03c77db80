#include "common/cluster/reachability.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum reachability reachability_of(const char *address, const char *machine,
                                  const struct member *other)
{
    assert(address != NULL && machine != NULL);
    const bool known = *machine != '\0' && *other->machine != '\0';
    if (!known || strcmp(machine, other->machine) == 0) { return REACHABLE; }
    if (machine_address_is_local(address)) { return REACHABILITY_NOT_US; }
    return machine_address_is_local(other->address) ? REACHABILITY_NOT_THEM : REACHABLE;
}

void reachability_describe(enum reachability reach, const char *flag, const char *address,
                           const char *suggestion, const struct member *other,
                           char text[static REACHABILITY_TEXT_MAX])
{
    char task[TASK_NAME_MAX];
    assert(reach != REACHABLE);
    task_format(other->task, ':', task, sizeof task);
    if (reach == REACHABILITY_NOT_THEM) {
        snprintf(
            text, REACHABILITY_TEXT_MAX,
            "%s on %.63s registered %.100s, which only that host can reach: start it there "
            "with --host ADDRESS (tanist agent) or --listen tcp://ADDRESS:0, an address of %.63s "
            "that this host reaches",
            task, other->host, other->address, other->host);
        return;
    }
    snprintf(text, REACHABILITY_TEXT_MAX,
             "%s is %.100s, which only this host can reach, but %s of the same cluster runs on "
             "%.63s at %.100s: give %s an address of this host that the others reach%s%.60s",
             flag, address, task, other->host, other->address, flag,
             *suggestion ? ", for example " : "", suggestion);
}

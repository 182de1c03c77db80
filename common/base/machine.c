#include "common/base/machine.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void machine_identity(char out[static MACHINE_MAX])
{
    char boot[40] = "";
    struct stat network;
    out[0] = '\0';
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == NULL) { return; }
    const bool known = fgets(boot, sizeof boot, file) != NULL;
    fclose(file);
    if (!known || stat("/proc/self/ns/net", &network) != 0) { return; }
    boot[strcspn(boot, "\n")] = '\0';
    snprintf(out, MACHINE_MAX, "%s/%" PRIu64, boot, (uint64_t)network.st_ino);
}

void machine_other_address(char out[static MACHINE_ADDRESS_MAX])
{
    struct ifaddrs *list = NULL;
    out[0] = '\0';
    if (getifaddrs(&list) != 0) { return; }
    for (const struct ifaddrs *one = list; one != NULL && out[0] == '\0'; one = one->ifa_next) {
        struct sockaddr_in address;
        const bool usable = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
        if (!usable || one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET) { continue; }
        memcpy(&address, one->ifa_addr, sizeof address);
        (void)inet_ntop(AF_INET, &address.sin_addr, out, MACHINE_ADDRESS_MAX);
    }
    freeifaddrs(list);
}

bool machine_address_is_local(const char *address)
{
    static const char *const prefixes[] = {"127.", "[::1]", "[::]", NULL};
    static const char *const names[] = {"localhost", "0.0.0.0", "::1", "::", NULL};
    assert(address != NULL);
    const char *scheme = strstr(address, "://"), *host = scheme != NULL ? scheme + 3 : address;
    for (int i = 0; prefixes[i] != NULL; i++) {
        if (strncmp(host, prefixes[i], strlen(prefixes[i])) == 0) { return true; }
    }
    for (int i = 0; names[i] != NULL; i++) {
        const size_t length = strlen(names[i]);
        if (strncmp(host, names[i], length) != 0) { continue; }
        const char *port = host + length;
        if (*port == '\0' || (*port == ':' && strchr(port + 1, ':') == NULL)) { return true; }
    }
    return false;
}

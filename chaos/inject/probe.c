#include "chaos/inject/probe.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/cluster/lab.h"
#include "common/faults/failpoint.h"

/* Each of these tries one need in a process of its own, so that nothing is left of what it made. On
 * failure `why` is the reason. */

/* Run a nft script, or a command, in a lab of one component. */
static bool try_lab(const char *script, const char *const *command, char why[static PROBE_WHY_MAX])
{
    static const char *const names[] = {"probe"};
    assert((script != NULL) != (command != NULL));
    struct lab *lab = NULL;
    struct error error;
    enum tn_status status = lab_open(names, 1, NULL, &lab, &error);
    if (status == TN_OK) {
        status = script != NULL ? lab_nft(lab, names[0], script, &error)
                                : lab_command(lab, names[0], command, &error);
    }
    if (status != TN_OK) { snprintf(why, PROBE_WHY_MAX, "%.*s", PROBE_WHY_MAX - 1, error.text); }
    lab_close(lab);
    return status == TN_OK;
}

static bool try_network(char why[static PROBE_WHY_MAX])
{
    static const char script[] = "table inet probe {\n"
                                 "chain in {\n"
                                 "type filter hook input priority 0\n"
                                 "tcp dport 9 ct state established drop\n"
                                 "tcp dport 9 reject with tcp reset\n"
                                 "numgen random mod 100 < 5 drop\n"
                                 "}\n"
                                 "chain to {\n"
                                 "type nat hook prerouting priority -100\n"
                                 "tcp dport 9 redirect to :10\n"
                                 "}\n"
                                 "}\n";
    return try_lab(script, NULL, why);
}

static bool try_bandwidth(char why[static PROBE_WHY_MAX])
{
    static const char *const slow[] = {"tc",   "qdisc", "add",   "dev",  "eth0",    "root", "tbf",
                                       "rate", "1mbit", "burst", "32kb", "latency", "50ms", NULL};
    return try_lab(NULL, slow, why);
}

static bool try_tmpfs(char why[static PROBE_WHY_MAX])
{
    const char *what = "cannot create a mount namespace";
    if (unshare(CLONE_NEWNS) == 0) {
        what = "cannot mount a tmpfs";
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
            mount("tmpfs", "/tmp", "tmpfs", 0, "size=64k") == 0) {
            return true;
        }
    }
    snprintf(why, PROBE_WHY_MAX, "%s: %s", what, strerror(errno));
    return false;
}

/* The file `name` in the folder of `beside`. */
static bool find_beside(const char *beside, const char *name, char *path, size_t size)
{
    const char *slash = beside != NULL ? strrchr(beside, '/') : NULL;
    if (slash == NULL) { return false; }
    int used = snprintf(path, size, "%.*s/%s", (int)(slash - beside), beside, name);
    return used > 0 && (size_t)used < size && access(path, R_OK) == 0;
}

bool probe_find_shim(char *path, size_t size)
{
    /* In the program's folder in a build; in the library folder once installed. A program of the
     * user's may be anywhere, but uses libtanist in that folder. */
    static const char name[] = "tanist-faults.so";
    char program[PATH_MAX] = "";
    Dl_info self = {.dli_fname = NULL};
    assert(size > 0);
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) { program[0] = '\0'; }
    if (find_beside(program, name, path, size)) { return true; }
    if (find_beside(program, TANIST_LIBRARY_PATH "/tanist-faults.so", path, size)) { return true; }
    if (dladdr(name, &self) != 0 &&
        find_beside(self.dli_fname, "tanist/tanist-faults.so", path, size)) {
        return true;
    }
    path[0] = '\0';
    return false;
}

static bool try_shim(char why[static PROBE_WHY_MAX])
{
    char path[PATH_MAX];
    if (probe_find_shim(path, sizeof path)) { return true; }
    snprintf(why, PROBE_WHY_MAX,
             "tanist-faults.so is neither in the folder of the program, nor in %s of that folder, "
             "nor where libtanist is installed",
             TANIST_LIBRARY_PATH);
    return false;
}

static bool try_failpoints(char why[static PROBE_WHY_MAX])
{
    if (failpoints_built()) { return true; }
    snprintf(why, PROBE_WHY_MAX, "built without failpoints (cmake -DTANIST_FAILPOINTS=ON)");
    return false;
}

/* In the order of `enum need`. */
static bool (*const tries[NEED_COUNT])(char why[static PROBE_WHY_MAX]) = {
    try_network, try_bandwidth, try_shim, try_tmpfs, try_failpoints};

/* In a child, which writes the reason of a failure into memory that both share. */
static bool try_need(unsigned need, char *why)
{
    int status = -1;
    assert(need < NEED_COUNT);
    snprintf(why, PROBE_WHY_MAX, "cannot be tried");
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(tries[need](why) ? 0 : 1);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void probe_machine(struct probe *probe)
{
    struct probe *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *probe = (struct probe){0};
    for (unsigned i = 0; i < NEED_COUNT; i++) {
        if (shared == MAP_FAILED) {
            snprintf(probe->why_not[i], PROBE_WHY_MAX, "out of memory");
        } else if (try_need(i, shared->why_not[i])) {
            probe->has |= 1U << i;
        } else {
            memcpy(probe->why_not[i], shared->why_not[i], PROBE_WHY_MAX);
        }
    }
    if (shared != MAP_FAILED) { (void)munmap(shared, sizeof *shared); }
}

const char *probe_lacks(const struct probe *probe, unsigned wanted)
{
    for (unsigned i = 0; i < NEED_COUNT; i++) {
        if (wanted & ~probe->has & (1U << i)) { return probe->why_not[i]; }
    }
    return NULL;
}

const char *probe_lacking_need(const struct probe *probe, unsigned wanted)
{
    for (unsigned i = 0; i < NEED_COUNT; i++) {
        if (wanted & ~probe->has & (1U << i)) { return fault_need_name(i); }
    }
    return NULL;
}

json_t *probe_json(const struct probe *probe)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < NEED_COUNT; i++) {
        json_object_set_new(object, fault_need_name(i),
                            probe->has & (1U << i) ? json_true() : json_string(probe->why_not[i]));
    }
    return object;
}

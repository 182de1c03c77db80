#include "chaos/cluster/lab.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/ensemble/networks.h"
#include "agent/process.h"
#include "common/base/files.h"

enum { BATCH_MAX = 16 * 1024, OUTPUT_LINE_MAX = 400, FD_PATH_MAX = 64 };

#define SUBNET "10.77.0."
enum { HUB_HOST = 1, FIRST_HOST = 2 };

struct lab_component {
    char name[TASK_NAME_MAX];
    char address[NETWORK_ADDRESS_MAX];
    int namespace; /* Keeps the namespace alive, besides the processes in it. */
};

struct lab {
    int hub; /* The namespace of the hub. */
    unsigned count;
    struct lab_component *components; /* Owned. */
};

static const struct lab_component *find_component(const struct lab *lab, const char *name)
{
    assert(lab != NULL);
    assert(name != NULL);
    for (unsigned i = 0; i < lab->count; i++) {
        if (strcmp(lab->components[i].name, name) == 0) { return &lab->components[i]; }
    }
    return NULL;
}

const char *lab_address(const struct lab *lab, const char *component)
{
    const struct lab_component *found = find_component(lab, component);
    return found != NULL ? found->address : NULL;
}

bool lab_link(const struct lab *lab, const char *component, char name[static LAB_LINK_MAX])
{
    const struct lab_component *found = find_component(lab, component);
    if (found != NULL) {
        snprintf(name, LAB_LINK_MAX, "component%u", (unsigned)(found - lab->components));
    }
    return found != NULL;
}

int lab_namespace(const struct lab *lab, const char *component)
{
    const struct lab_component *found = find_component(lab, component);
    return found != NULL ? found->namespace : -1;
}

/* ------------------------------------------------------------- commands */

/* Valid for other processes too, until this one ends. */
static void format_fd_path(int fd, char path[static FD_PATH_MAX])
{
    snprintf(path, FD_PATH_MAX, "/proc/%ld/fd/%d", (long)getpid(), fd);
}

/* A memory file that holds `text`; -1: see errno. */
static int open_memory(const char *name, const char *text)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    size_t size = strlen(text);
    if (fd < 0 || size == 0 || write(fd, text, size) == (ssize_t)size) { return fd; }
    close(fd);
    return -1;
}

/* The path of a program: on PATH, or in the administrators' folders, which a user's PATH omits. */
static bool find_program(const char *name, char path[static PATH_MAX])
{
    static const char *const more = "/usr/sbin:/sbin:/usr/bin:/bin";
    const char *given = getenv("PATH");
    char folders[PATH_MAX];
    snprintf(folders, sizeof folders, "%s:%s", given != NULL ? given : "", more);
    char *rest = folders;
    for (char *folder; (folder = strsep(&rest, ":"));) {
        if (!*folder || snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) { continue; }
        if (access(path, X_OK) == 0) { return true; }
    }
    return false;
}

static void read_first_line(int fd, char line[static OUTPUT_LINE_MAX])
{
    ssize_t size = pread(fd, line, OUTPUT_LINE_MAX - 1, 0);
    if (size < 0) { size = 0; }
    line[size] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

static enum tn_status run_program(const char *path, const char *const *argv, const char *network,
                                  int output, struct error *error)
{
    char line[OUTPUT_LINE_MAX], end[128];
    struct process process;
    int exit_code = 0, signal_number = 0;
    assert(path != NULL);
    assert(output > 0);
    const struct process_config config = {.program = path,
                                          .arguments = argv,
                                          .environment = environ,
                                          .output = output,
                                          .network = network};
    enum tn_status status = process_start(&config, &process, error);
    if (status != TN_OK) { return error_set(error, TN_ENOTSUP, "cannot start %s", path); }
    process_reap(&process, &exit_code, &signal_number);
    if (exit_code == 0 && signal_number == 0) { return TN_OK; }
    read_first_line(output, line);
    process_describe_end(exit_code, signal_number, end, sizeof end);
    return error_set(error, TN_ENOTSUP, "%s: %s", argv[0], line[0] != '\0' ? line : end);
}

/* Run a command in the namespace `fd`; -1: in the current one. */
static enum tn_status run_command(int fd, const char *const *argv, struct error *error)
{
    char path[PATH_MAX], network[FD_PATH_MAX];
    assert(argv[0] != NULL);
    if (!find_program(argv[0], path)) {
        return error_set(error, TN_ENOTSUP, "%s is not on PATH", argv[0]);
    }
    int output = open_memory("output", "");
    if (output < 0) { return error_set(error, TN_EIO, "memfd_create: %s", strerror(errno)); }
    if (fd >= 0) { format_fd_path(fd, network); }
    enum tn_status status = run_program(path, argv, fd >= 0 ? network : NULL, output, error);
    close(output);
    return status;
}

/* Run `program option FILE`, where FILE holds `script`. */
static enum tn_status run_script(int fd, const char *program, const char *option,
                                 const char *script, struct error *error)
{
    char path[FD_PATH_MAX];
    assert(script != NULL);
    int file = open_memory("script", script);
    if (file < 0) { return error_set(error, TN_EIO, "memfd_create: %s", strerror(errno)); }
    format_fd_path(file, path);
    const char *const argv[] = {program, option, path, NULL};
    enum tn_status status = run_command(fd, argv, error);
    close(file);
    return status;
}

static enum tn_status unknown_component(const char *component, struct error *error)
{
    return error_set(error, TN_ENOTSUP, "%s has no network of its own", component);
}

enum tn_status lab_nft(struct lab *lab, const char *component, const char *script,
                       struct error *error)
{
    int fd = lab_namespace(lab, component);
    return fd < 0 ? unknown_component(component, error)
                  : run_script(fd, "nft", "-f", script, error);
}

enum tn_status lab_command(struct lab *lab, const char *component, const char *const *argv,
                           struct error *error)
{
    if (component == NULL) { return run_command(lab->hub, argv, error); }
    int fd = lab_namespace(lab, component);
    return fd < 0 ? unknown_component(component, error) : run_command(fd, argv, error);
}

enum tn_status lab_enter(const struct lab *lab, const char *component, struct error *error)
{
    int fd = lab_namespace(lab, component);
    if (fd < 0) { return unknown_component(component, error); }
    if (setns(fd, CLONE_NEWNET) == 0) { return TN_OK; }
    return error_set(error, TN_ENOTSUP, "cannot enter the network of %s: %s", component,
                     strerror(errno));
}

void lab_leave(const struct lab *lab)
{
    int left = setns(lab->hub, CLONE_NEWNET);
    assert(left == 0); /* The process came from there and holds it open. */
    (void)left;
}

/* ------------------------------------------------------------- making it */

static int open_own_namespace(void)
{
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static enum tn_status no_namespace(struct error *error)
{
    return error_set(error, TN_ENOTSUP, "cannot make a network namespace: %s%s", strerror(errno),
                     errno == EPERM ? " (run as root)" : "");
}

/* A new namespace, which only the descriptor keeps alive; this thread is in it. */
static enum tn_status make_namespace(int *out, struct error *error)
{
    if (unshare(CLONE_NEWNET) != 0) { return no_namespace(error); }
    *out = open_own_namespace();
    return *out < 0 ? no_namespace(error) : TN_OK;
}

static enum tn_status make_namespaces(struct lab *lab, struct error *error)
{
    assert(lab->hub < 0);
    enum tn_status status = make_namespace(&lab->hub, error);
    if (status != TN_OK) { return status; }
    for (unsigned i = 0; status == TN_OK && i < lab->count; i++) {
        status = make_namespace(&lab->components[i].namespace, error);
    }
    lab_leave(lab);
    return status;
}

/* Input of `ip -batch`. */
struct batch {
    size_t length;
    char text[BATCH_MAX];
};

static __attribute__((format(printf, 2, 3))) void add_line(struct batch *batch, const char *format,
                                                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    assert(batch->length < sizeof batch->text);
    size_t room = sizeof batch->text - batch->length;
    int length = vsnprintf(batch->text + batch->length, room, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < room) { batch->length += (size_t)length; }
}

/* The bridge, and a link from it to each component. */
static enum tn_status make_links(const struct lab *lab, struct batch *batch, struct error *error)
{
    char path[FD_PATH_MAX];
    batch->length = 0;
    add_line(batch,
             "link set lo up\n"
             "link add hub type bridge\n"
             "addr add " SUBNET "%d/24 dev hub\n"
             "link set hub up\n",
             HUB_HOST);
    for (unsigned i = 0; i < lab->count; i++) {
        format_fd_path(lab->components[i].namespace, path);
        add_line(batch,
                 "link add component%u type veth peer name eth0 netns %s\n"
                 "link set component%u master hub up\n",
                 i, path, i);
    }
    return run_script(-1, "ip", "-batch", batch->text, error);
}

static enum tn_status set_addresses(const struct lab *lab, struct batch *batch, struct error *error)
{
    enum tn_status status = TN_OK;
    for (unsigned i = 0; status == TN_OK && i < lab->count; i++) {
        batch->length = 0;
        add_line(batch,
                 "link set lo up\n"
                 "addr add %s/24 dev eth0\n"
                 "link set eth0 up\n",
                 lab->components[i].address);
        status = run_script(lab->components[i].namespace, "ip", "-batch", batch->text, error);
    }
    return status;
}

static enum tn_status make_network(const struct lab *lab, struct error *error)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = make_links(lab, batch, error);
    if (status == TN_OK) { status = set_addresses(lab, batch, error); }
    free(batch);
    return status;
}

static enum tn_status write_networks(const struct lab *lab, const char *path, struct error *error)
{
    char namespace[FD_PATH_MAX];
    json_t *networks = json_object();
    for (unsigned i = 0; i < lab->count; i++) {
        format_fd_path(lab->components[i].namespace, namespace);
        json_object_set_new(
            networks, lab->components[i].name,
            json_pack("{s:s, s:s}", "namespace", namespace, "address", lab->components[i].address));
    }
    json_t *root = json_pack("{s:i, s:o}", "version", 1, "networks", networks);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (text == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = files_write_atomic(path, text, strlen(text), error);
    free(text);
    return status;
}

enum tn_status lab_open(const char *const *names, unsigned count, const char *networks_path,
                        struct lab **out, struct error *error)
{
    assert(names != NULL);
    *out = NULL;
    if (count > NETWORKS_MAX) {
        return error_set(error, TN_EINVAL, "%u network namespaces are too many: at most %d", count,
                         NETWORKS_MAX);
    }
    struct lab *lab = calloc(1, sizeof *lab);
    struct lab_component *components = calloc(count, sizeof *components);
    if (lab == NULL || components == NULL) {
        free(lab);
        free(components);
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    lab->hub = -1;
    lab->count = count;
    lab->components = components;
    for (unsigned i = 0; i < count; i++) {
        snprintf(components[i].name, sizeof components[i].name, "%s", names[i]);
        snprintf(components[i].address, sizeof components[i].address, SUBNET "%u", FIRST_HOST + i);
        components[i].namespace = -1;
    }
    enum tn_status status = make_namespaces(lab, error);
    if (status == TN_OK) { status = make_network(lab, error); }
    if (status == TN_OK && networks_path != NULL) {
        status = write_networks(lab, networks_path, error);
    }
    if (status == TN_OK) {
        *out = lab;
    } else {
        lab_close(lab);
    }
    return status;
}

void lab_close(struct lab *lab)
{
    if (lab == NULL) { return; }
    for (unsigned i = 0; i < lab->count; i++) {
        if (lab->components[i].namespace >= 0) { close(lab->components[i].namespace); }
    }
    if (lab->hub >= 0) { close(lab->hub); }
    free(lab->components);
    free(lab);
}

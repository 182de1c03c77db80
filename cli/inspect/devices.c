/* cli/inspect/devices.c: `tanist devices`: the GPUs of this machine and its cuBLAS, or why there
 * are none. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "kernels/gpu/cublas.h"
#include "kernels/gpu/devices.h"
#include "tanist/status.h"

enum { MIB = 1024 * 1024 };

/* The GPUs and the cuBLAS of this machine. */
struct found {
    const struct gpu_devices *devices;
    const char *reason; /* Why there is no GPU; NULL: there is one. */
    struct cublas_version cublas;
    struct error no_cublas; /* TN_OK: there is one. */
};

static bool has_cublas(const struct found *found)
{
    return found->no_cublas.status == TN_OK;
}

/* One line; GPUs compute without cuBLAS, too. */
static bool print_cublas(const struct found *found)
{
    const struct cublas_version *cublas = &found->cublas;
    if (!has_cublas(found)) {
        return printf("cuBLAS cannot be used: %s\n", found->no_cublas.text) >= 0;
    }
    return printf("cuBLAS %d.%d.%d, from %s\n", cublas->major, cublas->minor, cublas->patch,
                  cublas->file) >= 0;
}

static int print_table(const struct gpu_devices *devices)
{
    static const struct table_column columns[] = {
        {"GPU", TABLE_LEFT},         {"NAME", TABLE_LEFT},    {"CAPABILITY", TABLE_RIGHT},
        {"PROCESSORS", TABLE_RIGHT}, {"MEMORY", TABLE_RIGHT}, {"FREE", TABLE_RIGHT},
    };
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < devices->count; i++) {
        const struct gpu_device *device = &devices->list[i];
        table_cell(&table, "/gpu:%" PRIu32, i);
        table_cell(&table, "%s", device->name);
        table_cell(&table, "%" PRIu32 ".%" PRIu32, device->major, device->minor);
        table_cell(&table, "%" PRIu32, device->multiprocessors);
        table_cell(&table, "%" PRIu64 " MiB", device->memory_bytes / MIB);
        if (device->problem[0] != '\0') {
            table_no_value(&table);
        } else {
            table_cell(&table, "%" PRIu64 " MiB", device->free_bytes / MIB);
        }
    }
    if (!table_print(&table, stdout)) { return TN_EXIT_IO; }
    const int written = printf("\nthe driver supports CUDA %" PRIu32 ".%" PRIu32 "\n",
                               devices->driver_major, devices->driver_minor);
    return written < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

static json_t *device_json(const struct gpu_device *device, uint32_t index)
{
    char capability[32];
    (void)snprintf(capability, sizeof capability, "%" PRIu32 ".%" PRIu32, device->major,
                   device->minor);
    const bool works = device->problem[0] == '\0';
    return json_pack("{s:i, s:s, s:s, s:i, s:I, s:o, s:o}", "index", (int)index, "name",
                     device->name, "compute_capability", capability, "multiprocessors",
                     (int)device->multiprocessors, "memory_bytes", (json_int_t)device->memory_bytes,
                     "free_bytes",
                     works ? json_integer((json_int_t)device->free_bytes) : json_null(), "problem",
                     works ? json_null() : json_string(device->problem));
}

static json_t *cublas_json(const struct found *found)
{
    const struct cublas_version *cublas = &found->cublas;
    char version[48];
    (void)snprintf(version, sizeof version, "%d.%d.%d", cublas->major, cublas->minor,
                   cublas->patch);
    const bool works = has_cublas(found);
    return json_pack("{s:o, s:o, s:o}", "version", works ? json_string(version) : json_null(),
                     "file", works ? json_string(cublas->file) : json_null(), "problem",
                     works ? json_null() : json_string(found->no_cublas.text));
}

static int print_json(const struct found *found)
{
    const struct gpu_devices *devices = found->devices;
    const char *reason = found->reason;
    char driver[32];
    (void)snprintf(driver, sizeof driver, "%" PRIu32 ".%" PRIu32, devices->driver_major,
                   devices->driver_minor);
    json_t *list = json_array();
    for (uint32_t i = 0; i < devices->count; i++) {
        json_array_append_new(list, device_json(&devices->list[i], i));
    }
    return output_json(json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", 1, "driver_cuda",
                                 reason == NULL ? json_string(driver) : json_null(), "devices",
                                 list, "reason", reason == NULL ? json_null() : json_string(reason),
                                 "cublas", cublas_json(found)),
                       JSON_INDENT(2));
}

/* A machine without a GPU is not an error: the list is empty, and the message has the reason. */
static int print(const struct gpu_devices *devices, const char *format, const char *reason)
{
    struct found found = {.devices = devices, .reason = reason};
    found.no_cublas.status = cublas_find_version(&found.cublas, &found.no_cublas);
    if (output_is_json(format)) { return print_json(&found); }
    const int code = reason == NULL ? print_table(devices) : TN_EXIT_OK;
    if (code != TN_EXIT_OK || !print_cublas(&found)) { return TN_EXIT_IO; }
    if (reason != NULL) { output_message(LOG_WARN, "this machine has no GPU: %s", reason); }
    return TN_EXIT_OK;
}

/* Devices that cannot be used are listed, and are an error. */
static int report_problems(const struct gpu_devices *devices)
{
    int code = TN_EXIT_OK;
    for (uint32_t i = 0; i < devices->count; i++) {
        if (devices->list[i].problem[0] == '\0') { continue; }
        output_message(LOG_ERROR, "/gpu:%" PRIu32 " cannot be used: %s", i,
                       devices->list[i].problem);
        code = TN_EXIT_ERROR;
    }
    return code;
}

int command_devices(int argc, char **argv)
{
    const char *format = NULL;
    int code = 0;
    struct error error = {.text = ""};
    const struct gpu_driver *driver = NULL;
    struct options options = {
        .command = "devices",
        .synopsis = "[OPTION]...",
        .about = "List the GPUs that NVIDIA's driver shows, or print why there are none, and\n"
                 "print the version and the file of cuBLAS, or why it cannot be used.\n"
                 "CUDA_VISIBLE_DEVICES chooses GPUs. Exit status 1 when the driver or a GPU fails.",
        .examples = "  tanist devices\n"
                    "  CUDA_VISIBLE_DEVICES=1 tanist devices -o json\n",
    };
    output_option_table(&options, &format);
    if (!options_parse(&options, argc, argv, &code)) { return code; }
    struct gpu_devices *devices = calloc(1, sizeof *devices);
    if (devices == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = gpu_driver_open(&driver, &error);
    if (status == TN_OK) { status = gpu_devices_list(driver, devices, &error); }
    if (status == TN_OK || status == TN_ENOENT) {
        code = print(devices, format, status == TN_OK ? NULL : error.text);
        if (code == TN_EXIT_OK) { code = report_problems(devices); }
    } else {
        code = command_failed(&error);
    }
    free(devices);
    return code;
}

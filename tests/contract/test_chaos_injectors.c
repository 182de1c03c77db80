/* chaos/inject/inject_*.c against a real cluster: each fault is injected and undone, and the run
 * continues. All tests share one cluster, which is stopped at the end. */
#include <dirent.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/observe/run_note.h"
#include "chaos/cluster/subprocess.h"
#include "chaos/inject/inject_disk_full.h"
#include "chaos/inject/injector.h"
#include "common/base/clock.h"
#include "tests/support/patience.h"

enum { TICK_MS = 20, WAIT_MS = 60000, SMALL_MS = 400, ENVIRONMENT_MAX = 512 };

/* Many checkpoints are kept: an injector damages some, and the last intact one must not be removed
 * meanwhile. */
static const char job_text[] =
    "{\"name\":\"injectors\",\"model\":{\"type\":\"linear\",\"inputs\":32,\"outputs\":4,"
    "\"hidden\":[]},\"data\":{\"type\":\"synthetic\",\"examples\":1024,\"test_examples\":256,"
    "\"noise\":0.1},\"train\":{\"mode\":\"async\",\"steps\":500000000,\"batch\":32,\"slices\":4,"
    "\"learning_rate\":0.001},\"checkpoint\":{\"every_seconds\":1,\"keep\":50},\"cluster\":{"
    "\"coordinators\":2,\"ps\":2,\"workers\":1},\"zookeeper\":{\"servers\":1,\"session_timeout_"
    "ms\":1500}}";

static struct job job;
static struct target_cluster cluster;
static struct subprocess run;
static bool has_device;
static char program[PATH_MAX], preload[PATH_MAX + 16], faults[TARGET_PATH_MAX + 64];
static char *environment[ENVIRONMENT_MAX];
extern char **environ;

/* ------------------------------------------------------------- the cluster */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Wait a moment and read the state of the cluster. */
static void refresh(void)
{
    struct run_note note;
    (void)poll(NULL, 0, TICK_MS);
    cluster.components[0].pid = subprocess_has_ended(&run) ? 0 : run.process.pid;
    target_cluster_refresh(&cluster);
    if (run_note_read(cluster.run_dir, &note, NULL) == TN_OK) {
        snprintf(cluster.connect, sizeof cluster.connect, "%s", note.connect);
    }
    /* Injectors only need to know that there is a chief. */
    snprintf(cluster.chief, sizeof cluster.chief, "%s", "coordinator:0");
}

static bool all_up(void)
{
    for (uint32_t i = 0; i < cluster.count; i++) {
        if (cluster.components[i].pid <= 0) { return false; }
    }
    return true;
}

/* The highest id of a checkpoint with a manifest. */
static uint64_t newest_checkpoint(void)
{
    char path[2 * TARGET_PATH_MAX];
    uint64_t newest = 0;
    snprintf(path, sizeof path, "%s/checkpoints", cluster.run_dir);
    DIR *folder = opendir(path);
    if (folder == NULL) { return 0; }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        uint64_t id = strtoull(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "%s/checkpoints/%.32s/manifest.json", cluster.run_dir,
                 entry->d_name);
        if (id > newest && access(path, F_OK) == 0) { newest = id; }
    }
    closedir(folder);
    return newest;
}

/* The end of the run's log, for the reader of a failure. */
static void print_log(void)
{
    char line[512];
    FILE *file = fopen(run.log, "re");
    if (file == NULL) { return; }
    (void)!fseek(file, -4000, SEEK_END); /* A shorter file is printed whole. */
    while (fgets(line, sizeof line, file) != NULL) { print_message("  | %s", line); }
    (void)!fclose(file);
}

/* All processes run, until there are `more` new checkpoints. */
static void expect_progress(uint64_t more)
{
    uint64_t begin_ms = clock_monotonic_ms(), from = newest_checkpoint();
    while (!all_up() || newest_checkpoint() < from + more) {
        refresh();
        if (run.ended) { fail_msg("the run ended with exit code %d", run.exit_code); }
        if (clock_monotonic_ms() > begin_ms + patience_ms(WAIT_MS)) {
            print_log();
            fail_msg("it did not recover in time: %s, newest checkpoint %" PRIu64 " of %" PRIu64,
                     all_up() ? "all processes run" : "a process is missing", newest_checkpoint(),
                     from + more);
        }
    }
}

/* A sanitizer must be the first library that is loaded, unless this option is set. */
static void make_environment(void)
{
    static const char asan[] = "ASAN_OPTIONS=";
    static char options[256];
    size_t count = 0;
    for (char **entry = environ; *entry != NULL && count < ENVIRONMENT_MAX - 4; entry++) {
        if (strncmp(*entry, asan, sizeof asan - 1) != 0) { environment[count++] = *entry; }
    }
    const char *given = getenv("ASAN_OPTIONS");
    snprintf(options, sizeof options, "%s%.150s:verify_asan_link_order=0", asan,
             given != NULL ? given : "");
    environment[count++] = options;
    environment[count++] = preload;
    environment[count++] = faults;
    cluster.environment = environment;
}

static void make_control(void)
{
    const char *names[COMPONENTS_MAX];
    struct error error;
    for (uint32_t i = 0; i < cluster.count; i++) { names[i] = cluster.components[i].name; }
    const char *path = strchr(faults, '=') + 1;
    if (fault_control_create(path, names, cluster.count, &cluster.control, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
}

static void write_job(void)
{
    snprintf(cluster.job_file, sizeof cluster.job_file, "%.900s/job.json", cluster.dir);
    FILE *file = fopen(cluster.job_file, "w");
    assert_non_null(file);
    assert_true(fputs(job_text, file) >= 0);
    fclose(file);
    job_init(&job);
    assert_int_equal(job_read_text(&job, job_text, strlen(job_text), "test", NULL), TN_OK);
}

/* Mounts of this process are not visible to others, and end with it. */
static bool own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static int start(void **state)
{
    char dir[] = "/tmp/tanist-injectors-XXXXXX";
    (void)state;
    has_device = own_mounts();
    if (mkdtemp(dir) == NULL) { return -1; }
    snprintf(cluster.dir, sizeof cluster.dir, "%s", dir);
    write_job();
    char kept[sizeof cluster.dir], file[sizeof cluster.job_file];
    memcpy(kept, cluster.dir, sizeof kept);
    memcpy(file, cluster.job_file, sizeof file);
    target_cluster_init(&cluster, &job);
    memcpy(cluster.dir, kept, sizeof kept);
    memcpy(cluster.job_file, file, sizeof file);
    snprintf(cluster.run_dir, sizeof cluster.run_dir, "%s/run", dir);
    cluster.program = program;
    snprintf(faults, sizeof faults, FAULTS_VARIABLE "=%s/faults.ctl", dir);
    make_environment();
    make_control();
    has_device = has_device && disk_full_prepare(&cluster, NULL) == TN_OK;
    const char *const arguments[] = {"tanist", "run", cluster.job_file, "--dir", cluster.run_dir,
                                     "-q",     NULL};
    struct error error;
    if (subprocess_start(&cluster, NULL, "run", arguments, &run, &error) != TN_OK) { return -1; }
    expect_progress(3);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    if (!subprocess_has_ended(&run)) { kill(run.process.pid, SIGTERM); }
    for (int i = 0; i < 500 && !subprocess_has_ended(&run); i++) { (void)poll(NULL, 0, TICK_MS); }
    subprocess_stop(&run);
    disk_full_cleanup(&cluster, false);
    fault_control_close(cluster.control);
    return nftw(cluster.dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ------------------------------------------------------------- the faults */

/* Inject a fault, tick it and undo it; `text` is the final text. */
static void inject(enum fault kind, const char *selector, uint64_t for_ms, double value,
                   char text[static FAULT_TEXT_MAX])
{
    struct active_fault fault = {
        .injection = {.id = (uint32_t)kind, .fault = kind, .for_ms = for_ms, .value = value}};
    struct error error = {.text = ""};
    const struct injector *injector = injector_of(kind, false);
    snprintf(fault.injection.selector, sizeof fault.injection.selector, "%s", selector);
    uint64_t begin_ms = clock_monotonic_ms();
    enum tn_status status;
    while ((status = injector_begin(injector, &cluster, &fault, &error)) == TN_EAGAIN) {
        refresh();
        if (clock_monotonic_ms() > begin_ms + patience_ms(WAIT_MS)) {
            fail_msg("not injected: %s", error.text);
        }
    }
    if (status != TN_OK) { fail_msg("not injected: %s", error.text); }
    print_message("  %s\n", fault.text);
    begin_ms = clock_monotonic_ms();
    while (clock_monotonic_ms() < begin_ms + fault.injection.for_ms) {
        refresh();
        if (injector->tick != NULL) { injector->tick(&cluster, &fault); }
    }
    if (fault.injection.for_ms > 0) { injector_end(injector, &cluster, &fault); }
    print_message("  %s\n", fault.text);
    snprintf(text, FAULT_TEXT_MAX, "%s", fault.text);
}

static void expect_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) { fail_msg("\"%s\" does not contain \"%s\"", text, part); }
}

/* A second process for a running task is refused with its own exit code. */
static void second_process_of_a_task_is_refused(void **state)
{
    char text[FAULT_TEXT_MAX];
    (void)state;
    inject(FAULT_TWICE, "ps:1", 0, 0, text);
    expect_in(text, "refused, exit code 13");
    inject(FAULT_TWICE, "coordinator:0", 0, 0, text);
    expect_in(text, "refused, exit code 13");
}

/* A second run is refused in the same folder and under the same name. */
static void second_cluster_is_refused(void **state)
{
    char text[FAULT_TEXT_MAX];
    (void)state;
    inject(FAULT_TWO_CLUSTERS, "cluster", 0, 0, text);
    expect_in(text, "a run in the same folder: refused, exit code 3");
    expect_in(text, "a run of the same name: refused, exit code 3");
}

/* A node with another job file is refused. */
static void node_with_another_job_is_refused(void **state)
{
    char text[FAULT_TEXT_MAX];
    (void)state;
    inject(FAULT_MIXED_JOBS, "worker:0", 0, 0, text);
    expect_in(text, "refused, exit code 3");
    inject(FAULT_MIXED_JOBS, "coordinator:1", 0, 0, text);
    expect_in(text, "refused, exit code 3");
}

/* The chief resigns when asked; a pause stops the workers until it ends. */
static void requests_are_granted(void **state)
{
    char text[FAULT_TEXT_MAX];
    (void)state;
    inject(FAULT_RESIGN, "cluster", 0, 0, text);
    expect_in(text, "there was another chief");
    inject(FAULT_PAUSE, "cluster", SMALL_MS, 0, text);
    expect_in(text, "the workers were paused");
    expect_in(text, "the run continued");
    expect_progress(1);
}

/* Damage of each kind is detected: the run continues from the checkpoint before. */
static void damage_is_detected(void **state)
{
    static const enum fault kinds[] = {FAULT_FLIP_BITS, FAULT_TRUNCATE, FAULT_SWAP_SHARDS,
                                       FAULT_STALE_SHARD};
    char text[FAULT_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        inject(kinds[i], kinds[i] == FAULT_SWAP_SHARDS ? "cluster" : "ps:1", 0, 0, text);
        expect_in(text, "SIGKILL");
        expect_progress(2);
    }
}

/* The run survives limits, whether or not the process does. */
static void limits_are_survived(void **state)
{
    char text[FAULT_TEXT_MAX];
    (void)state;
    inject(FAULT_MEMORY, "worker:0", SMALL_MS, 0, text);
    expect_progress(1);
    inject(FAULT_DESCRIPTORS, "ps:0", 3 * SMALL_MS, 0, text);
    expect_progress(1);
}

/* Disks that fail, are slow or full cost checkpoints, and nothing else. */
static void disk_faults_are_survived(void **state)
{
    char text[FAULT_TEXT_MAX];
    (void)state;
    inject(FAULT_SYNC_FAILS, "ps:0", 4 * SMALL_MS, 0, text);
    expect_in(text, "operations were affected");
    inject(FAULT_SYNC_SLOW, "ps:1", 4 * SMALL_MS, 200, text);
    inject(FAULT_DISK_ERROR, "zookeeper:1", SMALL_MS, 0, text);
    if (has_device) { inject(FAULT_DISK_FULL, "ps:0", 4 * SMALL_MS, 0, text); }
    expect_progress(2);
}

/* No decision depends on the wall clock. */
static void clock_jumps_are_survived(void **state)
{
    char text[FAULT_TEXT_MAX];
    (void)state;
    inject(FAULT_CLOCK_JUMP, "coordinator:0", SMALL_MS, 3600000, text);
    inject(FAULT_CLOCK_JUMP, "ps:0", 2 * SMALL_MS, -86400000, text);
    expect_in(text, "right again");
    inject(FAULT_CLOCK_JUMP, "zookeeper:1", SMALL_MS, 3600000, text);
    expect_progress(2);
}

/* The program, and the library in its folder. */
static int find_program(void)
{
    const char *given = getenv("TANIST_PROGRAM");
    snprintf(program, sizeof program, "%s", given != NULL ? given : "build/tanist");
    const char *slash = strrchr(program, '/');
    snprintf(preload, sizeof preload, "LD_PRELOAD=%.*s/tanist-faults.so",
             slash != NULL ? (int)(slash - program) : 1, slash != NULL ? program : ".");
    return access(program, X_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_process_of_a_task_is_refused),
        cmocka_unit_test(second_cluster_is_refused),
        cmocka_unit_test(node_with_another_job_is_refused),
        cmocka_unit_test(requests_are_granted),
        cmocka_unit_test(disk_faults_are_survived),
        cmocka_unit_test(damage_is_detected),
        cmocka_unit_test(limits_are_survived),
        cmocka_unit_test(clock_jumps_are_survived),
    };
    if (find_program() != 0) {
        fprintf(stderr, "%s does not exist: build all targets\n", program);
        return 1;
    }
    return cmocka_run_group_tests(tests, start, finish);
}

/* A worker that is refused: the remedy that it logs fits the difference of the fingerprints. */
#include "worker/refusal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#define PORTABLE "portable: version 1"
#define CUBLAS   PORTABLE "; cuBLAS 13.1.0, capability 9.0, 132 multiprocessors"

static char line[4096];

/* The log of a worker with the fingerprint `ours` in a run with `run`, in `line`. */
static const char *logged(const char *run, const char *ours)
{
    static struct job job;
    struct inputs theirs = {.from = "worker:0"}, own = {.from = ""};
    FILE *file = tmpfile();
    assert_non_null(file);
    const int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0);
    job_init(&job);
    snprintf(theirs.fingerprint, sizeof theirs.fingerprint, "%s", run);
    snprintf(own.fingerprint, sizeof own.fingerprint, "%s", ours);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    const bool refused = refusal_log(&job, &theirs, &own);
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    assert_true(refused);
    close(saved);
    rewind(file);
    line[fread(line, 1, sizeof line - 1, file)] = '\0';
    fclose(file);
    return line;
}

/* The run's precision, if nothing else differs; kernels, versions and types of GPUs come first. */
static void remedy_fits_the_difference(void **state)
{
    (void)state;
    static const struct {
        const char *run, *ours, *remedy;
    } cases[] = {
        {CUBLAS ", tf32", CUBLAS ", bf16", "set train.precision=tf32"},
        {CUBLAS ", bf16", CUBLAS, "set train.precision=bf16"},
        {CUBLAS, CUBLAS ", tf32", "set train.precision=float32"},
        {CUBLAS "x", CUBLAS, "set train.precision=float32"}, /* A damaged /spec. */
        {CUBLAS, PORTABLE "; cuBLAS 12.0.0, capability 9.0, 132 multiprocessors",
         "use the same version of cuBLAS and GPUs of this type"},
        {CUBLAS, PORTABLE "; cuBLAS 13.1.0, capability 9.0, 13 multiprocessors, tf32",
         "use the same version of cuBLAS and GPUs of this type"},
        {CUBLAS ", tf32", PORTABLE, "set train.kernels=cublas"},
        {PORTABLE, CUBLAS, "set train.kernels=portable"},
        {PORTABLE, "portable: version 2", "use the same version of tanist"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strstr(logged(cases[i].run, cases[i].ours), cases[i].remedy) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].remedy, line);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remedy_fits_the_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

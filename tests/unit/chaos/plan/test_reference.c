/* docs/chaos.md has tables of all faults, plans and failpoints. They are made here, from the lists
 * in the code. After a change of a list, write them again:
 *
 *     TANIST_REWRITE_GOLDEN=1 ctest --test-dir build -R chaos_plan_reference
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos/plan/fault.h"
#include "chaos/plan/plan.h"
#include "common/faults/failpoint.h"

static const char path[] = "docs/chaos.md";
static char document[64 * 1024], rewritten[sizeof document];

/* "node, zookeeper" */
static const char *targets_of(enum fault fault)
{
    static char text[80];
    const char *target;
    size_t used = 0;
    for (unsigned i = 0; (target = fault_target_name(fault, i)) != NULL; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "", target);
    }
    return text;
}

static const char *need_of(const struct fault_descriptor *fault)
{
    for (unsigned i = 0; i < NEED_COUNT; i++) {
        if (fault->needs == 1U << i) { return fault_need_name(i); }
    }
    return "";
}

static void write_faults(FILE *out)
{
    fputs("| fault | targets | lasts | value | needs | what it does |\n|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_descriptor *fault = fault_descriptor((enum fault)i);
        fprintf(out, "| `%s` | %s | %s | %s | %s | %s |\n", fault->name, targets_of((enum fault)i),
                fault_duration_name(fault->duration),
                fault->value.unit != NULL ? fault->value.unit : "", need_of(fault), fault->about);
    }
}

static void write_plans(FILE *out)
{
    const char *name;
    fputs("| plan | what it does |\n|---|---|\n", out);
    for (uint32_t i = 0; (name = plan_builtin_name(i)) != NULL; i++) {
        struct plan plan;
        assert_int_equal(plan_read(name, &plan, NULL), TN_OK);
        fprintf(out, "| `%s` | %s |\n", name, plan.about);
        plan_free(&plan);
    }
}

static void write_failpoints(FILE *out)
{
    unsigned count;
    const struct failpoint_info *list = failpoint_list(&count);
    fputs("| failpoint | passed by | when | can fail |\n|---|---|---|---|\n", out);
    for (unsigned i = 0; i < count; i++) {
        const char *who = list[i].passed_by;
        if (strcmp(who, "any") == 0) { who = "any node"; }
        if (strcmp(who, "gpu") == 0) { who = "a worker or ps with a GPU"; }
        fprintf(out, "| `%s` | %s | %s | %s |\n", list[i].name, who, list[i].when,
                list[i].can_fail ? "yes" : "");
    }
}

static const struct {
    const char *begin; /* The line before the table; an empty line ends the table. */
    void (*write)(FILE *out);
} tables[] = {
    {"<!-- The list of plans, written by tests/unit/chaos/plan/test_reference.c. -->\n\n",
     write_plans},
    {"<!-- The list of faults, written by tests/unit/chaos/plan/test_reference.c. -->\n\n",
     write_faults},
    {"<!-- The list of failpoints, written by tests/unit/chaos/plan/test_reference.c. -->\n\n",
     write_failpoints},
};

static void read_document(void)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
}

/* The document with current tables. */
static void rewrite_document(void)
{
    const char *from = document;
    FILE *out = fmemopen(rewritten, sizeof rewritten, "w");
    assert_non_null(out);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const char *begin = strstr(from, tables[i].begin);
        if (begin == NULL) { fail_msg("%s lacks: %s", path, tables[i].begin); }
        begin += strlen(tables[i].begin);
        fprintf(out, "%.*s", (int)(begin - from), from);
        tables[i].write(out);
        from = strstr(begin, "\n\n");
        assert_non_null(from);
        from++;
    }
    fputs(from, out);
    assert_int_equal(fclose(out), 0);
}

/* The tables in the document are those of the code. */
static void tables_are_current(void **state)
{
    (void)state;
    read_document();
    rewrite_document();
    if (getenv("TANIST_REWRITE_GOLDEN") != NULL) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fputs(rewritten, file);
        assert_int_equal(fclose(file), 0);
    } else if (strcmp(document, rewritten) != 0) {
        fail_msg("tables of %s are out of date: write them again with TANIST_REWRITE_GOLDEN=1",
                 path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_current)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

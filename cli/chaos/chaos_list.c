/* cli/chaos/chaos_list.c: `tanist chaos list [PLAN]`: the plans, faults and failpoints, and which
 * faults this machine supports. */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "chaos/inject/probe.h"
#include "chaos/plan/plan.h"
#include "cli/chaos/chaos.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "common/faults/failpoint.h"
#include "tanist/status.h"

enum { TARGETS_TEXT_MAX = 48 };

/* ----------------------------------------------------------------- as JSON */

static json_t *plans_json(void)
{
    json_t *list = json_array();
    const char *name;
    for (uint32_t i = 0; (name = plan_builtin_name(i)); i++) {
        json_t *plan = json_loads(plan_builtin_text(name), 0, NULL);
        json_t *about = json_object_get(plan, "about");
        json_array_append_new(list, json_pack("{s:s, s:O}", "name", name, "about", about));
        json_decref(plan);
    }
    return list;
}

static json_t *faults_json(const struct probe *probe)
{
    json_t *list = json_array();
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_descriptor *info = fault_descriptor((enum fault)i);
        const char *lacks = probe_lacks(probe, info->needs), *unit = info->value.unit, *target;
        json_t *targets = json_array();
        for (unsigned j = 0; (target = fault_target_name((enum fault)i, j)) != NULL; j++) {
            json_array_append_new(targets, json_string(target));
        }
        json_t *fault = json_pack("{s:s, s:s, s:o, s:s}", "name", info->name, "about", info->about,
                                  "strikes", targets, "lasts", fault_duration_name(info->duration));
        if (unit != NULL) { json_object_set_new(fault, "value", json_string(unit)); }
        json_object_set_new(fault, "here", json_boolean(lacks == NULL));
        if (lacks != NULL) { json_object_set_new(fault, "why_not", json_string(lacks)); }
        json_array_append_new(list, fault);
    }
    return list;
}

static json_t *failpoints_json(void)
{
    unsigned count;
    json_t *list = json_array();
    const struct failpoint_info *points = failpoint_list(&count);
    for (unsigned i = 0; i < count; i++) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s}", "name", points[i].name, "who",
                                              points[i].passed_by, "can_fail", points[i].can_fail,
                                              "when", points[i].when));
    }
    return list;
}

static int print_json(const struct probe *probe)
{
    return output_json(json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", 1, "plans", plans_json(),
                                 "faults", faults_json(probe), "failpoints", failpoints_json(),
                                 "machine", probe_json(probe)),
                       JSON_INDENT(2));
}

/* ----------------------------------------------------------------- as tables */

static bool print_plans(void)
{
    static const struct table_column columns[] = {{"PLAN", TABLE_LEFT}, {"MEANING", TABLE_LEFT}};
    json_t *list = plans_json(), *plan;
    size_t index;
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    json_array_foreach(list, index, plan)
    {
        table_cell(&table, "%s", json_string_value(json_object_get(plan, "name")));
        table_cell(&table, "%s", json_string_value(json_object_get(plan, "about")));
    }
    json_decref(list);
    return table_print(&table, stdout);
}

/* "node, cluster" */
static const char *targets_text(enum fault fault, char text[static TARGETS_TEXT_MAX])
{
    const char *target;
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; (target = fault_target_name(fault, i)) != NULL; i++) {
        assert(used < TARGETS_TEXT_MAX);
        used += (size_t)snprintf(text + used, TARGETS_TEXT_MAX - used, "%s%s", i > 0 ? ", " : "",
                                 target);
    }
    return text;
}

static bool print_faults(const struct probe *probe)
{
    static const struct table_column columns[] = {
        {"FAULT", TABLE_LEFT}, {"TARGETS", TABLE_LEFT},   {"LASTS", TABLE_LEFT},
        {"VALUE", TABLE_LEFT}, {"SUPPORTED", TABLE_LEFT}, {"MEANING", TABLE_LEFT},
    };
    struct table table;
    char text[TARGETS_TEXT_MAX];
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_descriptor *info = fault_descriptor((enum fault)i);
        const char *lacks = probe_lacks(probe, info->needs);
        table_cell(&table, "%s", info->name);
        table_cell(&table, "%s", targets_text((enum fault)i, text));
        table_cell(&table, "%s", fault_duration_name(info->duration));
        table_cell(&table, "%s", info->value.unit != NULL ? info->value.unit : "-");
        table_cell(&table, "%s", lacks == NULL ? "yes" : "no");
        table_cell(&table, "%s%s%s", info->about, lacks != NULL ? "; unsupported: " : "",
                   lacks != NULL ? lacks : "");
    }
    return table_print(&table, stdout);
}

static bool print_failpoints(void)
{
    static const struct table_column columns[] = {
        {"FAILPOINT", TABLE_LEFT},
        {"PROCESS", TABLE_LEFT},
        {"CAN FAIL", TABLE_LEFT},
        {"WHEN", TABLE_LEFT},
    };
    unsigned count;
    const struct failpoint_info *points = failpoint_list(&count);
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < count; i++) {
        table_cell(&table, "%s", points[i].name);
        table_cell(&table, "%s", points[i].passed_by);
        table_cell(&table, "%s", points[i].can_fail ? "yes" : "no");
        table_cell(&table, "%s", points[i].when);
    }
    return table_print(&table, stdout);
}

static int print_tables(const struct probe *probe)
{
    bool written = print_plans();
    putchar('\n');
    written = print_faults(probe) && written;
    putchar('\n');
    return print_failpoints() && written ? TN_EXIT_OK : TN_EXIT_IO;
}

/* ----------------------------------------------------------------- the command */

/* A built-in plan is printed as it is written in the source; a file shows that it is valid. */
static int print_plan(const char *name)
{
    struct plan plan;
    struct error error = {0};
    int exit_code = TN_EXIT_OK;
    if (plan_read(name, &plan, &error) != TN_OK) { return command_failed(&error); }
    if (plan_builtin_text(name) != NULL) {
        fputs(plan_builtin_text(name), stdout);
    } else {
        exit_code = output_json(json_incref(plan.json), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    }
    plan_free(&plan);
    return exit_code;
}

int chaos_list(int argc, char **argv)
{
    const char *output = NULL;
    int exit_code = 0;
    struct options options = {
        .command = "chaos list",
        .synopsis = "[PLAN] [OPTION]...",
        .about = "List the built-in plans, the faults and whether this machine supports them, and "
                 "the failpoints.\nWith PLAN, a name or a file: check that plan and print it as "
                 "JSON, to start your own from it.",
        .examples = "  tanist chaos list\n"
                    "  tanist chaos list kill-chief > plan.json\n"
                    "  tanist chaos list -o json\n",
        .arguments_most = 1};
    output_option_table(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    if (options.argument_count > 0) { return print_plan(options.arguments[0]); }
    struct probe probe;
    probe_machine(&probe);
    return output_is_json(output) ? print_json(&probe) : print_tables(&probe);
}

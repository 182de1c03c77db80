/* cli/chaos/chaos_list.c: `tanist chaos list [PLAN]`: what there is to attack with, and what of it
 * can be done here. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "chaos/inject/probe.h"
#include "chaos/plan/plan.h"
#include "cli/chaos/chaos.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "common/faults/failpoint.h"
#include "tanist/status.h"

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
        const struct fault_value *value = &info->value;
        const char *lacks = probe_lacks(probe, info->needs);
        json_t *strikes = json_array();
        const char *target;
        for (unsigned j = 0; (target = fault_target_name((enum fault)i, j)) != NULL; j++) {
            json_array_append_new(strikes, json_string(target));
        }
        json_t *fault = json_pack("{s:s, s:s, s:o, s:s}", "name", info->name, "about", info->about,
                                  "strikes", strikes, "lasts", fault_duration_name(info->duration));
        if (value->unit != NULL) { json_object_set_new(fault, "value", json_string(value->unit)); }
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
                                              points[i].who, "can_fail", points[i].can_fail, "when",
                                              points[i].when));
    }
    return list;
}

static int print_json(const struct probe *probe)
{
    json_t *root = json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", 1, "plans", plans_json(),
                             "faults", faults_json(probe), "failpoints", failpoints_json(),
                             "machine", probe_json(probe));
    (void)json_dumpf(root, stdout, JSON_INDENT(2));
    puts("");
    json_decref(root);
    return TN_EXIT_OK;
}

/* ----------------------------------------------------------------- as tables */

static void print_plans(void)
{
    json_t *list = plans_json(), *plan;
    size_t index;
    printf("%-15s %s\n", "PLAN", "WHAT IT DOES");
    json_array_foreach(list, index, plan)
    {
        printf("%-15s %s\n", json_string_value(json_object_get(plan, "name")),
               json_string_value(json_object_get(plan, "about")));
    }
    json_decref(list);
}

/* "node, cluster" */
static const char *strikes_text(enum fault fault, char text[static 48])
{
    const char *target;
    size_t used = 0;
    for (unsigned i = 0; used < 40 && (target = fault_target_name(fault, i)) != NULL; i++) {
        used += (size_t)snprintf(text + used, 48 - used, "%s%s", used ? ", " : "", target);
    }
    return text;
}

static void print_faults(const struct probe *probe)
{
    char strikes[48];
    printf("\n%-14s %-31s %-6s %-8s %-5s %s\n", "FAULT", "STRIKES", "LASTS", "VALUE", "HERE",
           "WHAT IT DOES");
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_descriptor *info = fault_descriptor((enum fault)i);
        const struct fault_value *value = &info->value;
        const char *lacks = probe_lacks(probe, info->needs);
        printf("%-14s %-31s %-6s %-8s %-5s %s%s%s\n", info->name,
               strikes_text((enum fault)i, strikes), fault_duration_name(info->duration),
               value->unit != NULL ? value->unit : "-", lacks != NULL ? "no" : "yes", info->about,
               lacks != NULL ? "; not here: " : "", lacks != NULL ? lacks : "");
    }
}

static void print_failpoints(void)
{
    unsigned count;
    const struct failpoint_info *points = failpoint_list(&count);
    printf("\n%-24s %-12s %-5s %s\n", "FAILPOINT", "WHO PASSES", "FAILS", "WHEN");
    for (unsigned i = 0; i < count; i++) {
        printf("%-24s %-12s %-5s %s\n", points[i].name, points[i].who,
               points[i].can_fail ? "yes" : "no", points[i].when);
    }
}

/* ----------------------------------------------------------------- the verb */

/* As it was written when it is built in; one of a file shows that it is valid. */
static int print_plan(const char *name)
{
    struct plan plan;
    struct error error = {0};
    if (plan_read(name, &plan, &error) != TN_OK) { return command_failed(&error); }
    if (plan_builtin_text(name) != NULL) {
        fputs(plan_builtin_text(name), stdout);
    } else {
        (void)json_dumpf(plan.json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        puts("");
    }
    plan_free(&plan);
    return TN_EXIT_OK;
}

int chaos_list(int argc, char **argv)
{
    static const char *const outputs[] = {"table", "json", NULL};
    const char *output = "table";
    const struct option rows[] = {{"output", 'o', OPTION_CHOICE, &output, "table|json", outputs,
                                   "Form of the list; default table. A PLAN is always JSON."}};
    struct options options = {
        .command = "chaos list",
        .synopsis = "[PLAN] [OPTION]...",
        .about = "List the built-in plans, the faults and whether this machine can do them, and "
                 "the failpoints.\nWith PLAN, the name of one or a file: check it and print it, to "
                 "start your own from it.",
        .examples = "  tanist chaos list\n"
                    "  tanist chaos list kill-chief > mine.json\n"
                    "  tanist chaos list -o json\n",
        .list = rows,
        .count = 1,
        .arguments_most = 1};
    int exit_code = 0;
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    if (options.argument_count > 0) { return print_plan(options.arguments[0]); }
    struct probe probe;
    probe_machine(&probe);
    if (strcmp(output, "json") == 0) { return print_json(&probe); }
    print_plans();
    print_faults(&probe);
    print_failpoints();
    return TN_EXIT_OK;
}

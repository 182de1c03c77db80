/* cli/inspect/status.c: `tanist status`: the present state of a cluster. */
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/inspect/status_view.h"
#include "cli/output.h"

int command_status(int argc, char **argv)
{
    struct target_options given = {0};
    const char *output = NULL;
    int exit_code = 0;
    struct options options = {
        .command = "status",
        .synopsis = TARGET_SYNOPSIS,
        .about = "Show a cluster: phase, step, chief, tasks, newest checkpoint, ZooKeeper servers. "
                 "After a run,\n--dir shows the record of its last state.",
        .examples =
            "  tanist status --dir runs/fashion-mnist\n"
            "  tanist status --zk h1:2181,h2:2181,h3:2181 --cluster fashion-mnist -o json\n"};
    target_options_add(&options, &given);
    output_option_table(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct status_view *view = calloc(1, sizeof *view);
    struct error error = {0};
    if (view == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = target_find(&given, &view->target, &error);
    if (status == TN_OK) { status = status_view_read(view, &error); }
    if (status != TN_OK) { status = status_view_record(view, &given, status, &error); }
    if (status != TN_OK) {
        exit_code = command_failed(&error);
    } else {
        exit_code = output_is_json(output) ? status_print_json(view) : status_print_text(view);
    }
    table_totals_free(&view->tables);
    free(view);
    return exit_code;
}

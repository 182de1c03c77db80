/* cli/chaos/chaos.c: `tanist chaos`: inject faults into a real cluster and check that it
 * recovers. */
#include "cli/chaos/chaos.h"

#include "cli/commands.h"
#include "cli/subcommands.h"

int command_chaos(int argc, char **argv)
{
    static const struct subcommand list[] = {
        {"run", "Start clusters and inject the faults that a plan draws from a seed.", chaos_run},
        {"attack", "Inject faults into a cluster that is already running.", chaos_attack},
        {"list", "Show plans, faults and failpoints, and what this machine supports.", chaos_list},
        {"replay", "Inject the faults of a recorded round again.", chaos_replay},
        {"shrink", "Find the fewest faults that still make a round fail.", chaos_shrink},
        {"report", "Write the report of a campaign again.", chaos_report},
    };
    static const struct subcommands commands = {
        .prefix = "chaos ",
        .synopsis = "chaos COMMAND [ARGUMENT]...",
        .examples = "  tanist chaos run --plan kill-chief --rounds 5\n"
                    "  tanist chaos list\n",
        .footer = "`tanist chaos COMMAND --help` explains a command; the guide is docs/chaos.md.",
        .list = list,
        .count = sizeof list / sizeof *list,
    };
    return subcommands_run(&commands, argc, argv);
}

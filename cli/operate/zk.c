/* cli/operate/zk.c: `tanist zk`: ZooKeeper servers that are described by zoo.cfg files. */
#include "cli/operate/zk.h"

#include "cli/commands.h"
#include "cli/subcommands.h"

int command_zk(int argc, char **argv)
{
    static const struct subcommand list[] = {
        {"start", "Start the ZooKeeper server of each file and wait until all serve.", zk_start},
        {"stop", "Stop the servers; their data stays.", zk_stop},
        {"status", "Show the process, the mode and the last transaction of each.", zk_status},
    };
    static const struct subcommands commands = {
        .prefix = "zk ",
        .synopsis = "zk start|stop|status ZOO.cfg... [OPTION]...",
        .examples = "  tanist zk start deploy/zookeeper/zoo1.cfg deploy/zookeeper/zoo2.cfg "
                    "deploy/zookeeper/zoo3.cfg\n"
                    "  tanist zk status deploy/zookeeper/zoo*.cfg -o json\n"
                    "  tanist zk stop deploy/zookeeper/zoo*.cfg\n",
        .footer = "`tanist zk COMMAND --help` explains a command.",
        .list = list,
        .count = sizeof list / sizeof *list,
    };
    return subcommands_run(&commands, argc, argv);
}

/*
 * cli/commands.h: one entry per subcommand of `tanist`; each lives in cli/<name>.c.
 *
 * A command gets the arguments after its own name in argv[1..], argv[0] being the name, and returns
 * the program's exit code (tanist/status.h). Data goes to stdout, words to stderr.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "common/base/error.h"

/* Find the subcommand and run it; `tanist`, `tanist help [COMMAND]`, `--help`, `--version`, "did
 * you mean". */
int cli_main(int argc, char **argv);

int command_coordinator(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_worker(int argc, char **argv);
int command_run(int argc, char **argv);
int command_agent(int argc, char **argv);
int command_zk(int argc, char **argv);
int command_status(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_top(int argc, char **argv);
int command_elections(int argc, char **argv);
int command_checkpoints(int argc, char **argv);
int command_chaos(int argc, char **argv);
int command_resign(int argc, char **argv);
int command_stop(int argc, char **argv);
int command_pause(int argc, char **argv);
int command_resume(int argc, char **argv);
int command_kill(int argc, char **argv);

/* Say "tanist: ERROR" on stderr and return the exit code that belongs to its status. */
int command_failed(const struct error *error);

#endif

/*
 * cli/commands.h: the commands of `tanist`.
 *
 * A command gets its own name in argv[0] and its arguments in argv[1..], and returns the exit code
 * of the program (tanist/status.h). It prints data on stdout and messages on stderr.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "common/base/error.h"

/* Find the command that argv[1] names and run it. */
int cli_main(int argc, char **argv);

int command_coordinator(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_worker(int argc, char **argv);
int command_evaluator(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_run(int argc, char **argv);
int command_graph(int argc, char **argv);
int command_data(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_agent(int argc, char **argv);
int command_zk(int argc, char **argv);
int command_status(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_top(int argc, char **argv);
int command_elections(int argc, char **argv);
int command_checkpoints(int argc, char **argv);
int command_evaluate(int argc, char **argv);
int command_predict(int argc, char **argv);
int command_export(int argc, char **argv);
int command_chaos(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_resign(int argc, char **argv);
int command_stop(int argc, char **argv);
int command_pause(int argc, char **argv);
int command_resume(int argc, char **argv);
int command_scale(int argc, char **argv);
int command_restore(int argc, char **argv);
int command_drain(int argc, char **argv);
int command_resize(int argc, char **argv);
int command_strategy(int argc, char **argv);
int command_kill(int argc, char **argv);

/* Print "tanist: ERROR" on stderr and return the exit code of its status. */
int command_failed(const struct error *error);

#endif

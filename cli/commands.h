/*
 * cli/commands.h: one entry per subcommand of `tanist`; each lives in cli/<name>.c.
 *
 * A command gets the arguments after its own name in argv[1..], argv[0] being the name, and returns
 * the program's exit code (tanist/status.h).
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

/* Find the subcommand and run it; `tanist`, `tanist help [COMMAND]`, `--help`, `--version`, "did
 * you mean". */
int cli_main(int argc, char **argv);

#endif

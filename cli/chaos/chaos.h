/* cli/chaos/chaos.h: the subcommands of `tanist chaos`, each as in cli/subcommands.h. */
#ifndef CLI_CHAOS_CHAOS_H
#define CLI_CHAOS_CHAOS_H

int chaos_run(int argc, char **argv);
int chaos_attack(int argc, char **argv);
int chaos_list(int argc, char **argv);
int chaos_replay(int argc, char **argv);
int chaos_shrink(int argc, char **argv);
int chaos_report(int argc, char **argv);

#endif

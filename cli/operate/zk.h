/* cli/operate/zk.h: the subcommands of `tanist zk`, each as in cli/subcommands.h. */
#ifndef CLI_OPERATE_ZK_H
#define CLI_OPERATE_ZK_H

int zk_start(int argc, char **argv);
int zk_stop(int argc, char **argv);
int zk_status(int argc, char **argv);

#endif

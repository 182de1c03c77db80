/* cli/main.c: the entry point of the program. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}

/* cli/main.c: the program's entry. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}

#include "cli/commands.h"

#include <stdio.h>

#include "tanist/status.h"

int cli_main(int argc, char **argv)
{
    (void)argv;
    if (argc < 2) return TN_EXIT_ARGUMENTS;
    return puts("tanist " TANIST_VERSION) < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

/* library/version.c: the version of libtanist. */
#include "tanist/base.h"

const char *tn_version(void)
{
    return TANIST_VERSION;
}

uint32_t tn_api_version(void)
{
    return TN_API_VERSION;
}

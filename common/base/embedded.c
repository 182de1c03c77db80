#include "common/base/embedded.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const char *embedded_text(const struct embedded_file *table, const char *name)
{
    assert(table != NULL);
    assert(name != NULL);
    for (; table->name != NULL; table++) {
        if (strcmp(table->name, name) == 0) { return (const char *)table->text; }
    }
    return NULL;
}

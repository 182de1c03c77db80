/* common/base/embedded.h: files that the build puts into the program (cmake/Embed.cmake). Pure. */
#ifndef COMMON_BASE_EMBEDDED_H
#define COMMON_BASE_EMBEDDED_H

/* One row of a table; the last row has no name. */
struct embedded_file {
    const char *name;          /* Name of the file, without its extension. */
    const unsigned char *text; /* Terminated. */
};

/* The text of the file `name`; NULL: the table has no such file. */
const char *embedded_text(const struct embedded_file *table, const char *name);

#endif

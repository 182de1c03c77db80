#include "common/zk/session_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 16 + 1 + 32 + 1 };

enum tn_status session_file_write(const char *path, const struct zk_session *session,
                                  struct error *error)
{
    char line[LINE_BYTES + 1], fresh[PATH_MAX];
    int length = snprintf(line, sizeof line, "%016" PRIx64 " ", (uint64_t)session->id);
    for (size_t i = 0; i < sizeof session->password; i++) {
        length += snprintf(line + length, sizeof line - (size_t)length, "%02x",
                           (unsigned char)session->password[i]);
    }
    assert(length == LINE_BYTES - 1);
    line[length] = '\n';
    if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh) {
        return error_set(error, TN_EIO, "%s: the path is too long", path);
    }
    unlink(fresh); /* An old file may have another mode. */
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) { return error_set(error, TN_EIO, "%s: %s", fresh, strerror(errno)); }
    bool written = write(file, line, LINE_BYTES) == LINE_BYTES;
    written = close(file) == 0 && written;
    if (written && rename(fresh, path) == 0) { return TN_OK; }
    enum tn_status status = error_set(error, TN_EIO, "%s: %s", path, strerror(errno));
    unlink(fresh);
    return status;
}

static bool parse(const char *line, struct zk_session *out)
{
    uint64_t id;
    int used = 0;
    if (sscanf(line, "%16" SCNx64 " %n", &id, &used) != 1 || used != 17) { return false; }
    out->id = (int64_t)id;
    for (size_t i = 0; i < sizeof out->password; i++) {
        unsigned byte;
        if (sscanf(line + used + 2 * i, "%2x", &byte) != 1) { return false; }
        out->password[i] = (char)byte;
    }
    return true;
}

enum tn_status session_file_read(const char *path, struct zk_session *out, struct error *error)
{
    assert(path != NULL && out != NULL);
    char line[LINE_BYTES + 1] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return error_set(error, errno == ENOENT ? TN_ENOENT : TN_EIO, "%s: %s", path,
                         strerror(errno));
    }
    ssize_t got = read(file, line, LINE_BYTES);
    close(file);
    if (got == LINE_BYTES && strlen(line) == LINE_BYTES && parse(line, out)) { return TN_OK; }
    return error_set(error, TN_ECORRUPT, "%s does not contain a session", path);
}

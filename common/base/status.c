#include "tanist/status.h"

const char *tanist_strerror(enum tn_status status)
{
    static const char *const texts[TN_STATUS_COUNT] = {
#define X(name, text) [TN_##name] = text,
        TN_STATUS_LIST(X)
#undef X
    };
    return (unsigned)status < TN_STATUS_COUNT ? texts[status] : "unknown status";
}

enum tn_exit tanist_exit_code(enum tn_status status)
{
    switch (status) {
    case TN_OK: return TN_EXIT_OK;
    case TN_EINVAL:
    case TN_ENOENT:
    case TN_EEXIST: return TN_EXIT_INVALID_INPUT;
    case TN_ECONNECT:
    case TN_ETIMEDOUT: return TN_EXIT_CANNOT_CONNECT;
    case TN_EIO:
    case TN_ENOSPC:
    case TN_ECORRUPT: return TN_EXIT_IO;
    case TN_EUNHEALTHY: return TN_EXIT_UNHEALTHY;
    case TN_EEXPIRED: return TN_EXIT_SESSION_EXPIRED;
    case TN_EDEVICE: return TN_EXIT_DEVICE_FAILED;
    default: return TN_EXIT_ERROR;
    }
}

/* tanist/api.h: the macros that mark the declarations of the public interface. */
#ifndef TANIST_API_H
#define TANIST_API_H

#if defined(__GNUC__)
#define TN_API                   __attribute__((visibility("default")))
#define TN_CHECKED               __attribute__((warn_unused_result))
#define TN_FORMAT(string, first) __attribute__((format(printf, string, first)))
#else
#define TN_API
#define TN_CHECKED
#define TN_FORMAT(string, first)
#endif

#endif

/*
 * common/base/utf8.h: valid UTF-8 from any bytes. Texts from outside (messages of libraries, file
 * names, texts cut after n bytes) go through utf8_clean() before they become JSON.
 *
 * Pure. Source: RFC 3629; no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef COMMON_BASE_UTF8_H
#define COMMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `text`, 1 to 4; 0 at the end and where the bytes are not valid UTF-8.
 * Reads no byte beyond the terminator. */
size_t utf8_character_bytes(const char *text);

bool utf8_is_valid(const char *text);

/* How many of the first bytes are valid UTF-8 without zero bytes; no terminator is needed. */
size_t utf8_valid_bytes(const char *bytes, size_t size);

/* Replace each byte of `text` that is not part of a valid character by '?'. */
void utf8_clean(char *text);

/* As utf8_clean(), and each control character becomes a space, so that `text` is one line and
 * contains no escape sequences. For texts from outside that are logged or printed. */
void utf8_plain(char *text);

#endif

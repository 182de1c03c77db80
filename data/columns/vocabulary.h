/*
 * data/columns/vocabulary.h: the values of a category or the names of classes: distinct texts with
 * numbers from 0, in the order in which they were given.
 *
 * Threads: read-only once it is open.
 */
#ifndef DATA_COLUMNS_VOCABULARY_H
#define DATA_COLUMNS_VOCABULARY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define VOCABULARY_NONE UINT32_MAX

struct vocabulary;

/* `value` is a list of texts, or the name of a file that has one text on each line. `where` names
 * its key in errors. TN_EINVAL: it is neither, is empty, or has a text twice; TN_ENOENT, TN_EIO,
 * TN_ENOMEM. */
MUST_CHECK enum tn_status vocabulary_open(const json_t *value, const char *where,
                                          struct vocabulary **out, struct error *error);
void vocabulary_close(struct vocabulary *vocabulary); /* NULL is allowed. */

uint32_t vocabulary_count(const struct vocabulary *vocabulary);
/* VOCABULARY_NONE: it does not have the text. */
uint32_t vocabulary_find(const struct vocabulary *vocabulary, const void *text, size_t size);
const char *vocabulary_text(const struct vocabulary *vocabulary, uint32_t number);
/* A list; NULL: out of memory. */
json_t *vocabulary_build(const struct vocabulary *vocabulary);

#endif

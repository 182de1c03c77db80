/*
 * common/base/json_reals.h: numbers of a JSON text without digits that change nothing: 0.005, where
 * jansson writes 0.0050000000000000001. Both read back as the same value.
 *
 * Pure.
 */
#ifndef COMMON_BASE_JSON_REALS_H
#define COMMON_BASE_JSON_REALS_H

/* Rewrite the real numbers of `text`, valid JSON, in place: no text becomes longer. Texts and whole
 * numbers stay as they are, and a real number remains one: 2.0. */
void json_reals_shorten(char *text);

#endif

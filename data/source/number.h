/*
 * data/source/number.h: decimal numbers in texts.
 *
 * A number is what strtod() in the C locale reads, whatever the locale of the process: digits with
 * an optional sign, point and exponent, and spaces around them. Texts of infinities and NaNs, and
 * hexadecimal numbers are refused.
 *
 * Source of the fast path: Clinger, "How to read floating point numbers accurately", 1990: up to 15
 * digits and powers of ten up to 22 are exact in a double, and so one operation rounds correctly.
 *
 * Pure. Threads: any.
 */
#ifndef DATA_SOURCE_NUMBER_H
#define DATA_SOURCE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The problem of a number that a float cannot hold. */
#define NUMBER_OUT_OF_RANGE "is out of range: numbers are 32-bit floats, up to 3.4e38"

/* False: text[0..size) is not a number. Infinite: it is larger than a double can hold. */
bool number_parse(const uint8_t *text, size_t size, double *out);

#endif

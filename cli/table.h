/*
 * cli/table.h: a table for people: a line of titles, then rows. Cells are collected first, so that
 * each column is as wide as its widest cell. Lines have no trailing blanks.
 *
 *     static const struct table_column columns[] = {{"TASK", TABLE_LEFT}, {"PID", TABLE_RIGHT}};
 *     struct table table;
 *     table_init(&table, columns, 2);
 *     table_cell(&table, "%s", task);
 *     table_cell(&table, "%d", pid);
 *     bool written = table_print(&table, stdout);
 *
 * Threads: the owner's.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 12 };

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table_column {
    const char *title;
    enum table_align align;
};

struct table {
    const struct table_column *columns; /* Borrowed until table_print(). */
    size_t column_count;
    /* Private: */
    char **cells; /* Row by row. */
    size_t count, capacity;
    bool out_of_memory;
};

void table_init(struct table *table, const struct table_column *columns, size_t column_count);

/* Append the next cell, from left to right and from top to bottom. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Append "-", the cell of a value that is unknown or does not exist. */
void table_no_value(struct table *table);

/* Append `value`, or "-" when it is not `known`. */
void table_number(struct table *table, uint64_t value, bool known);

/* Print the table and free what it holds. The last row must be complete. False: out of memory, or
 * `out` could not be written. */
bool table_print(struct table *table, FILE *out);

#endif

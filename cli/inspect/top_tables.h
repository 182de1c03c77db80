/*
 * cli/inspect/top_tables.h: the tables in a frame of `tanist top` (cli/inspect/top_screen.h), each
 * with its heading: tasks, tables of rows, ZooKeeper servers and events. Pure. Threads: the
 * owner's.
 */
#ifndef CLI_INSPECT_TOP_TABLES_H
#define CLI_INSPECT_TOP_TABLES_H

#include "cli/inspect/canvas.h"
#include "cli/inspect/top_screen.h"

/* At most `lines` tasks; the last line then counts the others. */
void top_draw_tasks(struct canvas *canvas, const struct top_view *view, uint32_t lines);
/* The `lines` largest tables, at most TOP_TABLES_MAX, and a line that counts all; 0: nothing. */
void top_draw_row_tables(struct canvas *canvas, const struct top_view *view, uint32_t lines);
/* The rows of `lines` ps; if there are more, the last line counts the others. 0: nothing. */
void top_draw_row_parts(struct canvas *canvas, const struct top_view *view, uint32_t lines);
void top_draw_servers(struct canvas *canvas, const struct top_view *view);
/* The newest `lines` events; 0: nothing. */
void top_draw_events(struct canvas *canvas, const struct top_view *view, uint32_t lines);

/* The time from `from_ms` until `now_ms` as text, such as "3 min". */
void top_age_text(uint64_t now_ms, uint64_t from_ms, char *text, size_t size);

#endif

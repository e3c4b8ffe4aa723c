/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tui: a full screen of text; the only user of ncurses.
 *
 * The caller draws the whole picture, from tui_begin() to tui_end(); only changes are sent to the
 * terminal. Text that does not fit is cut and ends in "…", and control characters are never sent.
 * There is one screen per process. tui_key() does not block; drawing may wait for a slow
 * terminal.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* Meanings, not colours; tui.c maps them to what the terminal offers. */
enum tui_style {
	TUI_PLAIN,
	TUI_STRONG,
	TUI_FAINT,
	TUI_GOOD,
	TUI_BAD,
	TUI_DOUBT,
	TUI_BAR, /* a line across the screen */
};

/* Keys that are not characters. */
enum tui_key {
	TUI_NO_KEY = 0,
	TUI_KEY_UP = 0x110000, /* after the last Unicode character */
	TUI_KEY_DOWN,
	TUI_KEY_PAGE_UP,
	TUI_KEY_PAGE_DOWN,
	TUI_KEY_HOME,
	TUI_KEY_END,
	TUI_KEY_ENTER,
	TUI_KEY_ESCAPE,
	TUI_KEY_BACKSPACE,
	TUI_KEY_GONE, /* the terminal was closed */
};

struct tui;

/*
 * Takes over the terminal on standard input and output, and sets LC_CTYPE. -ENOTTY if they are
 * not a terminal that can position the cursor.
 */
int tui_new(struct tui **ret);
/* Restores the terminal and frees t. */
void tui_free(struct tui *t);
/* Restores the terminal for the time of a stop (SIGTSTP). */
void tui_suspend(struct tui *t);
/*
 * Takes the terminal over again (SIGCONT). The next picture is drawn completely and in the
 * current size, because other programs may have written to the terminal.
 */
void tui_resume(struct tui *t);

/* Reads the new size of the terminal (SIGWINCH); the caller draws again. */
void tui_resized(struct tui *t);
size_t tui_columns(const struct tui *t);
size_t tui_rows(const struct tui *t);

/* The number of columns that the text occupies. */
size_t tui_width(const char *text);

void tui_begin(struct tui *t);
/* At most width columns are used; the part outside the screen is not drawn. */
struct tui_place {
	size_t row, column, width;
};

/* Draws at a place, and returns the column after the text. */
size_t tui_put(struct tui *t, struct tui_place at, enum tui_style style, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void tui_end(struct tui *t);

/* The next key: a character, or one of enum tui_key; TUI_NO_KEY if none is waiting. */
int tui_key(struct tui *t);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tui: a full screen of text; the one door to ncurses.
 *
 * A picture is drawn whole, from tui_begin() to tui_end(); only what has changed reaches the
 * terminal. What does not fit is cut and ends in "…", and no control character gets through. There
 * is one screen per process. Nothing blocks: keys are taken as they are there.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

enum tui_style {
	TUI_PLAIN,
	TUI_STRONG,
	TUI_FAINT,
	TUI_GOOD,
	TUI_BAD,
	TUI_DOUBT,
	TUI_BAR, /* a line across the screen */
};

/* Keys that are no characters. */
enum tui_key {
	TUI_NO_KEY = 0,
	TUI_KEY_UP = 0x110000, /* behind the last character */
	TUI_KEY_DOWN,
	TUI_KEY_PAGE_UP,
	TUI_KEY_PAGE_DOWN,
	TUI_KEY_HOME,
	TUI_KEY_END,
	TUI_KEY_ENTER,
	TUI_KEY_ESCAPE,
	TUI_KEY_BACKSPACE,
	TUI_KEY_GONE, /* there is no terminal any more */
};

struct tui;

/* Takes over the terminal of standard input and output; -ENOTTY when they cannot be used so. */
int tui_new(struct tui **ret);
/* Gives it back as it was. */
void tui_free(struct tui *t);
/* Gives it back for a while (SIGTSTP). */
void tui_suspend(struct tui *t);
/* Whatever somebody else did to the terminal (SIGCONT): the next picture is whole, in its size. */
void tui_resume(struct tui *t);

/* The terminal has another size (SIGWINCH). */
void tui_resized(struct tui *t);
size_t tui_columns(const struct tui *t);
size_t tui_rows(const struct tui *t);

/* Columns that the text takes. */
size_t tui_width(const char *text);

void tui_begin(struct tui *t);
/* At most width columns are used; what would lie outside the screen is not drawn. */
struct tui_place {
	size_t row, column, width;
};

/* The column behind the text. */
size_t tui_put(struct tui *t, struct tui_place at, enum tui_style style, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void tui_end(struct tui *t);

/* A character, or one of enum tui_key; TUI_NO_KEY when nothing more was pressed. */
int tui_key(struct tui *t);

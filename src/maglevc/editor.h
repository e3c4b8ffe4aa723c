/* SPDX-License-Identifier: Apache-2.0 */
/*
 * editor: one line at a time from somebody at a terminal; the one door to libedit.
 *
 * While the editor waits for a key, the loop runs: streams go on, and the prompt is drawn anew when
 * it has changed. From editor_new() to editor_free() Ctrl-C does not end the program, and SIGTERM
 * and SIGHUP are the end of the input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"
#include "lib/loop/loop.h"

struct editor;

/* The editor calls from within editor_read(). */
struct editor_events {
	/* What stands before the line. What moves no cursor (colours) stands between two \1. */
	void (*prompt)(struct buf *out, void *user);
	/* Keys that ask about the line. help(): false, and the key is only a character. */
	void (*tab)(struct editor *e, void *user);
	bool (*help)(struct editor *e, void *user);
	void *user;
};

/* in and out are a terminal. NULL when the terminal cannot be used. */
struct editor *editor_new(struct ev_loop *loop, FILE *in, FILE *out,
			  const struct editor_events *events);
void editor_free(struct editor *e);

enum editor_result {
	EDITOR_LINE,
	EDITOR_INTERRUPTED, /* Ctrl-C: the line is given up */
	EDITOR_END,	    /* Ctrl-D, SIGTERM, SIGHUP, or the terminal is gone */
};

/* Replaces what is in line, without the newline. */
enum editor_result editor_read(struct editor *e, struct buf *line);

/* Takes bytes that somebody else has read from the terminal: editor_read() gets them first. */
void editor_unread(struct editor *e, struct buf *bytes);

/* ---- for tab() and help() ---- */

/* What stands before the cursor and behind it; valid until the line changes. */
struct str editor_before_cursor(struct editor *e);
struct str editor_behind_cursor(struct editor *e);
/* Puts text in the place of so many bytes before the cursor and behind it. */
void editor_replace(struct editor *e, size_t before, size_t behind, const char *text);
/* Lines shown below; the line that is being edited is drawn anew behind them. */
void editor_show(struct editor *e, const char *lines);
void editor_beep(struct editor *e);
/* Of the terminal, in characters. */
size_t editor_width(struct editor *e);
size_t editor_height(struct editor *e);

/* ---- history ---- */

/* Remembers a line; only the last 1000. */
void editor_remember(struct editor *e, const char *line);
/* Reads a file of lines that editor_save() has written, or makes it: 0600. Negative errno. */
int editor_load(struct editor *e, const char *path);
int editor_save(struct editor *e, const char *path);

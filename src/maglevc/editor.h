/* SPDX-License-Identifier: Apache-2.0 */
/*
 * editor: reads lines from a terminal; the only user of libedit.
 *
 * While the editor waits for a key, the loop runs: other watchers are served, and the prompt is
 * drawn again when it has changed. Between editor_new() and editor_free() SIGINT does not end the
 * program, and SIGTERM and SIGHUP act as the end of the input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"
#include "lib/loop/loop.h"

struct editor;

/* Callbacks, called from within editor_read(). */
struct editor_events {
	/*
	 * Appends the prompt. Escape sequences, which do not move the cursor, must be enclosed
	 * in two \1 so that libedit does not count them as columns.
	 */
	void (*prompt)(struct buf *out, void *user);
	/*
	 * Called for Tab and for "?". If help() returns false, the "?" is inserted into the
	 * line.
	 */
	void (*tab)(struct editor *e, void *user);
	bool (*help)(struct editor *e, void *user);
	void *user;
};

/*
 * in and out must be a terminal; both are borrowed. Returns NULL if the terminal cannot be used.
 */
struct editor *editor_new(struct ev_loop *loop, FILE *in, FILE *out,
			  const struct editor_events *events);
void editor_free(struct editor *e);

enum editor_result {
	EDITOR_LINE,
	EDITOR_INTERRUPTED, /* Ctrl-C: the line is given up */
	EDITOR_END,	    /* Ctrl-D, SIGTERM, SIGHUP, or the terminal is gone */
};

/*
 * Blocks (running the loop) until a line is read. Replaces the contents of line, without the
 * newline; line is unchanged unless EDITOR_LINE is returned.
 */
enum editor_result editor_read(struct editor *e, struct buf *line);

/*
 * Takes bytes that other code has read from the terminal: editor_read() consumes them before
 * reading more. Empties bytes.
 */
void editor_unread(struct editor *e, struct buf *bytes);

/* ---- for tab() and help() ---- */

/* The text on either side of the cursor; valid until the line changes. */
struct str editor_before_cursor(struct editor *e);
struct str editor_behind_cursor(struct editor *e);
/*
 * Replaces that many bytes before and after the cursor by text. Both must end at character
 * boundaries.
 */
void editor_replace(struct editor *e, size_t before, size_t behind, const char *text);
/* Shows lines below the line that is being edited, which is then drawn again below them. */
void editor_show(struct editor *e, const char *lines);
void editor_beep(struct editor *e);
/* Size of the terminal in characters; 80 by 24 if it is unknown. */
size_t editor_width(struct editor *e);
size_t editor_height(struct editor *e);

/* ---- history ---- */

/* Adds a line to the history, which keeps the last 1000. */
void editor_remember(struct editor *e, const char *line);
/*
 * Reads a history that editor_save() has written, or creates an empty file with mode 0600,
 * because a history may hold names and reasons. Returns a negative errno; -EINVAL if it is not a
 * history.
 */
int editor_load(struct editor *e, const char *path);
int editor_save(struct editor *e, const char *path);

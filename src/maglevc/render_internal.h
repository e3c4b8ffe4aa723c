/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that the views share. */
#pragma once

#include "proto/maglev.pb-c.h"
#include "src/maglevc/columns.h"
#include "src/maglevc/render.h"

/* The colour of a state; TINT_NONE for states that we do not know. */
enum tint render__tint(const char *state);
/* Returns text, or "-" if it is empty: an empty cell would be hard to see in a table. */
const char *render__or_dash(const char *text);
/*
 * Appends "[paused until 2026-04-15T09:30:00Z] reason"; nothing without an override if the state
 * is an ordinary one.
 */
void render__add_mark(const char *state, const Maglev__Override *o, struct buf *out);
/* Appends "alice from 192.0.2.7", "from 192.0.2.7", "alice", or nothing. */
void render__add_operator(const char *operator, const char * address, struct buf *out);
/* Appends "a, b"; "-" if there are none. */
void render__add_list(char *const *names, size_t n, struct buf *out);
/* Appends "198.51.100.10:80/tcp", "[2001:db8::1]:80/tcp", or "198.51.100.10" for all ports. */
void render__add_vip(const char *address, const char *protocol, uint32_t port, struct buf *out);
/* Adds a cell with the time since at (ns since the epoch); "-" if at is 0. */
void render__age_cell(struct columns *c, const struct render *r, int64_t at);

/* Adds a row of a label and its value. */
void render__pair(struct columns *c, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same; the row is left out if text is empty. */
void render__pair_if(struct columns *c, const char *label, const char *text);
/* Adds "up for 3m12s" in the colour of the state; the age is left out if since is 0. */
void render__pair_state(struct columns *c, const struct render *r, const char *state,
			int64_t since);
/* Adds "2026-04-15T09:30:00Z (3m12s ago)", or "never" if at is 0. */
void render__pair_time(struct columns *c, const struct render *r, const char *label, int64_t at);

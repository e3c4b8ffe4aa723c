/* SPDX-License-Identifier: Apache-2.0 */
/* What the views share. */
#pragma once

#include "proto/maglev.pb-c.h"
#include "src/maglevc/columns.h"
#include "src/maglevc/render.h"

/* The colour of a state's word. */
enum tint render__tint(const char *state);
/* text, or "-" where it is empty. */
const char *render__or_dash(const char *text);
/* "[paused until 2026-04-15T09:30:00Z] reason"; nothing when no operator has a hand in it. */
void render__add_mark(const char *state, const Maglev__Override *o, struct buf *out);
/* "a, b"; "-" for none. */
void render__add_list(char *const *names, size_t n, struct buf *out);
/* "198.51.100.10:80/tcp", "[2001:db8::1]:80/tcp", "198.51.100.10" for all ports. */
void render__add_vip(const char *address, const char *protocol, uint32_t port, struct buf *out);
/* How long ago, "-" when at is 0. */
void render__age_cell(struct columns *c, const struct render *r, int64_t at);

/* A row of a label and what it is. */
void render__pair(struct columns *c, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, left out where text is empty. */
void render__pair_if(struct columns *c, const char *label, const char *text);
/* "up for 3m12s" */
void render__pair_state(struct columns *c, const struct render *r, const char *state,
			int64_t since);
/* "2026-04-15T09:30:00Z (3m12s ago)"; "never" for 0. */
void render__pair_time(struct columns *c, const struct render *r, const char *label, int64_t at);

/* SPDX-License-Identifier: Apache-2.0 */
/* log: what log.c, text.c and threads.c have from each other. */
#pragma once

#include "lib/log/log.h"

/* ---- of log.c; all but the first for the main thread ---- */

/* Writes the line as JSON into out. cut is scratch memory. For any thread. */
void log__format(struct buf *out, struct buf *cut, const struct log_line *line);
/* Gives a finished line to the descriptor and to the sinks. */
void log__deliver(const struct log_line *line);
/* Lines of other threads were lost; reported as a gap when the descriptor accepts lines. */
void log__lost_elsewhere(uint64_t lines);

/* ---- of text.c ---- */

/* Writes a line of log__format() as text for people into out. */
void log__text(struct str json, struct buf *out);

/* ---- of threads.c ---- */

struct log__thread;

/* The ring of the calling thread, NULL in the main thread. */
extern _Thread_local struct log__thread *log__own;

/* Called by the main thread whenever the lowest level changes that anyone wants. */
void log__set_floor(int level);
/* The rest is for threads with a ring. */
bool log__thread_wants(enum log_level level);
void log__thread_write(struct log_line *line);
/* False in a thread that must not log, because it has no ring and is not the main thread. */
bool log__is_main(void);

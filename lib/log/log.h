/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: one JSON object per line (FR-6.1): "time", "level", "msg", then the caller's fields.
 *
 *	log_info("config-loaded", LOG_S("file", path), LOG_U("backends", n));
 *
 * A line is formatted only if some sink wants its level. Whatever bytes a value holds, the line is
 * valid UTF-8 JSON: bytes that are not UTF-8 become U+FFFD, and a string longer than
 * LOG_VALUE_MAX is cut, with an ellipsis. A string that is NULL is left out. That a key is not
 * used twice is the caller's care. Only programs log; libraries return. One logger per process,
 * one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

enum log_kind {
	LOG_KIND_END,
	LOG_KIND_STR,
	LOG_KIND_INT,
	LOG_KIND_UINT,
	LOG_KIND_DOUBLE,
	LOG_KIND_BOOL,
	LOG_KIND_DURATION
};

struct log_field {
	enum log_kind kind;
	const char *key;
	union {
		struct str s;
		int64_t i;
		uint64_t u;
		double d;
		bool b;
	};
};

#define LOG_S(k, v)                                                                                \
	{                                                                                          \
		.kind = LOG_KIND_STR, .key = (k), .s = log__str(v)                                 \
	}
#define LOG_SN(k, p_, n_)                                                                          \
	{                                                                                          \
		.kind = LOG_KIND_STR, .key = (k), .s = {(p_), (n_) }                               \
	}
#define LOG_I(k, v)                                                                                \
	{                                                                                          \
		.kind = LOG_KIND_INT, .key = (k), .i = (v)                                         \
	}
#define LOG_U(k, v)                                                                                \
	{                                                                                          \
		.kind = LOG_KIND_UINT, .key = (k), .u = (v)                                        \
	}
#define LOG_D(k, v)                                                                                \
	{                                                                                          \
		.kind = LOG_KIND_DOUBLE, .key = (k), .d = (v)                                      \
	}
#define LOG_B(k, v)                                                                                \
	{                                                                                          \
		.kind = LOG_KIND_BOOL, .key = (k), .b = (v)                                        \
	}
/* nanoseconds, shown as Go shows a duration: "1.5s" */
#define LOG_T(k, v)                                                                                \
	{                                                                                          \
		.kind = LOG_KIND_DURATION, .key = (k), .i = (v)                                    \
	}

static inline struct str log__str(const char *s)
{
	return s ? str_of(s) : (struct str){ 0 };
}

/* What a sink gets: the finished line (with newline) and its parts. Valid during the call only. */
struct log_line {
	enum log_level level;
	int64_t at; /* unix ns */
	const char *msg;
	const struct log_field *fields; /* ends with LOG_KIND_END */
	struct str json;
};

typedef void (*log_sink_fn)(const struct log_line *line, void *user);

const char *log_level_name(enum log_level l); /* "DEBUG", "INFO", "WARN", "ERROR", as slog prints */
const char *log_level_word(enum log_level l); /* "debug", "info", "warn", "error", as in flags */
/* debug, info, warn, error in any case; -EINVAL otherwise. */
int log_level_parse(const char *text, enum log_level *ret);

/*
 * The first sink: whole lines to a descriptor, one write() each; -1 for none. The descriptor stays
 * the caller's. A log that nobody reads must not hold the program up: a pipe or socket is made not
 * to block. What it does not take at once waits, up to LOG_REST_MAX bytes; lines beyond are dropped
 * and counted. Terminals and files are left as they are.
 */
#define LOG_REST_MAX ((size_t)4 * 1024 * 1024)
void log_to_fd(int fd, enum log_level level);
/* The level of that first sink, also while there is none. */
enum log_level log_get_level(void);
void log_set_level(enum log_level level);
/*
 * More sinks; at most LOG_SINKS_MAX. A sink may add and remove sinks, itself too. What is logged
 * inside a sink goes to the descriptor and to no sink. Returns an id, or -ENOSPC.
 */
#define LOG_SINKS_MAX 8
int log_add_sink(enum log_level level, log_sink_fn fn, void *user);
void log_set_sink_level(int id, enum log_level level);
void log_remove_sink(int id);

#define LOG_VALUE_MAX 4096 /* bytes of one string, before escaping */

/* Whether anybody is there for a line of that level; inside a sink that is the descriptor alone. */
bool log_wants(enum log_level level);
/* fields ends with LOG_KIND_END, or is NULL for none. */
void log_write(enum log_level level, const char *msg, const struct log_field *fields);
/*
 * Around what may log thousands of lines: those for the descriptor are written together, up to
 * LOG_HELD_MAX bytes of them. Each by itself would cost a call, and the reader that it wakes.
 */
#define LOG_HELD_MAX ((size_t)64 * 1024)
void log_hold(void);
void log_release(void);
/* Whether something waits for the descriptor; log_flush() writes what it takes now. */
bool log_pending(void);
void log_flush(void);
/* Lines that the descriptor wanted and did not take, since the start. */
uint64_t log_dropped(void);

#define log_at(level, msg, ...)                                                                    \
	do {                                                                                       \
		if (log_wants(level))                                                              \
			log_write((level), (msg),                                                  \
				  (const struct log_field[]){ __VA_ARGS__ __VA_OPT__(, ){ 0 } });  \
	} while (0)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)

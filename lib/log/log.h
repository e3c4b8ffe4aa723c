/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: one JSON object per line (FR-6.1): "time", "level", "msg", then the caller's fields; or the
 * same as text for people.
 *
 *	log_info("config-loaded", LOG_S("file", path), LOG_U("backends", n));
 *
 * A line is formatted only if a sink wants its level. The line is valid UTF-8 JSON whatever bytes
 * a value holds: bytes that are not UTF-8 become U+FFFD, and a string longer than LOG_VALUE_MAX
 * is cut and ends with an ellipsis. A field whose string is NULL is left out. The caller must not
 * use a key twice in one line. Only programs log; libraries return errors.
 *
 * There is one logger per process. It belongs to the main thread. Other threads may log between
 * log_thread_start() and log_thread_end(), with log_wants(), log_write() and the macros; all other
 * functions are for the main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* The type of a field's value; it selects the member of the union below. */
enum log_kind {
	LOG_KIND_END,
	LOG_KIND_STR,
	LOG_KIND_INT,
	LOG_KIND_UINT,
	LOG_KIND_DOUBLE,
	LOG_KIND_BOOL,
	LOG_KIND_DURATION
};

/* One key and its value. The logger borrows both strings for the duration of the call. */
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

/* Initialisers of one field. LOG_S takes a C string or NULL, LOG_SN a pointer and a length. */
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
/* A duration in nanoseconds, formatted as Go formats it: "1.5s". */
#define LOG_T(k, v)                                                                                \
	{                                                                                          \
		.kind = LOG_KIND_DURATION, .key = (k), .i = (v)                                    \
	}

static inline struct str log__str(const char *s)
{
	return s ? str_of(s) : (struct str){ 0 };
}

/*
 * The argument of a sink: the finished line with its newline, and its parts. It is valid only
 * during the call; a sink that keeps a line must copy it. A line of another thread has no fields
 * here: they are only in json.
 */
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
/* Parses debug, info, warn or error in any case. -EINVAL otherwise; *ret is then untouched. */
int log_level_parse(const char *text, enum log_level *ret);

/*
 * The first sink writes whole lines to a descriptor, one write() each; -1 turns it off. The
 * caller keeps the ownership of the descriptor. A slow reader must not block the program, so a
 * pipe or socket is set to O_NONBLOCK; terminals and files are left as they are. Bytes that the
 * descriptor does not accept at once wait in memory, at most LOG_REST_MAX; further lines are
 * dropped and counted. A change of the descriptor discards the bytes that waited for the old one.
 *
 * Every line begins at the start of a line, also after a descriptor (a file on a full disk) has
 * accepted only a part of the one before.
 */
#define LOG_REST_MAX ((size_t)4 * 1024 * 1024)
void log_to_fd(int fd, enum log_level level);
/* How lines are written to the descriptor; LOG_JSON at the start. Sinks get JSON in any case. */
enum log_format { LOG_JSON, LOG_TEXT };
void log_set_format(enum log_format format);
/* The level of the first sink. It can be read and set also while there is no descriptor. */
enum log_level log_get_level(void);
void log_set_level(enum log_level level);
/*
 * More sinks, at most LOG_SINKS_MAX. A sink may add and remove sinks, itself included. A line
 * that is logged inside a sink goes to the descriptor and to no sink. Returns an id, or -ENOSPC.
 */
#define LOG_SINKS_MAX 8
int log_add_sink(enum log_level level, log_sink_fn fn, void *user);
/* Both need an id that log_add_sink() returned and that has not been removed. */
void log_set_sink_level(int id, enum log_level level);
void log_remove_sink(int id);

#define LOG_VALUE_MAX 4096 /* bytes of one string, before escaping */

/* Whether a sink wants lines of this level; inside a sink only the descriptor counts. */
bool log_wants(enum log_level level);
/*
 * Formats and delivers one line. fields ends with LOG_KIND_END, or is NULL for none. errno is
 * kept.
 */
void log_write(enum log_level level, const char *msg, const struct log_field *fields);
/*
 * Between log_hold() and log_release() the lines for the descriptor are collected, up to
 * LOG_HELD_MAX bytes, and written together. A program uses this around work that may log
 * thousands of lines: each write() costs a system call and wakes the reader. The calls do not
 * nest.
 */
#define LOG_HELD_MAX ((size_t)64 * 1024)
void log_hold(void);
void log_release(void);
/*
 * Whether bytes wait for the descriptor. log_flush() writes as many as it accepts now, and does
 * not block on a pipe or socket.
 */
bool log_pending(void);
void log_flush(void);
/* Lines lost since the start, because the descriptor failed or too much was waiting for it. */
uint64_t log_dropped(void);
/*
 * Lines lost before the last one that was accepted and not returned by an earlier call, so that the
 * program can log the number once. 0 while every line is being lost.
 */
uint64_t log_take_gap(void);

/*
 * Lines of other threads. A thread formats its line and leaves it in a ring of its own, which the
 * main thread empties: the calling thread takes no lock and does not wait for the descriptor. A
 * line that is longer than LOG_RING_LINE_MAX, or finds the ring full, is dropped and counts in
 * log_dropped() and log_take_gap(). The lines of a thread keep their order; lines of different
 * threads that are collected together are written in the order of their times.
 */
#define LOG_RING_SIZE ((size_t)1024 * 1024)
#define LOG_RING_LINE_MAX ((size_t)64 * 1024)
/*
 * From now on other threads may log. The main thread calls this once, before it starts the first
 * of them. wake() is called in those threads, when the main thread has to call log_collect() soon:
 * it must be short and must not log, as ev_async_send().
 */
void log_accept_threads(void (*wake)(void *user), void *user);
/* The first and the last call of a thread that logs. */
void log_thread_start(void);
void log_thread_end(void);
/*
 * Writes lines of other threads, a bounded number of bytes. If it returns true, it has to be called
 * again within LOG_COLLECT_PERIOD, because wake() is not called for every line. After false the
 * next line calls wake().
 */
#define LOG_COLLECT_PERIOD INT64_C(5000000) /* ns */
bool log_collect(void);

/* The field expressions are evaluated only if a sink wants the level. */
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

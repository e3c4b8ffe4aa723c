/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: the one logger of a process.
 *
 * There is one static struct logger, which belongs to the main thread; what other threads log
 * arrives through threads.c. It owns a table of sinks and some buffers, which are kept
 * from line to line so that a warm logger does not allocate; the descriptor belongs to the
 * program. A line is formatted once, then given to the descriptor and to each sink that wants its
 * level.
 *
 * Lines on the descriptor stay whole and in order. Bytes that it does not accept at once wait in
 * `rest`, from offset `gone` on, and go out before any later line, with the next line or by
 * log_flush(). Ten thousand backends that change at once produce more lines than a pipe holds,
 * and a reader that keeps reading must get all of them. When `rest` is full, further lines are
 * dropped.
 *
 * A full disk may accept the beginning of a line and refuse the rest, which is dropped. The line is
 * `torn` then, and the next one that is accepted follows a newline. Lines that were lost become a
 * gap when a later one is accepted, so that the report of the gap has a chance to be written.
 *
 * A sink that logs would call itself without end. While the sinks run (`telling`), a line
 * therefore goes to the descriptor alone. The sinks still use `line` at that time, so the inner
 * line is formatted in `inner`.
 */
#include "lib/log/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/log/log_private.h"

#define ELLIPSIS "\xe2\x80\xa6" /* U+2026 */

struct sink {
	log_sink_fn fn; /* NULL: the slot is free */
	void *user;
	enum log_level level;
};

static struct logger {
	int fd;
	enum log_level fd_level;
	enum log_format format;
	struct sink sinks[LOG_SINKS_MAX];
	struct buf line;  /* the current line, as JSON */
	struct buf inner; /* a line logged inside a sink */
	struct buf text;  /* the current line for people */
	struct buf rest;  /* bytes that wait for the descriptor */
	size_t gone;	  /* bytes of rest already written */
	bool held;	  /* between log_hold() and log_release() */
	struct buf cut;	  /* a shortened value */
	bool telling;	  /* the sinks are being called */
	bool inside;	  /* the last byte written is not the end of a line */
	bool torn;	  /* the rest of that line was dropped */
	uint64_t dropped; /* lines, since the start */
	uint64_t lost;	  /* lines dropped since the last one that was accepted */
	uint64_t gap;	  /* lines dropped before that, not yet taken by log_take_gap() */
} logger = { .fd = -1 };

/* In capitals, as Go's slog prints them. */
static const char *const level_names[] = {
	[LOG_DEBUG] = "DEBUG",
	[LOG_INFO] = "INFO",
	[LOG_WARN] = "WARN",
	[LOG_ERROR] = "ERROR",
};

static const char *const level_words[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARN] = "warn",
	[LOG_ERROR] = "error",
};

const char *log_level_name(enum log_level l)
{
	assert((size_t)l < ARRAY_SIZE(level_names));
	return level_names[l];
}

const char *log_level_word(enum log_level l)
{
	assert((size_t)l < ARRAY_SIZE(level_words));
	return level_words[l];
}

int log_level_parse(const char *text, enum log_level *ret)
{
	assert(text && ret);

	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
		if (str_ieq(str_of(text), str_of(level_names[i]))) {
			*ret = (enum log_level)i;
			return 0;
		}
	return -EINVAL;
}

/*
 * Sets O_NONBLOCK on pipes and sockets only. On a terminal the flag would change the open file
 * description that the shell and other programs share; on a regular file it has no effect.
 */
static void unblock(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* What is known of the old descriptor. Its lost lines are reported on the new one. */
static void forget_output(void)
{
	logger.rest.n = logger.gone = 0;
	logger.inside = logger.torn = false;
}

static bool sink_wants(const struct sink *s, enum log_level level)
{
	return s->fn && level >= s->level;
}

static bool fd_wants(enum log_level level)
{
	return logger.fd >= 0 && level >= logger.fd_level;
}

/* Whether anyone wants the level; inside a sink only the descriptor counts. */
static bool wants(enum log_level level, bool telling)
{
	if (fd_wants(level))
		return true;
	for (size_t i = 0; i < LOG_SINKS_MAX && !telling; i++)
		if (sink_wants(&logger.sinks[i], level))
			return true;
	return false;
}

/* Called after each change of what is wanted, for the other threads. */
static void tell_floor(void)
{
	int level = LOG_DEBUG;

	while (level <= LOG_ERROR && !wants((enum log_level)level, false))
		level++;
	log__set_floor(level);
}

void log_to_fd(int fd, enum log_level level)
{
	assert(fd >= -1);

	unblock(fd);
	if (fd != logger.fd)
		forget_output();
	logger.fd = fd;
	logger.fd_level = level;
	tell_floor();
}

void log_set_format(enum log_format format)
{
	logger.format = format;
}

enum log_level log_get_level(void)
{
	return logger.fd_level;
}

void log_set_level(enum log_level level)
{
	assert((size_t)level < ARRAY_SIZE(level_names));
	logger.fd_level = level;
	tell_floor();
}

int log_add_sink(enum log_level level, log_sink_fn fn, void *user)
{
	assert(fn);

	for (int id = 0; id < LOG_SINKS_MAX; id++)
		if (!logger.sinks[id].fn) {
			logger.sinks[id] = (struct sink){ fn, user, level };
			tell_floor();
			return id;
		}
	return -ENOSPC;
}

static struct sink *sink_of(int id)
{
	assert(id >= 0 && id < LOG_SINKS_MAX && logger.sinks[id].fn);
	return &logger.sinks[id];
}

void log_set_sink_level(int id, enum log_level level)
{
	sink_of(id)->level = level;
	tell_floor();
}

void log_remove_sink(int id)
{
	*sink_of(id) = (struct sink){ 0 };
	tell_floor();
}

bool log_wants(enum log_level level)
{
	return log__own ? log__thread_wants(level) : wants(level, logger.telling);
}

/*
 * The last offset at or before LOG_VALUE_MAX that does not split a UTF-8 character: bytes of the
 * form 10xxxxxx continue a character, and a character has at most three of them.
 */
static size_t cut_at(const char *p)
{
	size_t n = LOG_VALUE_MAX;

	while (n > LOG_VALUE_MAX - 3 && ((unsigned char)p[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void write_text(struct buf *out, struct buf *cut, struct str s)
{
	if (s.n > LOG_VALUE_MAX) {
		cut->n = 0;
		buf_add(cut, s.p, cut_at(s.p));
		buf_add_lit(cut, ELLIPSIS);
		s = (struct str){ cut->p, cut->n };
	}
	json_write_string(out, s.p, s.n);
}

/* The negation is done on the unsigned type because -INT64_MIN overflows. */
static void write_int(struct buf *out, int64_t v)
{
	if (v < 0)
		buf_addc(out, '-');
	buf_addu(out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static void write_value(struct buf *out, struct buf *cut, const struct log_field *f)
{
	char duration[DURATION_STRLEN];

	switch (f->kind) {
	case LOG_KIND_END:
		break;
	case LOG_KIND_STR:
		write_text(out, cut, f->s);
		break;
	case LOG_KIND_INT:
		write_int(out, f->i);
		break;
	case LOG_KIND_UINT:
		buf_addu(out, f->u);
		break;
	case LOG_KIND_DOUBLE:
		json_write_double(out, f->d);
		break;
	case LOG_KIND_BOOL:
		buf_adds(out, f->b ? "true" : "false");
		break;
	case LOG_KIND_DURATION:
		write_text(out, cut, str_of(duration_format(f->i, duration)));
		break;
	}
}

/* Keys and msg pass through write_text() too: they may come from a caller's data. */
void log__format(struct buf *out, struct buf *cut, const struct log_line *line)
{
	char time[TIME_STRLEN];

	out->n = 0;
	buf_add_lit(out, "{\"time\":\"");
	buf_adds(out, time_format(line->at, time));
	buf_add_lit(out, "\",\"level\":\"");
	buf_adds(out, log_level_name(line->level));
	buf_add_lit(out, "\",\"msg\":");
	write_text(out, cut, str_of(line->msg));
	for (const struct log_field *f = line->fields; f->kind != LOG_KIND_END; f++) {
		if (f->kind == LOG_KIND_STR && !f->s.p)
			continue;
		buf_addc(out, ',');
		write_text(out, cut, str_of(f->key));
		buf_addc(out, ':');
		write_value(out, cut, f);
	}
	buf_add_lit(out, "}\n");
}

/* Returns the number of bytes written; if fewer than n, errno says why the descriptor refused. */
static size_t write_all(const char *p, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = write(logger.fd, p + done, n - done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		done += (size_t)r;
	}
	if (done)
		logger.inside = p[done - 1] != '\n';
	return done;
}

/* The same, but a line that was cut is ended first. */
static size_t write_lines(const char *p, size_t n)
{
	if (logger.torn && write_all("\n", 1) == 0)
		return 0;
	logger.torn = false;
	return write_all(p, n);
}

static void lose(uint64_t lines)
{
	logger.dropped += lines;
	logger.lost += lines;
}

static void on_accepted(void)
{
	logger.gap += logger.lost;
	logger.lost = 0;
}

/* The descriptor failed for good (EPIPE, ENOSPC). Counts the waiting lines and frees them. */
static void drop_rest(void)
{
	uint64_t lines = 0;

	for (size_t i = logger.gone; i < logger.rest.n; i++)
		lines += logger.rest.p[i] == '\n';
	buf_free(&logger.rest);
	logger.gone = 0;
	logger.torn = logger.inside;
	lose(lines);
}

/*
 * The memory of an emptied buffer is freed, because a burst may have grown it to LOG_REST_MAX.
 * The written part is removed only when it is more than half, which keeps the copying linear.
 */
void log_flush(void)
{
	struct buf *rest = &logger.rest;

	if (!log_pending())
		return;
	logger.gone += write_lines(rest->p + logger.gone, rest->n - logger.gone);
	if (logger.gone == rest->n) {
		buf_free(rest);
		logger.gone = 0;
		on_accepted();
	} else if (errno != EAGAIN) {
		drop_rest();
	} else if (logger.gone > rest->n / 2) {
		buf_consume(rest, logger.gone);
		logger.gone = 0;
	}
}

bool log_pending(void)
{
	return logger.gone < logger.rest.n;
}

void log_hold(void)
{
	assert(!logger.held);
	logger.held = true;
}

void log_release(void)
{
	logger.held = false;
	log_flush();
}

/* Whether the line may join the held ones; past LOG_HELD_MAX the buffer is written out first. */
static bool is_held(struct str json)
{
	return logger.held && logger.rest.n - logger.gone + json.n <= LOG_HELD_MAX;
}

/*
 * Keeps a line of which `done` bytes were written and the rest has to wait. A line that was begun
 * must be completed, or the next line would continue it; it is kept even when `rest` is past its
 * bound. Only untouched lines are dropped.
 */
static void keep(struct str json, size_t done)
{
	if (!done && logger.rest.n - logger.gone + json.n > LOG_REST_MAX) {
		lose(1);
		return;
	}
	buf_add(&logger.rest, json.p + done, json.n - done);
	on_accepted();
}

static void to_fd(struct str json)
{
	size_t done;

	if (is_held(json)) {
		buf_add(&logger.rest, json.p, json.n);
		return;
	}
	log_flush();
	if (log_pending()) {
		keep(json, 0);
		return;
	}
	done = write_lines(json.p, json.n);
	if (done == json.n) {
		on_accepted();
	} else if (errno == EAGAIN) {
		keep(json, done);
	} else {
		logger.torn = logger.inside;
		lose(1);
	}
}

/* The slot is read again for each sink, since a sink may add or remove sinks during the walk. */
static void to_sinks(const struct log_line *line)
{
	logger.telling = true;
	for (size_t i = 0; i < LOG_SINKS_MAX; i++)
		if (sink_wants(&logger.sinks[i], line->level))
			logger.sinks[i].fn(line, logger.sinks[i].user);
	logger.telling = false;
}

static int64_t realtime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static struct str shape(struct str json)
{
	if (logger.format == LOG_JSON)
		return json;
	log__text(json, &logger.text);
	return (struct str){ logger.text.p, logger.text.n };
}

void log__deliver(const struct log_line *line)
{
	if (fd_wants(line->level))
		to_fd(shape(line->json));
	if (!logger.telling)
		to_sinks(line);
}

/* A line can be reported as lost at once unless the descriptor is losing lines as well. */
void log__lost_elsewhere(uint64_t lines)
{
	lose(lines);
	if (logger.lost == lines)
		on_accepted();
}

static void write_here(struct log_line *line)
{
	struct buf *out = logger.telling ? &logger.inner : &logger.line;

	assert(log__is_main());
	log__format(out, &logger.cut, line);
	line->json = (struct str){ out->p, out->n };
	log__deliver(line);
}

/* errno is restored, because callers log between a failed call and its check. */
void log_write(enum log_level level, const char *msg, const struct log_field *fields)
{
	static const struct log_field none = { 0 };
	struct log_line line = { level, realtime(), msg, fields ? fields : &none, { 0 } };
	int saved = errno;

	assert(msg);

	if (!log_wants(level))
		return;
	if (log__own)
		log__thread_write(&line);
	else
		write_here(&line);
	errno = saved;
}

uint64_t log_dropped(void)
{
	return logger.dropped;
}

uint64_t log_take_gap(void)
{
	uint64_t gap = logger.gap;

	logger.gap = 0;
	return gap;
}

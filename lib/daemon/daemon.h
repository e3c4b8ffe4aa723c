/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon: what every daemon needs: signals, systemd, limits, and some log lines.
 *
 * Signals arrive on the loop. The first SIGTERM or SIGINT calls stop() once: the program drains,
 * leaves its loop and calls daemon_end(). If the drain takes longer than drain_limit, the loop is
 * left with ev_break(), and pending output to clients is lost. A second signal is logged and ends
 * the process at once with status 1. SIGHUP calls reload(), but not while stopping. SIGPIPE
 * and SIGXFSZ are ignored from daemon_begin() on; executed children inherit that and must reset it.
 *
 * To systemd, STOPPING=1 is sent when the drain begins and WATCHDOG=1 twice per watchdog period,
 * both automatically; the rest is sent by the functions below. Without systemd they do nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/log/log.h"
#include "lib/loop/loop.h"

struct http_trace;

struct daemon_calls {
	void (*stop)(int signo, void *user);
	void (*reload)(void *user); /* NULL: SIGHUP is ignored */
	void *user;
	int64_t drain_limit; /* ns, > 0 */
	/* SIGUSR2, but not while stopping; see takeover.h. NULL: it has its default action. */
	void (*upgrade)(void *user);
};

/* Owned by the program; must not move. At most one per process. */
struct daemon {
	struct ev_loop *loop;
	struct daemon_calls calls;
	ev_signal term, interrupt, hangup, usr2; /* usr2: only with upgrade() */
	ev_timer watchdog;			 /* active if systemd set a watchdog period */
	ev_timer deadline;			 /* active while draining */
	ev_prepare before_poll;			 /* starts output when needed */
	ev_io output;	  /* active while log lines wait for standard output */
	ev_async lines;	  /* another thread has logged; only with daemon_accept_threads() */
	ev_timer collect; /* active while other threads log */
	bool stopping;
};

/* Installs the handlers and timers on the loop, which they keep alive until daemon_end(). */
void daemon_start(struct daemon *d, struct ev_loop *loop, const struct daemon_calls *calls);
/*
 * Removes everything from the loop. The signals are ignored from then on, because the process is
 * about to exit.
 */
void daemon_end(struct daemon *d);

/*
 * From now on other threads may log (log_thread_start()). To be called by the main thread after
 * daemon_start(), before it starts the first of them. These threads must have ended before
 * daemon_end(), and must block all signals, which belong to the main thread.
 */
void daemon_accept_threads(struct daemon *d);

/*
 * READY=1 with a status: call it after the start, and after each reload whether it succeeded or
 * not.
 */
void daemon_ready(const char *status);
/* RELOADING=1; daemon_ready() ends the reload. */
void daemon_reloading(void);
/* MAINPID: another process, which this one has started, is the service from now on. */
void daemon_hand_over(pid_t pid);
/* One line for `systemctl status`; newlines become spaces. */
void daemon_status(const char *status);

/* How a daemon logs. */
struct daemon_log {
	enum log_level level;
	const char *format; /* one of daemon_log_formats */
};

extern const char *const daemon_log_formats[];

/* The rows of a table of flags for it. prefix is that of the environment: "MAGLEV_". */
#define DAEMON_LOG_OPTIONS(prefix, to)                                                             \
	{ .name = "log-level",                                                                     \
	  .kind = CLI_LEVEL,                                                                       \
	  .env = prefix "LOG_LEVEL",                                                               \
	  .fallback = "info",                                                                      \
	  .help = "debug, info, warn or error",                                                    \
	  .level = &(to).level },                                                                  \
	{                                                                                          \
		.name = "log-format", .kind = CLI_CHOICE, .env = prefix "LOG_FORMAT",              \
		.fallback = "json", .help = "json, or text for people", .argument = "FORMAT",      \
		.choices = daemon_log_formats, .string = &(to).format                              \
	}

/*
 * Sends the log to standard output, logs the start, and raises the limit of open files. A SIGHUP
 * between this call and daemon_start() stays pending until then.
 */
void daemon_begin(const struct daemon_log *how);
/*
 * Logs the stop, after the lines of other threads, and waits up to one second for the reader of
 * the log to accept the rest. Blocks.
 */
void daemon_finish(void);
/* For http_server_config.trace: logs each request at debug level. */
void daemon_log_request(const struct http_trace *trace, void *user);

/*
 * Opens /dev/null for standard descriptors that are closed. Otherwise the next socket would get
 * number 1, and the log would be written to it.
 */
void daemon_fill_standard(void);
/*
 * Raises the soft limit of open files to the hard limit and returns it; negative errno on
 * failure.
 */
int daemon_raise_nofile(uint64_t *ret_limit);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon: what every daemon does: signals, systemd, limits, and some lines of the log.
 *
 * Signals arrive on the loop. The first SIGTERM or SIGINT calls stop(), once: the program drains
 * and, when done, leaves its loop and calls daemon_end(). A drain that takes longer than
 * drain_limit is over: the loop is left for it, and what clients have not taken is lost to them. A
 * second signal logs that and ends the process at once, with status 1. SIGHUP calls reload(), but
 * not while stopping. SIGPIPE is ignored: children that are executed inherit that and must set it
 * back.
 *
 * To systemd: STOPPING=1 when the drain begins and WATCHDOG=1 twice per watchdog period, both by
 * themselves; the rest when the program says so. Without systemd all of that does nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/log/log.h"
#include "lib/loop/loop.h"

struct http_trace;

struct daemon_calls {
	void (*stop)(int signo, void *user);
	void (*reload)(void *user); /* NULL: SIGHUP is ignored */
	void *user;
	int64_t drain_limit; /* ns, > 0 */
};

/* Lives in the program, at one place; at most one per process. */
struct daemon {
	struct ev_loop *loop;
	struct daemon_calls calls;
	ev_signal term, interrupt, hangup;
	ev_timer watchdog; /* active while systemd wants it */
	ev_timer deadline; /* active while draining */
	ev_prepare before_poll;
	ev_io output; /* active while the log has lines that wait */
	bool stopping;
};

void daemon_start(struct daemon *d, struct ev_loop *loop, const struct daemon_calls *calls);
/* Takes everything off the loop again. Signals from then on change nothing: the end is near. */
void daemon_end(struct daemon *d);

/* Serving: after the start, and after each reload, whether that went well or not. */
void daemon_ready(const char *status);
/* A reload begins; daemon_ready() ends it. */
void daemon_reloading(void);
/* One line for `systemctl status`; a newline in it becomes a space. */
void daemon_status(const char *status);

/*
 * Logs to standard output from here on, says what starts, and takes all the files it may. A SIGHUP
 * between this and daemon_start() is kept for then.
 */
void daemon_begin(enum log_level level);
/* Says that it is over, and gives whoever reads the log up to a second to take the rest of it. */
void daemon_finish(void);
/* For http_server_config.trace: each request is a line, from debug on. */
void daemon_log_request(const struct http_trace *trace, void *user);

/* Standard descriptors that are closed lead nowhere from now on, not to what is opened next. */
void daemon_fill_standard(void);
/* Raises the soft limit of open files to the hard one and tells it; negative errno on failure. */
int daemon_raise_nofile(uint64_t *ret_limit);

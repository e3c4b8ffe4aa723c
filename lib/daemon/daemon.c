/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon: signals, the drain deadline and the watchdog of one process.
 *
 * Everything is libev watchers inside struct daemon, which the program owns; only libev's own
 * handler runs in signal context. The watchers keep the loop alive until daemon_end().
 *
 * There are three ways out. The program drains and leaves its loop. The deadline leaves the loop:
 * a loop that still turns then waits only for clients, which must not delay the end. A second
 * signal ends the process without exit handlers, because they may hang as well.
 *
 * Log lines that standard output did not accept are written when it becomes writable. Lines that
 * were lost are reported once, when it accepts lines again.
 *
 * Another thread that logs wakes the loop, which then collects lines with a timer for as long as
 * there are any. So a busy thread wakes it a few hundred times a second, and an idle one never.
 *
 * A timer of the loop sends the watchdog message, so a loop that no longer turns is noticed.
 */
#include "lib/daemon/daemon.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/units.h"
#include "lib/daemon/notify.h"

static _Noreturn void abandon(void)
{
	log_warn("stopped-at-once", LOG_S("reason", "second signal while stopping"));
	_exit(EXIT_FAILURE);
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct daemon *d = w->data;

	if (d->stopping)
		abandon();
	d->stopping = true;
	daemon__notify_stopping();
	/* ev_now() is the start of this turn; without the update the drain would be cut short */
	ev_now_update(loop);
	ev_timer_start(loop, &d->deadline);
	d->calls.stop(w->signum, d->calls.user);
}

static void on_hangup(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct daemon *d = w->data;

	if (d->calls.reload && !d->stopping)
		d->calls.reload(d->calls.user);
}

static void on_upgrade(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct daemon *d = w->data;

	if (!d->stopping)
		d->calls.upgrade(d->calls.user);
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

static void on_watchdog(struct ev_loop *loop, ev_timer *w, int revents)
{
	daemon__notify_watchdog();
}

/* A full disk or a reader that stopped has cost log lines, and the log is written again. */
static void report_gap(void)
{
	uint64_t lines = log_take_gap();

	if (lines)
		log_warn("log-lines-lost", LOG_U("lines", lines));
}

/* Before each poll, because any callback of this turn may have logged. */
static void on_before_poll(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct daemon *d = w->data;

	report_gap();
	if (log_pending() && !ev_is_active(&d->output))
		ev_io_start(loop, &d->output);
}

static void on_output(struct ev_loop *loop, ev_io *w, int revents)
{
	log_flush();
	if (!log_pending())
		ev_io_stop(loop, w);
}

static void collect_lines(struct daemon *d)
{
	if (!log_collect())
		ev_timer_stop(d->loop, &d->collect);
	else if (!ev_is_active(&d->collect))
		ev_timer_again(d->loop, &d->collect);
}

static void on_lines(struct ev_loop *loop, ev_async *w, int revents)
{
	collect_lines(w->data);
}

static void on_collect(struct ev_loop *loop, ev_timer *w, int revents)
{
	collect_lines(w->data);
}

/* In another thread. */
static void on_wake(void *user)
{
	struct daemon *d = user;

	ev_async_send(d->loop, &d->lines);
}

static void catch_signal(struct daemon *d, ev_signal *w, int signo,
			 void (*fn)(struct ev_loop *, ev_signal *, int))
{
	sigset_t one;

	ev_signal_init(w, fn, signo);
	w->data = d;
	ev_signal_start(d->loop, w);
	sigemptyset(&one);
	sigaddset(&one, signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL); /* blocked by daemon_begin() or the parent */
}

static void ignore_signal(int signo)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int r = sigaction(signo, &ignore, NULL);

	assert(r == 0);
}

/*
 * ev_signal_stop() restores the default action, which would end the process with the wrong
 * status. The signal is blocked until it is ignored, so that none arrives in between.
 */
static void let_go(struct daemon *d, ev_signal *w)
{
	sigset_t one, before;

	sigemptyset(&one);
	sigaddset(&one, w->signum);
	sigprocmask(SIG_BLOCK, &one, &before);
	ev_signal_stop(d->loop, w);
	ignore_signal(w->signum);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Half the watchdog period is what sd_watchdog_enabled(3) recommends. */
void daemon_start(struct daemon *d, struct ev_loop *loop, const struct daemon_calls *calls)
{
	int64_t period = daemon__watchdog_period();
	ev_tstamp each = loop_seconds(period / 2);

	assert(d && loop && calls && calls->stop && calls->drain_limit > 0);

	*d = (struct daemon){ .loop = loop, .calls = *calls };
	catch_signal(d, &d->term, SIGTERM, on_stop_signal);
	catch_signal(d, &d->interrupt, SIGINT, on_stop_signal);
	catch_signal(d, &d->hangup, SIGHUP, on_hangup);
	if (calls->upgrade)
		catch_signal(d, &d->usr2, SIGUSR2, on_upgrade);
	ev_timer_init(&d->deadline, on_deadline, loop_seconds(calls->drain_limit), 0.);
	ev_timer_init(&d->watchdog, on_watchdog, each, each);
	if (period > 0)
		ev_timer_start(loop, &d->watchdog);
	ev_io_init(&d->output, on_output, STDOUT_FILENO, EV_WRITE);
	ev_prepare_init(&d->before_poll, on_before_poll);
	d->before_poll.data = d;
	ev_prepare_start(loop, &d->before_poll);
	ev_async_init(&d->lines, on_lines);
	d->lines.data = d;
	ev_timer_init(&d->collect, on_collect, 0., loop_seconds(LOG_COLLECT_PERIOD));
	d->collect.data = d;
}

void daemon_accept_threads(struct daemon *d)
{
	assert(d && d->loop);

	ev_async_start(d->loop, &d->lines);
	log_accept_threads(on_wake, d);
}

void daemon_end(struct daemon *d)
{
	assert(d && d->loop);

	let_go(d, &d->term);
	let_go(d, &d->interrupt);
	let_go(d, &d->hangup);
	if (d->calls.upgrade)
		let_go(d, &d->usr2);
	ev_timer_stop(d->loop, &d->deadline);
	ev_timer_stop(d->loop, &d->watchdog);
	ev_prepare_stop(d->loop, &d->before_poll);
	ev_async_stop(d->loop, &d->lines);
	ev_timer_stop(d->loop, &d->collect);
	ev_io_stop(d->loop, &d->output);
}

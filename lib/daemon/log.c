/* SPDX-License-Identifier: Apache-2.0 */
/* log: the start of every daemon, and the log lines that all of them share. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "lib/cli/cli.h"
#include "lib/daemon/daemon.h"
#include "lib/http/server.h"

/* Blocks SIGHUP until daemon_start(); its default action would end the process. */
static void hold_hangup(void)
{
	sigset_t hangup;

	sigemptyset(&hangup);
	sigaddset(&hangup, SIGHUP);
	sigprocmask(SIG_BLOCK, &hangup, NULL);
}

static void ignore_signal(int signo)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(signo, &ignore, NULL);
}

const char *const daemon_log_formats[] = { "json", "text", NULL };

void daemon_begin(const struct daemon_log *how)
{
	uint64_t files;
	int r;

	hold_hangup();
	ignore_signal(SIGPIPE); /* the reader of the log may be gone already */
	ignore_signal(SIGXFSZ); /* the log may be a file that has reached LimitFSIZE= */
	daemon_fill_standard();
	log_set_format(strcmp(how->format, "text") == 0 ? LOG_TEXT : LOG_JSON);
	log_to_fd(STDOUT_FILENO, how->level);
	log_info("starting", LOG_S("version", cli_version.version),
		 LOG_S("commit", cli_version.commit), LOG_S("date", cli_version.date));
	r = daemon_raise_nofile(&files);
	if (r < 0)
		log_warn("nofile-limit", LOG_S("error", strerror(-r)));
}

void daemon_finish(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };
	int64_t until = loop_monotonic() + NSEC_PER_SEC, left = NSEC_PER_SEC;

	while (log_collect())
		;
	log_info("stopped");
	while (log_pending() && left > 0) {
		poll(&output, 1, (int)(left / NSEC_PER_MSEC) + 1);
		log_flush();
		left = until - loop_monotonic();
	}
}

void daemon_log_request(const struct http_trace *trace, void *user)
{
	char peer[ENDPOINT_STRLEN];

	log_debug("http-request", LOG_S("peer", endpoint_format(&trace->peer, peer)),
		  LOG_SN("method", trace->method.p, trace->method.n),
		  LOG_SN("target", trace->target.p, trace->target.n),
		  LOG_U("status", trace->status),
		  LOG_D("duration_ms", (double)trace->took / NSEC_PER_MSEC));
}

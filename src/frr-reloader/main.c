/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frr-reloader: wiring. Start: folder, lock, pid file, socket, then the loop. Stop: the run under
 * way is finished, its requests are answered, and the socket and the pid file are removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "src/frr-reloader/metrics.h"
#include "src/frr-reloader/requests.h"

#define EXIT_START_FAILED 3
#define DRAIN_LIMIT_MORE (5 * NSEC_PER_SEC) /* beyond both runs of frr-reload.py */

struct program {
	struct options options;
	struct ev_loop *loop;
	struct daemon daemon;
	struct reloader *reloader;
	struct admin *admin;
	struct requests *requests;
	char *pid_file;
};

/* ---- --check ---- */

static bool check_one(const char *what, const char *path, int mode)
{
	if (access(path, mode) == 0)
		return true;
	fprintf(stderr, "frr-reloader: %s: %s: %s\n", what, path, strerror(errno));
	return false;
}

static int check(const struct options *o)
{
	bool fine = check_one("--shared-volume", o->volume, W_OK | X_OK);

	fine &= check_one("--frr-reload", o->reload, X_OK);
	fine &= check_one("--vtysh", o->vtysh, X_OK);
	if (fine)
		puts("ok");
	return fine ? 0 : 1;
}

/* ---- the pid file, for clients that send SIGHUP ---- */

static int write_pid(struct program *p)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", getpid()), fd, r = 0;

	if (asprintf(&p->pid_file, "%s/reloader.pid", p->options.volume) < 0)
		abort();
	fd = open(p->pid_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)n) != n) {
		r = -errno;
		log_error("pid-file-failed", LOG_S("file", p->pid_file),
			  LOG_S("reason", strerror(-r)));
	}
	if (fd >= 0)
		close(fd);
	return r;
}

/* ---- signals ---- */

static void on_drained(void *user)
{
	struct program *p = user;

	ev_break(p->loop, EVBREAK_ALL);
}

static void on_idle(void *user)
{
	struct program *p = user;

	requests_drain(p->requests, on_drained, p);
}

static void on_stop(int signo, void *user)
{
	struct program *p = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	reloader_drain(p->reloader, on_idle, p);
}

static void on_hangup(void *user)
{
	struct program *p = user;

	if (reloader_request(p->reloader, NULL, NULL) < 0)
		log_warn("request-refused", LOG_S("reason", "too many requests wait"));
}

/* ---- the whole ---- */

static int start(struct program *p)
{
	const struct admin_config admin = { .daemon = &p->daemon,
					    .prefix = "frr_reloader",
					    .listen = p->options.metrics_addr,
					    .flag = "--metrics-addr",
					    .metrics = metrics_page };
	struct admin_config config = admin;
	int r;

	if (mkdir(p->options.volume, 0755) < 0 && errno != EEXIST) {
		r = -errno;
		log_error("folder-failed", LOG_S("folder", p->options.volume),
			  LOG_S("reason", strerror(-r)));
		return r;
	}
	r = reloader_new(p->loop, &p->options, &p->reloader);
	if (r < 0)
		return r;
	config.user = p->reloader;
	r = admin_new(&config, &p->admin);
	if (r == 0)
		r = requests_new(p->loop, p->reloader, p->admin, p->options.socket, &p->requests);
	if (r == 0)
		r = write_pid(p); /* after the socket, which only one reloader can have */
	if (r == 0)
		log_info("listening", LOG_S("for", "requests"), LOG_S("path", p->options.socket));
	return r;
}

static void stop(struct program *p)
{
	if (p->requests && p->pid_file)
		unlink(p->pid_file);
	requests_free(p->requests);
	reloader_free(p->reloader);
	admin_free(p->admin);
	free(p->pid_file);
}

static int serve(struct program *p)
{
	const struct daemon_calls calls = { .stop = on_stop,
					    .reload = on_hangup,
					    .user = p,
					    .drain_limit =
						    2 * p->options.timeout + DRAIN_LIMIT_MORE };
	int r;

	daemon_start(&p->daemon, p->loop, &calls);
	r = start(p);
	if (r == 0) {
		daemon_ready("waiting for requests");
		ev_run(p->loop, 0);
	}
	stop(p);
	daemon_end(&p->daemon);
	daemon_finish();
	return r < 0 ? EXIT_START_FAILED : 0;
}

int main(int argc, char *argv[])
{
	struct program p = { 0 };
	int r;

	options_parse(&p.options, argc, argv);
	if (p.options.check) {
		r = check(&p.options);
	} else {
		daemon_begin(&p.options.log);
		p.loop = ev_default_loop(0);
		r = serve(&p);
		ev_loop_destroy(p.loop);
	}
	options_free(&p.options);
	return r;
}

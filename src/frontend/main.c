/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglevd-frontend: wiring. Start: options, certificates, listener, connections to the maglevds,
 * then the loop. Stop: pending answers are sent and streams end; browsers reconnect by
 * themselves.
 */
#include <linux/capability.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "lib/net/privilege.h"
#include "lib/page/password.h"
#include "src/frontend/dashboard.h"
#include "src/frontend/users.h"

#define DRAIN_LIMIT (5 * NSEC_PER_SEC) /* after it the process ends without draining */
#define EXIT_START_FAILED 3

struct frontend {
	struct options options;
	struct ev_loop *loop;
	struct daemon daemon;
	struct dashboard *dashboard;
};

/*
 * --check: finds the errors in flags and certificate files that would keep the program from
 * starting.
 */
static int check(struct options *o)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	int r = dashboard_check(o, &why);

	if (r < 0)
		fprintf(stderr, "maglevd-frontend: %s\n", buf_cstr(&why));
	else
		puts("ok");
	options_free(o);
	return r < 0 ? 1 : 0;
}

/* A line of standard input without its end. A terminal does not show what is typed. */
static bool read_password(char *password, int size)
{
	struct termios was, quiet;
	bool terminal = tcgetattr(STDIN_FILENO, &was) == 0, got;

	if (terminal) {
		quiet = was;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
		fputs("Password: ", stderr);
	}
	got = fgets(password, size, stdin);
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
		fputs("\n", stderr);
	}
	if (got)
		password[strcspn(password, "\n")] = '\0';
	return got && *password;
}

/* --make-user: prints a line for the file of --users. */
static int make_user(const char *text)
{
	_cleanup_(buf_free) struct buf line = { 0 }, why = { 0 };
	char password[256], hash[PAGE_HASH_SIZE];
	struct str rest = str_of(text), name;
	struct users_list list;

	str_cut(&rest, ':', &name);
	if (!read_password(password, sizeof(password))) {
		fputs("maglevd-frontend: there is no password on standard input\n", stderr);
		return 1;
	}
	if (page_password_hash(password, hash) < 0)
		return 1;
	buf_printf(&line, "%.*s:%s:%.*s\n", (int)name.n, name.p, hash, (int)rest.n, rest.p);
	if (users_parse((struct str){ line.p, line.n }, &list, &why) < 0) {
		fprintf(stderr, "maglevd-frontend: --make-user: %s\n", buf_cstr(&why));
		return 1;
	}
	users_list_free(&list);
	fputs(buf_cstr(&line), stdout);
	return 0;
}

static void on_drained(void *user)
{
	struct frontend *f = user;

	ev_break(f->loop, EVBREAK_ALL);
}

static void on_stop(int signo, void *user)
{
	struct frontend *f = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	dashboard_drain(f->dashboard, on_drained, f);
}

static void on_hangup(void *user)
{
	struct frontend *f = user;

	daemon_reloading();
	dashboard_reload(f->dashboard);
	daemon_ready("serving");
}

/* Basic authentication sends the password itself, so the connection has to protect it. */
static void warn_if_open(const struct options *o, const struct endpoint *at)
{
	if (!options_have_users(o) || o->tls.certificate || addr_is_loopback(&at->addr))
		return;
	log_warn("admin-plaintext", LOG_S("addr", o->listen),
		 LOG_S("reason", "the password for /admin/ is sent in the clear: see --tls-cert, "
				 "or listen on loopback behind a proxy that encrypts"));
}

static int start(struct frontend *f)
{
	char text[ENDPOINT_STRLEN];
	struct endpoint at;
	int r = dashboard_new(&f->daemon, &f->options, &f->dashboard);

	if (r < 0)
		return r;
	at = dashboard_endpoint(f->dashboard);
	log_info("listening", LOG_S("for", "http"), LOG_S("addr", endpoint_format(&at, text)),
		 LOG_B("admin", options_have_users(&f->options)));
	warn_if_open(&f->options, &at);
	return 0;
}

static void log_privileges(int r)
{
	if (r < 0)
		log_warn("capability-drop-failed", LOG_S("error", strerror(-r)));
}

/*
 * The start needs a privilege only for ports below 1024. Files must be readable without any: they
 * are read again at SIGHUP, when there is none left. CAP_SETPCAP is for drop_privileges().
 */
static void keep_privileges(void)
{
	log_privileges(
		privilege_keep(UINT64_C(1) << CAP_NET_BIND_SERVICE | UINT64_C(1) << CAP_SETPCAP));
	privilege_raise(CAP_NET_BIND_SERVICE);
}

/* With the listeners open nothing needs a privilege. CAP_SETPCAP empties the bounding set. */
static void drop_privileges(void)
{
	privilege_raise(CAP_SETPCAP);
	log_privileges(privilege_keep(0));
}

static int serve(struct frontend *f)
{
	const struct daemon_calls calls = {
		.stop = on_stop, .reload = on_hangup, .user = f, .drain_limit = DRAIN_LIMIT
	};
	int r;

	daemon_start(&f->daemon, f->loop, &calls); /* before the first client can connect */
	keep_privileges();
	r = start(f);
	drop_privileges();
	if (r == 0) {
		daemon_ready("serving");
		ev_run(f->loop, 0);
	}
	dashboard_free(f->dashboard);
	daemon_end(&f->daemon);
	daemon_finish();
	return r < 0 ? EXIT_START_FAILED : 0;
}

/*
 * Texts of a megabyte are allocated and freed all the time. glibc raises its mmap threshold when
 * such a block is freed (mallopt(3)) and then takes the next from the heap, where a small block
 * above it keeps the memory from being returned. A fixed threshold prevents that.
 */
static void give_back_large_blocks(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

int main(int argc, char *argv[])
{
	struct frontend f = { 0 };
	int r;

	give_back_large_blocks();
	options_parse(&f.options, argc, argv);
	if (*f.options.make_user)
		return make_user(f.options.make_user);
	if (f.options.check)
		return check(&f.options);
	daemon_begin(&f.options.log);
	f.loop = ev_default_loop(0);
	r = serve(&f);
	ev_loop_destroy(f.loop);
	options_free(&f.options);
	return r;
}

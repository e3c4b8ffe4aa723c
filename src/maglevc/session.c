/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: the thin layer between a command and its servers.
 *
 * A command that needs servers is one call to each (calls.c). The row in action.c makes the
 * request, renders the answer and decides whether the answer means success; this file connects,
 * prints and sets the exit code. A row also says which kind of server it is for, maglevd,
 * maglev-speaker or maglev-router; each is connected when a command needs it.
 */
#include "src/maglevc/session.h"

#include <assert.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/who.h"
#include "lib/grpc/client.h"
#include "src/maglevc/action.h"
#include "src/maglevc/calls.h"
#include "src/maglevc/columns.h"
#include "src/maglevc/explain.h"
#include "src/maglevc/many.h"
#include "src/maglevc/pipe.h"
#include "src/maglevc/servers.h"
#include "src/maglevc/text.h"
#include "src/maglevc/version.h"
#include "src/maglevc/wait.h"

void session_complain(const struct session *s, const char *fmt, ...)
{
	_cleanup_(buf_free) struct buf raw = { 0 }, line = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	buf_adds(&line, s->options->color ? "\033[31m" : "");
	if (!s->shell || s->line)
		buf_adds(&line, "maglevc: ");
	if (s->line)
		buf_printf(&line, "line %u: ", s->line);
	text_add_clean(&line, str_of(buf_cstr(&raw)));
	buf_adds(&line, s->options->color ? "\033[0m\n" : "\n");
	fputs(buf_cstr(&line), s->err);
	fflush(s->err);
}

/* Output that could not be written (full disk, closed pipe) is a failure. */
static enum status write_out(const struct session *s, const struct buf *text)
{
	if (!text->n || (fwrite(text->p, 1, text->n, s->out) == text->n && fflush(s->out) == 0))
		return STATUS_DONE;
	session_complain(s, "cannot write the answer: %s", strerror(errno));
	return STATUS_REFUSED;
}

enum status session_print(const struct session *s, const struct buf *text)
{
	_cleanup_(buf_free) struct buf kept = { 0 };

	if (!s->pipe)
		return write_out(s, text);
	pipe_feed(s->pipe, (struct str){ text->p, text->n }, &kept);
	return write_out(s, &kept);
}

enum status session_print_end(const struct session *s)
{
	_cleanup_(buf_free) struct buf end = { 0 };

	if (s->pipe)
		pipe_end(s->pipe, &end);
	return write_out(s, &end);
}

enum status session_print_server(const struct session *s, const char *name)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(s->options->color);
	_cleanup_(buf_free) struct buf line = { 0 };

	columns_line(c, TINT_LABEL, "==> %s <==", name);
	columns_write(c, 0, &line);
	return write_out(s, &line);
}

/* ---- without a server ---- */

static enum status show_help(const struct session *s, const struct command *c)
{
	_cleanup_(buf_free) struct buf out = { 0 }, why = { 0 };

	if (command_help(c->words, c->n_words, s->shell, &out, &why) < 0) {
		session_complain(s, "%s", buf_cstr(&why));
		return STATUS_USAGE;
	}
	return session_print(s, &out);
}

/* ---- what the server says ---- */

enum status session_refusal(const struct session *s, const struct session_client *from,
			    enum grpc_status status, const char *text, struct buf *why)
{
	char timeout[DURATION_STRLEN];

	if (status == GRPC_DEADLINE_EXCEEDED) {
		buf_printf(why, "%s did not answer within %s", from->name,
			   duration_format(s->options->timeout, timeout));
		return STATUS_NO_SERVER;
	}
	buf_adds(why, *text ? text : "the server refused without a reason");
	return status == GRPC_UNAVAILABLE && !from->connected ? STATUS_NO_SERVER : STATUS_REFUSED;
}

enum status session_refuse(const struct session *s, const struct session_client *from,
			   enum grpc_status status, const char *text)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	enum status over = session_refusal(s, from, status, text, &why);

	session_complain(s, "%s", buf_cstr(&why));
	return over;
}

/* Kept for session_refusal() and for the prompt, see link_state(). */
static void on_state(bool connected, const char *why, void *user)
{
	struct session_client *c = user;

	c->connected = connected;
}

/* ---- the connection ---- */

/* Certificates are loaded once per session. Errors in them are errors of usage. */
static enum status start_tls(struct session *s)
{
	const struct tls_files *files = &s->options->tls_files;
	const struct tls_config config = {
		.role = TLS_CLIENT,
		.pairs = &(struct tls_pair){ files->certificate, files->key, NULL },
		.n_pairs = 1,
		.ca = files->ca,
		.protocols = "h2",
	};
	struct tls_refusal why;

	if (!s->options->tls || s->tls)
		return STATUS_DONE;
	if (tls_context_new(&config, &s->tls, &why) == 0)
		return STATUS_DONE;
	session_complain(s, "TLS: %s", why.reason);
	return STATUS_USAGE;
}

/* What the flags of the servers are called, and the ports that they need not name. */
static const struct {
	const char *flag;
	unsigned port;
} kinds[SERVERS] = {
	[SERVER_MAGLEVD] = { "--server", 9090 },
	[SERVER_SPEAKER] = { "--speaker", 9095 },
	[SERVER_ROUTER] = { "--router", 9096 },
};

/*
 * Says who asks; servers show it as not verified, unless a certificate says better. With sudo the
 * user who called it is meant, not root.
 */
static void name_operator(struct grpc_client *client)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *name = getenv("SUDO_USER");

	if (!name || !*name)
		name = user ? user->pw_name : NULL;
	if (name)
		grpc_client_set_metadata(client, &(struct grpc_metadata){ WHO_METADATA, name }, 1);
}

static enum status start_client(struct session *s, enum server server, struct session_client *c)
{
	char user_agent[64];
	const struct grpc_client_config config = {
		.target = c->name,
		.tls = s->tls,
		.tls_name = s->options->tls_name,
		.user_agent = user_agent,
		.bounds.text = (size_t)1024 * 1024, /* far longer than any that they send */
		.connect_timeout = s->options->timeout,
		.state = on_state,
		.user = c,
	};

	snprintf(user_agent, sizeof(user_agent), "maglevc/%s", cli_version.version);
	if (grpc_client_new(s->loop, &config, &c->client) == 0) {
		name_operator(c->client);
		return STATUS_DONE;
	}
	session_complain(s, "%s: %s: not of the form host:port", kinds[server].flag, c->name);
	return STATUS_USAGE;
}

static void end_clients(struct session_servers *servers)
{
	for (size_t i = 0; i < servers->n; i++)
		grpc_client_free(servers->items[i].client);
	free(servers->items);
	*servers = (struct session_servers){ 0 };
}

/* All of them, or none if one cannot be made. */
static enum status start_clients(struct session *s, enum server server)
{
	struct session_servers *made = &s->servers[server];
	enum status status = STATUS_DONE;
	struct servers named;
	int r;

	if (!s->arena)
		s->arena = arena_new();
	r = servers_split(s->options->servers[server], kinds[server].port, s->arena, &named);
	if (r < 0) {
		session_complain(s, "%s: %s", kinds[server].flag,
				 r == -E2BIG ? "too many servers" : "no server is named");
		return STATUS_USAGE;
	}
	made->items = mem_zalloc(named.n * sizeof(*made->items));
	for (; made->n < named.n && status == STATUS_DONE; made->n++) {
		made->items[made->n].name = named.names[made->n];
		status = start_client(s, server, &made->items[made->n]);
	}
	if (status != STATUS_DONE)
		end_clients(made);
	return status;
}

enum status session_connect(struct session *s, enum server server)
{
	enum status status;

	assert(s && s->loop && s->options && s->err);

	if (s->servers[server].n)
		return STATUS_DONE;
	status = start_tls(s);
	return status == STATUS_DONE ? start_clients(s, server) : status;
}

/* ---- one command ---- */

/* Options of a command that do not go together are found before anything is sent. */
static enum status check(const struct session *s, const struct command *c)
{
	_cleanup_(buf_free) struct buf why = { 0 };

	if (action_check(c, loop_realtime(), &why) == 0)
		return STATUS_DONE;
	session_complain(s, "%s", buf_cstr(&why));
	return STATUS_USAGE;
}

enum status session_run(struct session *s, const struct command *c)
{
	const struct action *a = action_of(c->act);
	enum status status;

	assert(s && s->loop && s->options && s->out && s->err);

	if (c->act == ACT_VERSION)
		return version_show(s, c);
	if (c->act == ACT_HELP)
		return show_help(s, c);
	if (c->act == ACT_EXPLAIN)
		return explain_run(s, c);
	assert(a);
	status = check(s, c);
	if (status == STATUS_DONE)
		status = session_connect(s, a->server);
	if (status == STATUS_DONE)
		status = c->act == ACT_MANY ? many_run(s, c, a) : calls_run(s, c, a);
	if (status == STATUS_DONE && c->args[SLOT_WAIT])
		status = wait_drained(s, c);
	return status;
}

void session_end(struct session *s)
{
	for (size_t i = 0; i < SERVERS; i++)
		end_clients(&s->servers[i]);
	if (s->tls)
		tls_context_free(s->tls);
	buf_free(&s->typed);
	arena_free(s->arena);
	s->arena = NULL;
	s->tls = NULL;
}

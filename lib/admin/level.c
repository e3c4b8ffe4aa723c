/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level: shows and changes the log level while the daemon runs.
 *
 * A client that may scrape metrics must not be able to change the level: with debug a busy daemon
 * fills a disk, with error it hides what happens next. The listener has no authentication, so the
 * rule is that the request must be made on this machine:
 *
 * - the peer has a loopback address;
 * - there is no header that a proxy adds when it forwards a request;
 * - Host is a loopback address or localhost. A browser on this machine that opens a name which
 *   resolves to 127.0.0.1 (DNS rebinding) sends that name. Without rebinding a web page cannot send
 *   PUT to another origin, because the browser sends OPTIONS first and gets 405.
 *
 * A local proxy that adds no header and rewrites Host cannot be detected; the manual says so.
 */
#include "base/cleanup.h"
#include "lib/admin/internal.h"
#include "lib/log/log.h"

#define PLAIN_TEXT "text/plain; charset=utf-8"

/* Headers that proxies add to requests they forward. */
static const struct str passed_on[] = {
	{ "Forwarded", 9 },
	{ "Via", 3 },
	{ "X-Forwarded-For", 15 },
	{ "X-Real-IP", 9 },
};

/* The host without port and brackets. */
static struct str host_name(struct str host)
{
	struct str name;

	if (host.n && host.p[0] == '[') {
		host = (struct str){ host.p + 1, host.n - 1 };
		str_cut(&host, ']', &name);
		return name;
	}
	str_cut(&host, ':', &name);
	return name;
}

static bool host_is_local(struct str host)
{
	struct str name = host_name(host);
	char text[ADDR_STRLEN];
	struct addr addr;

	if (str_ieq(name, STR("localhost")))
		return true;
	if (!name.n || name.n >= sizeof(text))
		return false;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return addr_parse(text, &addr) == 0 && addr_is_loopback(&addr);
}

bool admin_is_local(const struct http_request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		if (http_header(request->head, passed_on[i]).p)
			return false;
	return addr_is_loopback(&request->peer.addr) &&
	       host_is_local(http_header(request->head, STR("Host")));
}

static void reply_text(struct http_exchange *x, unsigned status, const char *text)
{
	_cleanup_(buf_free) struct buf line = { 0 };

	buf_printf(&line, "%s\n", text);
	http_reply(x, status, PLAIN_TEXT, (struct str){ line.p, line.n });
}

/* Accepts the same words as the command-line flag, with an optional newline at the end. */
static bool parse_body(struct str body, enum log_level *ret)
{
	if (body.n && body.p[body.n - 1] == '\n')
		body.n--;
	for (size_t i = 0; i <= LOG_ERROR; i++)
		if (str_ieq(body, str_of(log_level_word((enum log_level)i)))) {
			*ret = (enum log_level)i;
			return true;
		}
	return false;
}

/* Logged at info regardless of both levels, so that the log shows why its content changes. */
static void change_level(enum log_level to, const struct endpoint *peer)
{
	enum log_level from = log_get_level();
	char text[ENDPOINT_STRLEN];

	if (from == to)
		return;
	log_set_level(LOG_INFO);
	log_info("log-level-changed", LOG_S("from", log_level_word(from)),
		 LOG_S("to", log_level_word(to)), LOG_S("peer", endpoint_format(peer, text)));
	log_set_level(to);
}

void admin__on_level(struct http_exchange *x, const struct http_request *request, void *user)
{
	reply_text(x, 200, log_level_word(log_get_level()));
}

void admin__on_set_level(struct http_exchange *x, const struct http_request *request, void *user)
{
	enum log_level level;

	if (!admin_is_local(request)) {
		reply_text(x, 403, "the log level can be changed from this machine only");
		return;
	}
	if (!parse_body(request->body, &level)) {
		reply_text(x, 400, "the body must be one of debug, info, warn and error");
		return;
	}
	change_level(level, &request->peer);
	reply_text(x, 200, log_level_word(level));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of the Host header of each request (hosts.h). The names of this machine are allowed:
 * the one of gethostname() from the start, the fully qualified one as soon as the resolver, which
 * runs in a child process, has found it. With TLS there is no check, because a browser accepts the
 * certificate only for our own names.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/loop/job.h"
#include "lib/net/lookup.h"
#include "lib/page/reply.h"
#include "src/frontend/dashboard_private.h"

#define RESOLVER_TIMEOUT (60 * NSEC_PER_SEC)

/* In the child. */
static int find_name(int out, void *user)
{
	char name[NET_NAME_SIZE];

	net_own_name(name);
	return job_write(out, name, strlen(name)) < 0;
}

static void on_found(const struct job_result *result, void *user)
{
	struct dashboard *d = user;
	char name[NET_NAME_SIZE] = "";

	d->name_job = NULL;
	if (result->end != JOB_DONE || result->n >= sizeof(name))
		return;
	memcpy(name, result->bytes, result->n);
	hosts_add(&d->hosts, name);
}

void dashboard__start_hosts(struct dashboard *d)
{
	const struct job_spec spec = { .work = find_name,
				       .done = on_found,
				       .user = d,
				       .result_max = NET_NAME_SIZE,
				       .timeout = RESOLVER_TIMEOUT };
	char name[NET_NAME_SIZE] = "";

	gethostname(name, sizeof(name) - 1);
	hosts_add(&d->hosts, name);
	job_start(d->loop, &spec, &d->name_job); /* without it there is the short name */
}

void dashboard__stop_hosts(struct dashboard *d)
{
	if (d->name_job)
		job_cancel(TAKE_PTR(d->name_job));
	hosts_free(&d->hosts);
}

/* Only HTTP/1.0 may leave Host out. A browser never does. */
bool dashboard__admits(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct str host = http_header(request->head, STR("Host"));
	_cleanup_(buf_free) struct buf text = { 0 };
	const struct dashboard *d = user;

	if (d->tls || !host.p || hosts_allow(&d->options->hosts, host) ||
	    hosts_allow(&d->hosts, host))
		return true;
	buf_add_lit(&text, "this dashboard does not answer for the host \"");
	buf_add_shown(&text, host, 100);
	buf_add_lit(&text, "\"; use its address or its own name, or start it with --allowed-host");
	page_error(x, 421, buf_cstr(&text));
	return false;
}

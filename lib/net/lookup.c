/* SPDX-License-Identifier: Apache-2.0 */
/* lookup: a job (lib/loop/job.h) that calls the resolver and answers with one struct answer. */
#include "lib/net/lookup.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/loop/job.h"

/* Written to the pipe as it is: both ends are the same program. */
struct answer {
	size_t n;
	struct endpoint found[NET_LOOKUP_MAX];
	char why[128];
};

struct net_lookup {
	struct net_lookup_query query; /* host is borrowed; only the forked child reads it */
	struct job *job;
};

/* ---- in the child ---- */

static bool is_known(const struct answer *a, const struct endpoint *e)
{
	for (size_t i = 0; i < a->n; i++)
		if (addr_cmp(&a->found[i].addr, &e->addr) == 0)
			return true;
	return false;
}

/*
 * getaddrinfo() may list an address several times; duplicates are dropped. Its order (RFC 6724)
 * is kept.
 */
static void look_up(const char *host, uint16_t port, struct answer *a)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int r = getaddrinfo(host, NULL, &hints, &found);

	for (const struct addrinfo *i = found; i && a->n < NET_LOOKUP_MAX; i = i->ai_next) {
		struct endpoint e;

		if (endpoint_from_sockaddr(i->ai_addr, &e) < 0 || is_known(a, &e))
			continue;
		e.port = port;
		a->found[a->n++] = e;
	}
	snprintf(a->why, sizeof(a->why), "%s: %s", host, r ? gai_strerror(r) : "no address");
}

void net_own_name(char ret[static NET_NAME_SIZE])
{
	const struct addrinfo hints = { .ai_flags = AI_CANONNAME };
	struct addrinfo *found = NULL;

	memset(ret, 0, NET_NAME_SIZE);
	gethostname(ret, NET_NAME_SIZE - 1);
	if (getaddrinfo(ret, NULL, &hints, &found) == 0 && found && found->ai_canonname)
		snprintf(ret, NET_NAME_SIZE, "%s", found->ai_canonname);
	if (found)
		freeaddrinfo(found);
}

/* The struct is zeroed with memset() so that its padding does not leak memory into the pipe. */
static int work(int out, void *user)
{
	const struct net_lookup *l = user;
	struct answer answer;

	memset(&answer, 0, sizeof(answer));
	look_up(l->query.host, l->query.port, &answer);
	return job_write(out, &answer, sizeof(answer)) < 0;
}

/* ---- in the parent ---- */

static void on_done(const struct job_result *result, void *user)
{
	_cleanup_(cleanup_free) struct net_lookup *l = user;
	const struct net_lookup_query *q = &l->query;
	const struct answer *answer = result->bytes;

	if (result->end == JOB_DONE && result->n == sizeof(*answer))
		q->done(answer->found, answer->n, answer->n ? "" : answer->why, q->user);
	else
		q->done(NULL, 0, "the name lookup did not end in time", q->user);
}

int net_lookup_start(struct ev_loop *loop, const struct net_lookup_query *query,
		     struct net_lookup **ret)
{
	_cleanup_(cleanup_free) struct net_lookup *l = mem_zalloc(sizeof(*l));
	const struct job_spec spec = { .work = work,
				       .done = on_done,
				       .user = l,
				       .result_max = sizeof(struct answer),
				       .timeout = query->timeout };
	int r;

	assert(loop && query->host && query->timeout > 0 && query->done && ret);
	l->query = *query;
	r = job_start(loop, &spec, &l->job);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}

void net_lookup_cancel(struct net_lookup *l)
{
	if (!l)
		return;
	job_cancel(l->job);
	free(l);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver: a job without a deadline. Parent and child communicate over a SOCK_SEQPACKET pair,
 * which preserves message boundaries. A request is an address as text, or "." for this machine;
 * the answer is the request, a space, and the name if there is one. The child answers requests
 * in order; the parent sends each address only once.
 */
#include "src/maglevt/resolver.h"

#include <assert.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "lib/loop/job.h"
#include "lib/net/lookup.h"

#define MESSAGE_MAX 512 /* bytes of a request */

struct resolver {
	struct ev_loop *loop;
	struct job *job; /* NULL: no child, no names */
	int child_end;	 /* of the socket pair; open here only while the job starts */
	ev_io answers;
	struct map names; /* address → name; "": no name, or not answered yet */
	struct arena *arena;
	char host[NET_NAME_SIZE];
};

/* ---- the child ---- */

static void find_name(const char *address, char *ret, size_t size)
{
	struct endpoint e = { 0 };
	struct sockaddr_storage sa;
	socklen_t length;

	*ret = '\0';
	if (addr_parse(address, &e.addr) < 0)
		return;
	length = endpoint_to_sockaddr(&e, &sa);
	if (getnameinfo((struct sockaddr *)&sa, length, ret, (socklen_t)size, NULL, 0,
			NI_NAMEREQD) != 0)
		*ret = '\0';
}

/* The child: blocks in lookups, and ends when the parent closes its end of the pair. */
static_assert(NI_MAXHOST >= NET_NAME_SIZE, "a name of either kind fits");

static int serve(int out, void *user)
{
	const struct resolver *r = user;
	char question[MESSAGE_MAX], name[NI_MAXHOST], answer[2 * MESSAGE_MAX + NI_MAXHOST];
	int fd = r->child_end;
	ssize_t n;

	while ((n = recv(fd, question, sizeof(question) - 1, 0)) > 0) {
		question[n] = '\0';
		if (question[0] == '.')
			net_own_name(name);
		else
			find_name(question, name, sizeof(name));
		n = snprintf(answer, sizeof(answer), "%s %s", question, name);
		if (send(fd, answer, (size_t)n, MSG_NOSIGNAL) < 0)
			break;
	}
	return 0;
}

/* ---- the parent ---- */

/* False if there is no child or its socket buffer is full; the caller asks again later. */
static bool ask(struct resolver *r, const char *question)
{
	return r->job && send(r->answers.fd, question, strlen(question), MSG_NOSIGNAL) >= 0;
}

/* An answer is accepted only for an address that was asked for. */
static void take_answer(struct resolver *r, char *answer)
{
	char *space = strchr(answer, ' ');

	if (!space)
		return;
	*space = '\0';
	if (answer[0] == '.')
		snprintf(r->host, sizeof(r->host), "%s", space + 1);
	else if (map_get(&r->names, answer))
		map_put(&r->names, arena_strdup(r->arena, answer),
			arena_strdup(r->arena, space + 1));
}

static void on_answers(struct ev_loop *loop, ev_io *w, int revents)
{
	struct resolver *r = container_of(w, struct resolver, answers);
	char answer[2 * MESSAGE_MAX + NI_MAXHOST];
	ssize_t n = recv(w->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);

	if (n > 0) {
		answer[n] = '\0';
		take_answer(r, answer);
	} else if (n == 0) {
		ev_io_stop(loop, w);
	}
}

static void stop_answers(struct resolver *r)
{
	ev_io_stop(r->loop, &r->answers);
	close(r->answers.fd);
}

/* The child has ended: there are no more names, those in the cache stay. */
static void on_ended(const struct job_result *result, void *user)
{
	struct resolver *r = user;

	r->job = NULL;
	stop_answers(r);
}

static void start_child(struct resolver *r)
{
	const struct job_spec spec = {
		.work = serve, .done = on_ended, .user = r, .keep = &r->child_end, .n_keep = 1
	};
	int pair[2], started;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	r->child_end = pair[1];
	started = job_start(r->loop, &spec, &r->job);
	close(pair[1]);
	if (started < 0) {
		close(pair[0]);
		return;
	}
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	ev_io_init(&r->answers, on_answers, pair[0], EV_READ);
	ev_io_start(r->loop, &r->answers);
}

struct resolver *resolver_new(struct ev_loop *loop)
{
	struct resolver *r = mem_zalloc(sizeof(*r));

	r->loop = loop;
	r->arena = arena_new();
	gethostname(r->host, sizeof(r->host) - 1);
	start_child(r);
	ask(r, ".");
	return r;
}

void resolver_free(struct resolver *r)
{
	if (r->job) {
		job_cancel(r->job);
		stop_answers(r);
	}
	map_free(&r->names);
	arena_free(r->arena);
	free(r);
}

const char *resolver_name(struct resolver *r, const struct addr *a)
{
	char text[ADDR_STRLEN];
	const char *name;

	addr_format(a, text);
	name = map_get(&r->names, text);
	if (!name && ask(r, text))
		map_put(&r->names, arena_strdup(r->arena, text), arena_strdup(r->arena, ""));
	return name && *name ? name : NULL;
}

const char *resolver_host(const struct resolver *r)
{
	return r->host;
}

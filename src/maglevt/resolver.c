/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver: parent and child talk over a socket pair that keeps messages apart. A question is an
 * address as text, or "." for this machine; the answer is the question, a space, and the name if
 * there is one. The child answers one after the other; the parent asks each only once.
 */
#include "src/maglevt/resolver.h"

#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "lib/loop/child.h"

#define MESSAGE_MAX 512

struct resolver {
	struct ev_loop *loop;
	bool serves; /* there is a child */
	int child;
	ev_io answers;
	struct map names; /* address → name, "" for none or not yet */
	struct arena *arena;
	char host[256];
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

static void find_host(char *ret, size_t size)
{
	const struct addrinfo hints = { .ai_flags = AI_CANONNAME };
	struct addrinfo *found = NULL;
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	if (getaddrinfo(name, NULL, &hints, &found) == 0 && found && found->ai_canonname)
		snprintf(name, sizeof(name), "%s", found->ai_canonname);
	if (found)
		freeaddrinfo(found);
	snprintf(ret, size, "%s", name);
}

__attribute__((noreturn)) static void serve(int fd)
{
	static const int usual[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP };
	char question[MESSAGE_MAX], name[NI_MAXHOST], answer[2 * MESSAGE_MAX + NI_MAXHOST];
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		sigaction(usual[i], &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	while ((n = recv(fd, question, sizeof(question) - 1, 0)) > 0) {
		question[n] = '\0';
		if (question[0] == '.')
			find_host(name, sizeof(name));
		else
			find_name(question, name, sizeof(name));
		n = snprintf(answer, sizeof(answer), "%s %s", question, name);
		if (send(fd, answer, (size_t)n, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* ---- the parent ---- */

/* False while the child has more questions than its socket holds. */
static bool ask(struct resolver *r, const char *question)
{
	return r->serves && send(r->answers.fd, question, strlen(question), MSG_NOSIGNAL) >= 0;
}

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

static void start_child(struct resolver *r)
{
	int pair[2], forked;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	forked = child_fork(&r->child);
	if (forked == 0) {
		close(pair[0]);
		serve(pair[1]);
	}
	close(pair[1]);
	if (forked < 0) {
		close(pair[0]);
		return;
	}
	r->serves = true;
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
	if (r->serves) {
		ev_io_stop(r->loop, &r->answers);
		close(r->answers.fd);
		child_end(r->child);
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

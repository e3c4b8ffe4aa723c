/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probing: active checks of one server. Asks it at intervals (lib/probe), and keeps whether it is
 * up (core/health). For the control thread.
 *
 * A server that has not been asked yet is neither up nor down; the first result decides. A new
 * configuration of the checks restarts them and keeps the state. Without checks there is no state.
 */
#pragma once

#include "core/health/health.h"
#include "core/l7/config.h"
#include "lib/probe/probe.h"
#include "src/router/secures.h"

/* What all have in common. */
struct probing_env {
	struct ev_loop *loop;
	struct probe_env *probes;
	const char *user_agent;
	uint64_t random; /* state of the generator */
};

struct probing_counts {
	uint64_t passes, failures;
};

/* How a server with TLS is asked. */
struct probing_tls {
	const struct secure *secure;
	const char *name; /* of the server */
};

struct probing {
	struct probing_env *env;
	struct addr *addresses; /* asked in turn */
	size_t n, turn;
	uint16_t port;
	char *authority;	/* "www.example.com:8080" for requests; NULL: the address */
	struct l7_probe config; /* its texts are the following */
	char *path, *host, *service;
	struct tls_context *tls; /* with TLS; otherwise NULL */
	uint64_t secure;	 /* id of its settings */
	char *server_name;
	struct health health;
	bool asked; /* there was a result: the following are set */
	enum health_code code;
	char reason[128]; /* of the last failure; "" after a pass */
	struct probing_counts counts;
	/* the rest is private */
	struct probe *probe; /* NULL: no checks */
	struct probe_code_range codes;
	ev_timer timer;
	int64_t began;
	void (*changed)(struct probing *p, const struct health_change *change);
};

/* changed is called from the loop, after each change of p->health. env is borrowed. */
void probing_init(struct probing *p, struct probing_env *env, const char *authority,
		  void (*changed)(struct probing *p, const struct health_change *change));
void probing_end(struct probing *p);
/*
 * Begins, changes or ends the checks; does nothing if nothing differs. Returns true if the state
 * was dropped because there are no checks any more. tls may be NULL.
 */
bool probing_set(struct probing *p, const struct l7_probe *config, const struct probing_tls *tls);
/* The addresses from the next check on; without any there are no checks. */
void probing_move(struct probing *p, const struct addr *list, size_t n, uint16_t port);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what a configuration says, compiled as far as it does not depend on servers.
 *
 * Plans that differ only in the servers of pools share their tables, so that an update of the
 * servers of one pool does not compile the routes again. A plan is never changed. References are
 * counted by the control thread alone: generations hold one, and so does the history.
 */
#pragma once

#include "core/l7/config.h"
#include "src/router/settings.h"

struct generation_listener {
	const struct l7_listener *config;
	/* of protocol http */
	struct l7_entries entries;
	const struct l7_table *table;
	/* of protocol tcp and udp */
	struct l7_stream_entries streams;
	const struct l7_table *names; /* which of them; NULL: there is one, without hosts */
};

/* How the connections of an address begin. */
enum generation_opening {
	OPENING_HTTP,  /* with a request */
	OPENING_TCP,   /* with anything */
	OPENING_TLS,   /* with TLS, which ends here */
	OPENING_HELLO, /* with TLS; the name in its first message says whether it ends here */
};

/* An address that is listened on, and the listeners that share it. */
struct generation_port {
	struct endpoint at;
	enum generation_opening opening;
	const size_t *listeners;
	size_t n;
	const struct l7_table *hosts; /* which of them, by host; NULL if there is only one */
};

/* Compiled listeners and routes. */
struct plan_tables {
	const struct generation_listener *listeners;
	const struct generation_port *ports; /* sorted by address */
	size_t n_ports;
	const struct generation_port *udp_ports; /* the same for datagrams */
	size_t n_udp_ports;
	struct l7_target fallback;
	/* the rest is private */
	unsigned references;
	struct arena *arena;
	struct settings *settings;
};

struct plan {
	struct l7_config config;
	struct plan_tables *tables;
	/* the rest is private */
	unsigned references;
	struct settings **owners; /* of the servers of each pool */
};

/* Compiles settings, which the plan owns from now on. It has one reference. */
struct plan *plan_new(struct settings *settings);
/*
 * The same plan with other servers in one pool: those of the only pool of settings, which the new
 * plan owns.
 */
struct plan *plan_with_servers(const struct plan *from, size_t pool, struct settings *settings);
struct plan *plan_hold(struct plan *p);
void plan_release(struct plan *p);

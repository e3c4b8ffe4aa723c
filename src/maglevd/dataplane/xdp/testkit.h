/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: the driver in namespaces of the test's own, on a real kernel.
 *
 * There are a BPF file system and d0, a device whose peer d1 is the router to all servers
 * (10.0.0.0/8 and 2001:db8:11::/64). Packets are run through a program over the pinned maps,
 * which does with them what the program on the device would do.
 */
#pragma once

#include <stdbool.h>

#include "core/diff/diff.h"
#include "src/maglevd/dataplane/dataplane.h"
#include "src/maglevd/dataplane/xdp/load.h"
#include "src/maglevd/dataplane/xdp/set.h"
#include "src/maglevd/snapshot.h"

/* NULL, or why the tests cannot run here. */
const char *testing_prepare(void);
/* What main() returns in that case. */
int testing_skip(const char *reason);
void testing_run(const char *command);

struct world {
	struct ev_loop *loop;
	struct snapshot *snapshot, *before; /* before: until the last reload */
	struct dataplane *dp;
	char pin[64];
	unsigned ups, downs, problems;
	char why[512]; /* reason of the last down() */
	bool answered;
	int err;
	size_t done;
	struct lb_state state;	/* as last observed */
	struct xdplb_maps maps; /* to run packets through */
	unsigned vlan;		/* tag of the last packet that was sent; 0: none */
	struct buf log;		/* what was logged since world_forget_log() */
	int sink;
};

/* An empty world with its own pin folder; for setup and teardown of a test. */
int world_setup(void **state);
int world_teardown(void **state);

/* A second world beside it, on the same devices and the same loop. */
void world_twin(struct world *w, struct world **ret);
void world_twin_free(struct world *w);

struct world_config {
	const char *interfaces; /* NULL: d0 */
	const char *mode;	/* NULL: auto */
	unsigned table_size;	/* 0: 1009 */
	unsigned flows;		/* 0: 4096 */
	unsigned frontends; /* 0: 4; each with 4 servers; the sizes of the maps follow from it */
	const char *pin;    /* NULL: the world's own */
};

void world_start(struct world *w, const struct world_config *c);
void world_wait_up(struct world *w);
void world_wait_down(struct world *w);
void world_reconfigure(struct world *w, const struct world_config *c);
/* As a process ends: what is pinned stays. */
void world_stop(struct world *w);

/* Runs the loop until a line with the text is logged. */
void world_wait_log(struct world *w, const char *text);
bool world_logged(struct world *w, const char *text);
void world_forget_log(struct world *w);

/* Run the loop until the request is answered. */
void world_observe(struct world *w);
int world_apply(struct world *w, const struct lb_op *ops, size_t n);
/* Fails the test unless all operations succeed. */
void world_do(struct world *w, const struct lb_op *ops, size_t n);

struct lb_op op_conf(unsigned timeout);
struct lb_op op_vip(enum lb_op_kind kind, const char *vip, unsigned port);
struct lb_op op_as(enum lb_op_kind kind, const char *vip, unsigned port, const char *as,
		   unsigned weight);

/*
 * Sends a TCP packet (flags: 2 is SYN) from a port of a client to a VIP. Returns the server that
 * it goes to; not set if it is dropped or not for a VIP.
 */
struct addr world_send(struct world *w, const char *client, const struct lb_vip_key *vip,
		       unsigned port, unsigned flags);
/* Closes the maps that packets are run through, because others may have replaced them. */
void world_forget_maps(struct world *w);
/* A VIP with the servers 10.0.0.1 and 10.0.0.2, in a world that is up. */
#define WORLD_VIP "198.51.100.10"
void world_make_www(struct world *w);
const struct lb_vip_key *world_www(void);
/* How many of a hundred new flows go to a server. */
unsigned world_share(struct world *w, const struct lb_vip_key *vip, const char *server);
/* Opens a new flow to that VIP which goes to 10.0.0.1; returns its port. */
unsigned world_open_flow(struct world *w);
/* The last byte of the server that a packet of such a flow goes to. */
unsigned world_flow_server(struct world *w, unsigned port);
/* A program of the test's own over the maps of a folder, or over new ones. */
void testing_load(const char *pin, struct xdplb_maps *ret);
/* Fails unless each VIP has exactly the table of its servers. */
void world_check_tables(struct world *w);
struct addr testing_address(const char *text);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject: a program that is measured, with the same VIPs and servers for each. ours.c is the
 * program of this tree; peer.c is Katran, from an object file that the caller names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "lib/xdp/xdp.h"

#define TABLE_SIZE 65537
#define SERVERS 16	  /* of each VIP */
#define FLOWS (1u << 20)  /* that the flow table has room for */
#define NEW_FLOWS 125000  /* a second and CPU, as compiled into Katran */
#define SHARING_VIPS 1000 /* with the same sixteen servers */
#define OWNING_VIPS 250	  /* with sixteen servers of their own */
#define SHARED_SERVER 1u  /* numbers of servers: those that VIPs share, ... */
#define OWNED_SERVER 17u  /* ... then those with a VIP of their own */
#define N_SERVERS (SHARED_SERVER + SERVERS + OWNING_VIPS * SERVERS)
#define VIPS (3 + SHARING_VIPS + OWNING_VIPS)

/* A VIP on port 80, with the servers [first_server, first_server + SERVERS). */
struct vip {
	bool v6;
	uint8_t protocol;
	uint32_t address[4]; /* network order; IPv4 in the last word */
	uint32_t first_server;
};

struct subject {
	const char *name;
	struct xdp_object *object;
	int program;
	void *flows;	     /* ours: the flow table in memory */
	struct xdp_map lrus; /* the peer's flow tables */
};

/* The address of a server: 10.0.32.0/19, in network order. */
uint32_t server_address(uint32_t server);
/* The number of the server among those of its VIP that a slot of the table names. */
uint32_t server_of_slot(uint32_t slot);
/* Ends the process with a message if r is negative. */
void check(int r, const char *what);

void ours_open(struct subject *s, const struct vip *vips, size_t n);
/* Forgets all flows. */
void ours_forget(const struct subject *s);
/* Prints the events that the program has counted. */
void ours_tell_events(const struct subject *s);

void peer_open(struct subject *s, const char *path, const struct vip *vips, size_t n);
void peer_forget(const struct subject *s);

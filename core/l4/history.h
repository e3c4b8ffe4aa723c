/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history: what the frontends and backends of a configuration did over the last day.
 *
 * Of a frontend the packets and bytes a second of its VIP, of a backend the traffic that was sent
 * to it, how long its probes took, and its state. One step (core/stats/history.h) is recorded in
 * two parts, so that the caller can do it in slices: first the counters of one reading are added
 * up, VIP by VIP and server by server, then each frontend and each backend gets its values. Rates
 * are those since the last reading. There is none, but a gap, if there was no new reading, if a
 * counter fell, or if the last reading is too old.
 *
 * Frontends and backends are found by their index in the configuration. A reload keeps those whose
 * names stay. Memory: a frontend takes at most L4_HISTORY_FRONTEND_BYTES and a backend at most
 * L4_HISTORY_BACKEND_BYTES, beside their names; nothing is taken for figures that are not known.
 *
 * Pure: time is given by the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/health/health.h"
#include "core/l4/config.h"
#include "core/l4/counters.h"
#include "core/stats/history.h"

/* The packets of a VIP by enum lb_packets, and its bytes; all a second. */
#define L4_HISTORY_VIP_BYTES LB_PACKETS_KINDS
#define L4_HISTORY_FRONTEND_LINES (LB_PACKETS_KINDS + 1)

enum l4_history_line {
	L4_HISTORY_PACKETS, /* a second */
	L4_HISTORY_BYTES,
	L4_HISTORY_LATENCY, /* ns, the mean of the probes that passed */
	L4_HISTORY_STATE,   /* see l4_history_state() */
};
#define L4_HISTORY_BACKEND_LINES 4
#define L4_HISTORY_BACKEND_COUNTERS 2 /* the first lines */

/* The past of one frontend or backend; a backend has the first L4_HISTORY_BACKEND_LINES lines. */
struct l4_history_item {
	char *name;
	struct history lines[L4_HISTORY_FRONTEND_LINES];
	uint64_t last[L4_HISTORY_FRONTEND_LINES]; /* of the last reading that counted it */
	int64_t last_at;			  /* unix ns; 0: there was none */
	uint64_t now[L4_HISTORY_FRONTEND_LINES];  /* of the reading that is being added up */
	bool counted;				  /* it is in that reading */
	/* of a backend, since the last step */
	uint8_t worst;	 /* rank of its worst state */
	uint32_t passed; /* probes */
	double latency;	 /* ns: their sum */
};

#define L4_HISTORY_FRONTEND_BYTES                                                                  \
	(sizeof(struct l4_history_item) + L4_HISTORY_FRONTEND_LINES * HISTORY_BYTES)
#define L4_HISTORY_BACKEND_BYTES                                                                   \
	(sizeof(struct l4_history_item) + L4_HISTORY_BACKEND_LINES * HISTORY_BYTES)

/* As in the configuration: sorted by name. */
struct l4_history_items {
	struct l4_history_item *items;
	size_t n;
};

struct l4_history {
	struct l4_history_items frontends, backends;
	int64_t reading; /* unix ns: of the counters that are being added up; 0: there are none */
	unsigned has;	 /* enum lb_has */
};

void l4_history_free(struct l4_history *h);
/*
 * Takes the names of the configuration. Keeps the past of names that stay, forgets others, and
 * forgets what was added up. A zeroed struct has no names.
 */
void l4_history_reload(struct l4_history *h, const struct l4_config *config);

/* A probe passed, and took so long (ns). */
void l4_history_note_probe(struct l4_history *h, size_t backend, int64_t duration);
/* The backend was in this state for a while. */
void l4_history_note_state(struct l4_history *h, size_t backend, enum health_state state);

/* Begins to add up a reading; whatever was added up is forgotten. counters NULL: there is none. */
void l4_history_begin(struct l4_history *h, const struct lb_counters *counters);
void l4_history_add_vip(struct l4_history *h, const struct l4_config *config,
			const struct lb_vip_counters *vip);
/* Only counts if the data plane does not count the traffic of each VIP to a server. */
void l4_history_add_server(struct l4_history *h, const struct l4_config *config,
			   const struct lb_server_counters *server);

/* Puts the values of a step; state is the current one. */
void l4_history_put_frontend(struct l4_history *h, size_t frontend, int64_t step);
void l4_history_put_backend(struct l4_history *h, size_t backend, int64_t step,
			    enum health_state state);

/* The state that a value of L4_HISTORY_STATE stands for: the worst one of its time. */
enum health_state l4_history_state(float value);
/* "next", ... and "bytes"; "packets", "bytes", "latency", "state" */
const char *l4_history_frontend_line(size_t line);
const char *l4_history_backend_line(size_t line);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: what core knows, as messages of proto/maglev.proto.
 *
 * Pure: structs in, a message out, in the caller's arena. Texts that stand in the model or in the
 * configuration are borrowed, not copied: a message is to be encoded, or shown, before the model
 * changes. Texts from outside (why a probe failed) go in as they are; pb_encode() and
 * pb_json_write() make them valid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/diff/diff.h"
#include "core/l4/changes.h"
#include "core/l4/counters.h"
#include "core/l4/lb.h"
#include "core/l4/model.h"
#include "core/l4/warmup.h"
#include "proto/maglev.pb-c.h"

/* ---- frontends, backends, checks: by index, and all of them ---- */

Maglev__FrontendInfo *wire_frontend(const struct l4_model *m, size_t frontend, struct arena *a);
Maglev__BackendInfo *wire_backend(const struct l4_model *m, size_t backend, struct arena *a);
Maglev__HealthCheckInfo *wire_check(const struct l4_config *c, size_t check, struct arena *a);

/*
 * Some of them: n from first on, or as many as there are. Messages of one list, encoded one behind
 * the other, are the message of the whole list: a long one can be made a part at a time.
 */
Maglev__ListFrontendsResponse *wire_frontends(const struct l4_model *m, size_t first, size_t n,
					      struct arena *a);
Maglev__ListBackendsResponse *wire_backends(const struct l4_model *m, size_t first, size_t n,
					    struct arena *a);
Maglev__ListHealthChecksResponse *wire_checks(const struct l4_config *c, struct arena *a);

/* ---- events; seq is the stream's own ---- */

struct wire_events {
	Maglev__Event **items;
	size_t n;
};

/*
 * A change of state as those who watch see it: one event for each frontend that references the
 * backend, one with an empty frontend when none does. change NULL: the replay of its state.
 */
struct wire_events wire_backend_events(const struct l4_model *m, const struct l4_backend_state *b,
				       const struct health_change *change, struct arena *a);
/* from equal to what the frontend is now: the replay of its state. */
Maglev__Event *wire_frontend_event(const struct l4_model *m, size_t frontend,
				   enum l4_frontend_health from, struct arena *a);

/* What came of the last attempt to load the file. */
struct wire_config_news {
	int64_t at; /* unix ns, as since: of the configuration in force */
	int64_t since;
	uint64_t generation;
	const struct l4_config *config; /* in force */
	const char *error;		/* why the file was refused; NULL: it was taken */
	size_t n_errors;
	size_t added, removed, changed; /* backends */
	bool replay;
};
Maglev__Event *wire_config_event(const struct wire_config_news *news, struct arena *a);

/* What became known of the data plane. */
struct wire_dataplane_news {
	int64_t at;	       /* unix ns, as since and last_full_sync */
	const char *dataplane; /* the name of its driver */
	const char *change;    /* the word of the .proto file; NULL: the replay of what is so */
	const char *reason;    /* "": none */
	const char *problem;   /* "": none */
	bool connected, guard;
	int64_t since;
	enum warmup_phase warmup;
	int64_t last_full_sync;
	const char *scope; /* of a sync, as the next two; NULL: it is none */
	uint64_t vips;
	const uint64_t *ops; /* LB_OP_KINDS of them */
};
Maglev__Event *wire_dataplane_event(const struct wire_dataplane_news *news, struct arena *a);

/* Everything about one backend or frontend, as the lists have it. */
Maglev__Event *wire_backend_info_event(const struct l4_model *m, size_t backend, int64_t at,
				       struct arena *a);
Maglev__Event *wire_frontend_info_event(const struct l4_model *m, size_t frontend, int64_t at,
					struct arena *a);
/* The last results of the probes of some backends, by index. */
Maglev__Event *wire_probes_event(const struct l4_model *m, const size_t *backends, size_t n,
				 int64_t at, struct arena *a);

/* ---- configuration ---- */

/* What came of reading the file. */
struct wire_config {
	const char *file;
	const struct errs *parse_errors, *semantic_errors, *warnings; /* NULL: none */
	const struct l4_changes *changes;			      /* NULL: not known */
	const char *reload_error; /* why a good file is not taken; NULL: it is */
};

Maglev__CheckConfigResponse *wire_check_config(const struct wire_config *c, struct arena *a);
Maglev__ReloadConfigResponse *wire_reload_config(const struct wire_config *c, struct arena *a);

/* ---- the data plane ---- */

struct wire_lb {
	const char *dataplane; /* the name of its driver */
	const struct l4_model *model;
	const struct lb_state *observed;    /* NULL: not known */
	const struct lb_counters *counters; /* for buckets and flows; NULL: none */
	bool connected, guard;
	enum warmup_phase warmup;
	int64_t last_full_sync; /* unix ns, as as_of */
	const char *problem;	/* "": none */
	int64_t as_of;		/* observed is from then; 0: from now */
};

/* All but the VIPs: these follow, some at a time, encoded behind it as parts of a list are. */
Maglev__VPPLBState *wire_lb_state(const struct wire_lb *lb, struct arena *a);

/* Where it has come to; begins with a configuration, and ends with it at the latest. */
struct wire_lb_walk {
	size_t *frontends; /* by key */
	size_t n, at;
	bool begun;
	struct lb_vip_key after; /* the last one shown */
};

void wire_lb_walk_begin(struct wire_lb_walk *w, const struct l4_config *c);
void wire_lb_walk_end(struct wire_lb_walk *w);
/* The next VIPs, at most max, and nothing else; NULL when there are no more. */
Maglev__VPPLBState *wire_lb_vips(struct wire_lb_walk *w, const struct wire_lb *lb, size_t max,
				 struct arena *a);

/*
 * Rows [first, first + max) of the VIPs and, behind them, the servers, as parts of a list are; with
 * the first also what there is but once. NULL when there are no more. Names are those of c.
 */
struct wire_counted {
	const char *dataplane;
	const struct l4_config *config;
	const struct lb_counters *counters;
};
Maglev__VPPLBCounters *wire_lb_counters(const struct wire_counted *from, size_t first, size_t max,
					struct arena *a);
/* The operations as text, in their order. */
Maglev__SyncVPPLBStateResponse *wire_lb_operations(const char *dataplane, const struct lb_ops *ops,
						   struct arena *a);

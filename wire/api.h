/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: converts the structs of core to messages of proto/maglev.proto.
 *
 * Pure: structs in, a message out, in the caller's arena. Texts that belong to the model or to
 * the configuration are borrowed, not copied: a message must be encoded, or printed, before the
 * model changes. Texts from outside (why a probe failed) are passed on as they are; pb_encode()
 * and pb_json_write() make them valid UTF-8.
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
#include "core/l4/foresee.h"
#include "core/l4/history.h"
#include "core/l4/lb.h"
#include "core/l4/model.h"
#include "core/l4/warmup.h"
#include "proto/maglev.pb-c.h"

/* ---- frontends, backends, checks: one by index, and lists ---- */

Maglev__FrontendInfo *wire_frontend(const struct l4_model *m, size_t frontend, struct arena *a);
Maglev__BackendInfo *wire_backend(const struct l4_model *m, size_t backend, struct arena *a);
Maglev__HealthCheckInfo *wire_check(const struct l4_config *c, size_t check, struct arena *a);

/*
 * A part of the list: n entries from first on, or as many as there are. The encoded messages of
 * the parts, concatenated, are the message of the whole list (protobuf merges repeated fields),
 * so a long list can be produced a part at a time.
 */
Maglev__ListFrontendsResponse *wire_frontends(const struct l4_model *m, size_t first, size_t n,
					      struct arena *a);
Maglev__ListBackendsResponse *wire_backends(const struct l4_model *m, size_t first, size_t n,
					    struct arena *a);
Maglev__ListHealthChecksResponse *wire_checks(const struct l4_config *c, struct arena *a);

/* ---- acts of operators ---- */

/* What a command on several backends does; the texts of the model are borrowed. */
Maglev__ActOnBackendsResponse *wire_outcome(const struct l4_model *m, const struct l4_selection *s,
					    const struct l4_outcome *o, struct arena *a);
/*
 * A part of the list of overrides: those of n backends from first on, or, from n_backends on, the
 * weights of n frontends. NULL: there are no more.
 */
Maglev__ListOverridesResponse *wire_overrides(const struct l4_model *m, size_t first, size_t n,
					      struct arena *a);

/* ---- events; the stream sets seq ---- */

struct wire_events {
	Maglev__Event **items;
	size_t n;
};

/*
 * The events of a backend's change of state: one for each frontend that references the backend,
 * or one with an empty frontend if none does. change NULL: the replay of its state.
 */
struct wire_events wire_backend_events(const struct l4_model *m, const struct l4_backend_state *b,
				       const struct health_change *change, struct arena *a);
/* The event of a frontend's change of health. If from equals the current health, it is a replay. */
Maglev__Event *wire_frontend_event(const struct l4_model *m, size_t frontend,
				   enum l4_frontend_health from, struct arena *a);

/* The result of the last attempt to load the file. */
struct wire_config_status {
	int64_t at;    /* unix ns of the attempt */
	int64_t since; /* unix ns: when the configuration in force was loaded */
	uint64_t generation;
	const struct l4_config *config; /* the configuration in force */
	const char *error;		/* why the file was refused; NULL: it was accepted */
	size_t n_errors;
	size_t added, removed, changed; /* backends */
	bool replay;
};
Maglev__Event *wire_config_event(const struct wire_config_status *status, struct arena *a);

/* A change of the data plane, or of the connection to it. */
struct wire_dataplane_status {
	int64_t at;	       /* unix ns, as since and last_full_sync */
	const char *dataplane; /* the name of its driver */
	const char *change;  /* the word of the .proto file; NULL: a replay of the current state */
	const char *reason;  /* "": none */
	const char *problem; /* "": none */
	bool connected, guard;
	enum lb_status status;
	int64_t since;
	enum warmup_phase warmup;
	int64_t last_full_sync;
	const char *scope; /* of a sync, as the next two; NULL: not a sync */
	uint64_t vips;
	const uint64_t *ops; /* LB_OP_KINDS counters; NULL: none */
};
Maglev__Event *wire_dataplane_event(const struct wire_dataplane_status *status, struct arena *a);

/* Everything about one backend or frontend, as in the lists. */
Maglev__Event *wire_backend_info_event(const struct l4_model *m, size_t backend, int64_t at,
				       struct arena *a);
Maglev__Event *wire_frontend_info_event(const struct l4_model *m, size_t frontend, int64_t at,
					struct arena *a);
/* The last results of the probes of some backends, by index. */
Maglev__Event *wire_probes_event(const struct l4_model *m, const size_t *backends, size_t n,
				 int64_t at, struct arena *a);

/* ---- configuration ---- */

/* The result of reading the file. */
struct wire_config {
	const char *file;
	const struct errs *parse_errors, *semantic_errors, *warnings; /* NULL: none */
	const struct l4_changes *changes;			      /* NULL: not known */
	const char *reload_error; /* why a valid file is not accepted; NULL: it is */
};

Maglev__CheckConfigResponse *wire_check_config(const struct wire_config *c, struct arena *a);
Maglev__ReloadConfigResponse *wire_reload_config(const struct wire_config *c, struct arena *a);

/* ---- the data plane ---- */

/* The input of a response about the data plane's state. All of it is borrowed. */
struct wire_lb {
	const char *dataplane; /* the name of its driver */
	const struct l4_model *model;
	const struct lb_state *observed;    /* NULL: not known */
	const struct lb_counters *counters; /* for buckets and flows; NULL: none */
	bool connected, guard;
	enum warmup_phase warmup;
	int64_t last_full_sync; /* unix ns, as as_of */
	const char *problem;	/* "": none */
	int64_t as_of;		/* when observed was read; 0: just now */
	enum lb_status status;
	const struct lb_attachment *attachment; /* NULL: the data plane has no interfaces */
	const char *backend;			/* only its servers; NULL: all */
};

/* Everything except the VIPs. These are encoded after it, some at a time, like parts of a list. */
Maglev__VPPLBState *wire_lb_state(const struct wire_lb *lb, struct arena *a);

/*
 * The position of a walk over the VIPs. It is valid for one configuration: the walk must end
 * before a reload.
 */
struct wire_lb_walk {
	size_t *frontends; /* indices, sorted by VIP key */
	size_t n, at;
	bool begun;
	struct lb_vip_key after; /* the key of the last VIP that was returned */
};

/* Begin allocates, end frees; a walk may be ended at any point. */
void wire_lb_walk_begin(struct wire_lb_walk *w, const struct l4_config *c);
void wire_lb_walk_end(struct wire_lb_walk *w);
/*
 * Looks at the next max VIPs and returns those that are wanted, without the other fields; NULL if
 * there are no more to look at.
 */
Maglev__VPPLBState *wire_lb_vips(struct wire_lb_walk *w, const struct wire_lb *lb, size_t max,
				 struct arena *a);

/*
 * Rows [first, first + max) of the VIPs followed by the servers, like parts of a list. The
 * part with first 0 also has the fields that occur once. NULL if there are no more. Names are
 * those of config.
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

/* ---- history ---- */

/* What a request wants of the past. */
struct wire_history {
	const struct l4_history *history;
	enum history_span span;
	int64_t newest;	    /* the number of the newest point; below 0: there is none */
	int64_t newest_at;  /* unix ns: when that ended */
	size_t points;	    /* 1 to history_points() */
	char *const *lines; /* only these; n_lines 0: all */
	size_t n_lines;
	const size_t *frontends, *backends; /* indices */
	size_t n_frontends, n_backends;
};

/* Whether a frontend or a backend has such a line, or "state". */
bool wire_history_has(const char *line);
/* The number of values in the answer, gaps included. */
size_t wire_history_size(const struct wire_history *from);
Maglev__HistoryResponse *wire_history(const struct wire_history *from, struct arena *a);

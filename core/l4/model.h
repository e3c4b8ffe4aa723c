/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: what is so, beside what was asked (config.h).
 *
 * One struct l4_model per daemon: the running configuration, the state of each backend with its
 * history, the operator's overrides, the aggregate state of each frontend. backends[i] belongs to
 * config->backends[i], frontends[i] to config->frontends[i]. A struct l4_backend_state is allocated
 * once per backend and stays where it is over every reload that keeps the backend, so programs may
 * hold pointers to it until they are told that it was removed.
 *
 * Pure: changes are made by the functions below on behalf of the one engine that owns the model.
 * Those that change a state return the change; the engine stamps it into the history
 * (l4_backend_remember()), logs, counts and tells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/health/health.h"
#include "core/l4/config.h"

enum l4_frontend_health { L4_FRONTEND_UNKNOWN, L4_FRONTEND_UP, L4_FRONTEND_DOWN };

/* What the operator said at run time about a backend being enabled; the file's word otherwise. */
enum l4_enable { L4_ENABLE_CONFIGURED, L4_ENABLE_FORCED_ON, L4_ENABLE_FORCED_OFF };

#define L4_REASON_SIZE 128 /* with its NUL; longer ones are cut */

/* What came along with an act of the operator (override.h). */
struct l4_override {
	int64_t at;    /* unix ns: since when it is in force */
	int64_t until; /* unix ns: it ends by itself; 0: when somebody ends it */
	char *reason;  /* NULL: none given */
};

struct l4_backend_state {
	char *name;
	size_t index; /* into config->backends; SIZE_MAX once removed */
	struct health health;
	enum l4_enable enable;
	struct l4_override pause;    /* zeroed unless paused */
	struct l4_override enabling; /* zeroed unless enable is forced */
	bool has_result;	     /* there was one: the fields last_... mean something */
	enum health_code last_code;  /* of the last result */
	bool last_local;   /* the last result was a failure of this machine's own making */
	bool spared;	   /* down by the guard's faults alone: see guard.h */
	char *last_reason; /* for people; NULL when it passed */
	int64_t last_probe, last_duration; /* unix ns when the last probe ended, and ns it took */
	/* newest last, at most history_cap (transition-history of the configuration) */
	struct health_change *history;
	size_t n_history, history_cap;
	void *user; /* the program's own (its probe worker, its counters) */
};

struct l4_weight {
	unsigned value; /* in force */
	bool mutated;	/* set at run time; survives reload until it equals the file again */
};

struct l4_frontend_state {
	enum l4_frontend_health health;
	int64_t since;		    /* unix ns */
	bool released;		    /* by the warm-up; stays so */
	struct l4_weight **weights; /* [pool][member], as in config; NULL without pools */
};

struct l4_model {
	const struct l4_config *config;
	struct l4_backend_state **backends;
	struct l4_frontend_state *frontends;
};

const char *l4_frontend_health_name(enum l4_frontend_health h); /* "unknown", "up", "down" */

void l4_model_init(struct l4_model *m, const struct l4_config *config, int64_t now);
/* Frees what the model owns; not config (still needed here), not backend user pointers. */
void l4_model_free(struct l4_model *m);

/* What a reload did to one backend, for the engine to act on, in the order of their names. */
struct l4_reload_change {
	struct l4_backend_state *backend; /* removed ones are the caller's to free */
	bool added, removed;
	/*
	 * Another check, other parameters, another namespace, or static turned probed or back:
	 * restart the worker. One that became static gets its synthetic pass from the engine.
	 */
	bool probe_changed;
	bool address_changed; /* result in flight is of no use; schedule undisturbed */
	bool has_transition;  /* enabled, disabled, removed */
	struct health_change transition;
};

struct l4_reload {
	VEC(struct l4_reload_change) changes; /* only backends with something to do */
};

/*
 * Moves the model to a new configuration. Cannot fail. *ret is the caller's to vec_free(); the old
 * config may be freed afterwards. What survives (FR-3.4):
 *
 *	a backend that stays	its state; pause and run-time enable or disable with what was said
 *				about them; the newest of its history that fit. `enabled` of the
 *				file counts unless overridden.
 *				Another check moves only the counter (health_rule_changed()).
 *	a tuple that stays	a weight set at run time (by names of frontend, pool and backend),
 *				unless the file now says the same, which ends it
 *	a frontend that stays	its health and since; `released` too, unless the VIP is another
 *
 * A backend that comes back after it was removed is a new one. New ones are unknown, or disabled
 * where the file says so; neither is a transition.
 */
void l4_model_reload(struct l4_model *m, const struct l4_config *config, int64_t now,
		     struct l4_reload *ret);
void l4_backend_state_free(struct l4_backend_state *b);

/* Appends to the bounded history; the oldest makes room. */
void l4_backend_remember(struct l4_backend_state *b, const struct health_change *change);

/*
 * One result of a probe, or the synthetic pass of a static backend. local: a failure of this
 * machine's own making. Ignored in paused, disabled and removed. True, with *ret filled, when the
 * state changed.
 */
bool l4_backend_record(const struct l4_model *m, struct l4_backend_state *b, enum health_code code,
		       bool local, int64_t now, struct health_change *ret);

/*
 * What there is to tell about the probe behind the result that was just recorded; reason may be
 * any bytes, and is cut where it is too long. Ignored in paused, disabled and removed.
 */
void l4_backend_note_probe(struct l4_backend_state *b, const char *reason, int64_t ended,
			   int64_t duration);

/*
 * The operator's acts: 1 with *ret filled when the state changed, 0 when there was nothing to do.
 * Pause and resume of a disabled backend are refused with -EPERM; disabling ends a pause. Enable
 * and disable go by the state: one that changes it holds over reloads until the opposite act; where
 * it says what the file says, the file is in charge again. What the operator has to say about it is
 * added with l4_backend_annotate() (override.h).
 */
int l4_backend_pause(struct l4_backend_state *b, int64_t now, struct health_change *ret);
int l4_backend_resume(struct l4_backend_state *b, int64_t now, struct health_change *ret);
int l4_backend_disable(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		       struct health_change *ret);
int l4_backend_enable(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		      struct health_change *ret);

/*
 * Sets the weight of a tuple (FR-3.3). -ENOENT when there is no such tuple, -ERANGE above 100.
 * Setting it to what the file says ends the mutation.
 */
int l4_model_set_weight(struct l4_model *m, const char *frontend, const char *pool,
			const char *backend, unsigned weight);

/* The rule of the backend's check; a static one has {1, 1}. */
const struct health_rule *l4_backend_rule(const struct l4_model *m,
					  const struct l4_backend_state *b);
static inline const struct l4_backend *l4_backend_config(const struct l4_model *m,
							 const struct l4_backend_state *b)
{
	return &m->config->backends[b->index];
}

/*
 * Re-judges frontend i (FR-2.4). True, with *ret_from filled, when its health changed; the model
 * is updated.
 */
bool l4_model_judge_frontend(struct l4_model *m, size_t i, int64_t now,
			     enum l4_frontend_health *ret_from);

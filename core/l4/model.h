/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: the run-time state that belongs to a configuration (config.h).
 *
 * There is one struct l4_model per daemon: the running configuration, the state of each backend
 * with its history, the operator's overrides, the aggregate state of each frontend. backends[i]
 * belongs to config->backends[i], frontends[i] to config->frontends[i]. A struct l4_backend_state
 * is allocated once per backend and stays in place over every reload that keeps the backend, so
 * programs may hold pointers to it until a reload reports it as removed.
 *
 * Pure: the functions below change the model on behalf of the one engine that owns it. Those that
 * change a state return the change; the engine adds it to the history (l4_backend_remember()),
 * logs, counts and publishes it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "base/who.h"
#include "core/health/health.h"
#include "core/l4/config.h"

enum l4_frontend_health { L4_FRONTEND_UNKNOWN, L4_FRONTEND_UP, L4_FRONTEND_DOWN };

/* Whether the operator enabled or disabled a backend at run time; otherwise the file decides. */
enum l4_enable { L4_ENABLE_CONFIGURED, L4_ENABLE_FORCED_ON, L4_ENABLE_FORCED_OFF };

#define L4_REASON_SIZE 128 /* with its NUL; longer ones are cut */

/* The details of an operator's command (override.h). */
struct l4_override {
	int64_t at;	 /* unix ns: since when it is in force */
	int64_t until;	 /* unix ns: when it ends by itself; 0: only by command */
	int64_t from;	 /* unix ns: when it begins; 0: it is in force */
	char *reason;	 /* NULL: none given */
	struct who *who; /* NULL: not known */
};

/* A change of the past. */
struct l4_past {
	struct health_change change;
	char *reason;	 /* for people; NULL: none */
	struct who *who; /* the operator whose command it was; NULL: none */
};

struct l4_backend_state {
	char *name;
	size_t index; /* into config->backends; SIZE_MAX once removed */
	struct health health;
	enum l4_enable enable;
	struct l4_override pause;    /* zeroed unless paused */
	struct l4_override enabling; /* zeroed unless enable is forced */
	struct l4_override planned;  /* a pause that begins later; zeroed: none */
	bool has_result;	     /* there was a result: the members last_... are valid */
	enum health_code last_code;  /* of the last result */
	bool last_local;	     /* the last result was a failure on this machine's side */
	bool spared;		     /* down because of local failures only: see guard.h */
	bool away;		     /* it was out of service: the next time up is a return */
	int64_t returned;	     /* unix ns when it came up again (slow.h); 0: not a return */
	char *last_reason;	     /* for people; NULL if it passed */
	int64_t last_probe, last_duration; /* unix ns when the last probe ended, and ns it took */
	/* newest last, at most history_cap (transition-history of the configuration) */
	struct l4_past *history;
	size_t n_history, history_cap;
	void *user; /* for the program (its probe worker, its counters) */
};

struct l4_weight {
	unsigned value; /* in force */
	bool mutated;	/* set at run time; survives reloads until it equals the file again */
	struct l4_override *set; /* how it was set; NULL: not set at run time, or not annotated */
};

struct l4_frontend_state {
	enum l4_frontend_health health;
	int64_t since;		    /* unix ns */
	bool released;		    /* by the warm-up (warmup.h); stays set */
	bool written;		    /* the data plane has had its VIP; stays set */
	size_t last_pool;	    /* the last one that was active; SIZE_MAX: none so far */
	struct l4_weight **weights; /* [pool][member], as in config; NULL without pools */
};

struct l4_model {
	/* borrowed: the caller owns it */
	const struct l4_config *config;
	struct l4_backend_state **backends;
	struct l4_frontend_state *frontends;
	bool overrides_kept; /* the program keeps overrides over a restart */
	int64_t slow_now;    /* unix ns: the clock of slow starts (slow.h) */
};

const char *l4_frontend_health_name(enum l4_frontend_health h); /* "unknown", "up", "down" */

void l4_model_init(struct l4_model *m, const struct l4_config *config, int64_t now);
/*
 * Frees what the model owns, but neither config, which is still needed here, nor the user
 * pointers of the backends.
 */
void l4_model_free(struct l4_model *m);

/*
 * The effect of a reload on one backend, on which the engine acts. Changes are in the
 * order of the names.
 */
struct l4_reload_change {
	struct l4_backend_state *backend; /* the caller frees it if it was removed */
	bool added, removed;
	/*
	 * Another check, other parameters, another namespace, or static turned probed or back:
	 * the engine restarts the probe worker. It feeds the synthetic pass to a backend that
	 * became static.
	 */
	bool probe_changed;
	bool address_changed; /* the result in flight is useless; the schedule stays */
	bool has_transition;  /* enabled, disabled, removed */
	struct health_change transition;
};

struct l4_reload {
	VEC(struct l4_reload_change) changes; /* only backends for which there is something to do */
};

/*
 * Moves the model to a new configuration. Cannot fail. The caller frees *ret with vec_free(); the
 * old config may be freed afterwards. What survives (FR-3.4):
 *
 *	a backend that stays	its state; pause and run-time enable or disable with their
 *				reason and end; the newest of its history that fit. `enabled`
 *				of the file counts unless overridden.
 *				Another check changes only the counter
 *				(health_rule_changed()).
 *	a tuple that stays	a weight set at run time (by names of frontend, pool and
 *				backend), unless the file now says the same, which ends it
 *	a frontend that stays	its health and since, and unless its VIP changed, `released`
 *				and `written`
 *
 * A backend that is added again after it was removed is a new one. New backends are unknown, or
 * disabled if the file says so; neither is a transition.
 */
void l4_model_reload(struct l4_model *m, const struct l4_config *config, int64_t now,
		     struct l4_reload *ret);
void l4_backend_state_free(struct l4_backend_state *b);

/*
 * Appends to the bounded history; the oldest change is dropped if it is full. The reason is copied;
 * NULL or "": none.
 */
void l4_backend_remember(struct l4_backend_state *b, const struct health_change *change,
			 const char *reason);

/* The newest change of the history was a command of this operator. NULL is allowed. */
void l4_backend_credit(struct l4_backend_state *b, const struct who *who);

/*
 * Records one result of a probe, or the synthetic pass of a static backend. local: a failure on
 * this machine's side. Ignored in paused, disabled and removed. Returns true, with *ret filled,
 * if the state changed.
 */
bool l4_backend_record(const struct l4_model *m, struct l4_backend_state *b, enum health_code code,
		       bool local, int64_t now, struct health_change *ret);

/*
 * Adds details of the probe whose result was just recorded. reason may be any bytes and is cut if
 * it is too long. Ignored in paused, disabled and removed.
 */
void l4_backend_note_probe(struct l4_backend_state *b, const char *reason, int64_t ended,
			   int64_t duration);

/*
 * Commands of the operator. They return 1 with *ret filled if the state changed, 0 if there was
 * nothing to do. Pause and resume of a disabled backend fail with -EPERM; disabling ends a pause.
 * An enable or disable that changes the state holds over reloads until the opposite command; if
 * it agrees with the file, the file decides again. Reason and end are added with
 * l4_backend_annotate() (override.h).
 */
int l4_backend_pause(struct l4_backend_state *b, int64_t now, struct health_change *ret);
int l4_backend_resume(struct l4_backend_state *b, int64_t now, struct health_change *ret);
int l4_backend_disable(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		       struct health_change *ret);
int l4_backend_enable(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		      struct health_change *ret);

/*
 * Sets the weight of a tuple (FR-3.3). -ENOENT if there is no such tuple, -ERANGE above 100. A
 * weight that equals the file's ends the mutation.
 */
int l4_model_set_weight(struct l4_model *m, const char *frontend, const char *pool,
			const char *backend, unsigned weight);

/* The weight of a tuple; NULL if there is no such tuple. */
struct l4_weight *l4_model_weight(const struct l4_model *m, const char *frontend, const char *pool,
				  const char *backend);

/* The rule of the backend's check; {1, 1} for a static backend. */
const struct health_rule *l4_backend_rule(const struct l4_model *m,
					  const struct l4_backend_state *b);
/* The configuration of a backend that is not removed. */
static inline const struct l4_backend *l4_backend_config(const struct l4_model *m,
							 const struct l4_backend_state *b)
{
	return &m->config->backends[b->index];
}

/*
 * Computes the health of frontend i again (FR-2.4) and stores it. Returns true, with *ret_from
 * filled, if it changed.
 */
bool l4_model_judge_frontend(struct l4_model *m, size_t i, int64_t now,
			     enum l4_frontend_health *ret_from);
/*
 * Computes the active pool of frontend i again. Returns true, with both pools filled, if it took
 * over from another one, also with a time without any in between.
 */
bool l4_model_judge_pool(struct l4_model *m, size_t i, size_t *ret_from, size_t *ret_to);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: owns the model; all changes of the model go through it.
 *
 * Probe results, actions of the operator and reloads come in here, and core decides. Every change
 * of state then passes one function, which stamps, records and logs it and notifies the
 * observers. Observers are called when the model is consistent again. They may read it, but must
 * not call the functions that change it. Nothing here blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/l4/foresee.h"
#include "core/l4/kept.h"
#include "core/l4/model.h"
#include "core/l4/override.h"
#include "lib/loop/loop.h"

struct engine;
struct snapshot;

/* Why a configuration file was not taken. */
struct engine_refusal {
	const char *error; /* the first mistake with its place, or why a good file cannot be used */
	size_t n_errors;
	int64_t at; /* unix ns */
};

struct engine_observer {
	/* A backend changed state. For CODE_REMOVED b is freed after the last observer. */
	void (*backend)(void *user, struct l4_backend_state *b, const struct health_change *change);
	/* A frontend changed state; at is unix ns. */
	void (*frontend)(void *user, size_t frontend, enum l4_frontend_health from,
			 enum l4_frontend_health to, int64_t at);
	/* The weight of a backend in a frontend was set; flush: its flows are to end once. */
	void (*weight)(void *user, size_t frontend, size_t backend, bool flush);
	/*
	 * A new configuration is in force; model and indices are the new ones. Called before the
	 * transitions that the reload causes. If there are many of them, they follow in later
	 * turns of the loop, otherwise before engine_reload() returns.
	 */
	void (*reloaded)(void *user, const struct l4_reload *reload);
	/* The all-down guard changed. */
	void (*guard)(void *user, bool active);
	/* A backend is no longer spared (core/l4/guard.h); its state did not change. */
	void (*unspared)(void *user, const struct l4_backend_state *b);
	/* An override of a backend may have another reason or end; its state stays. */
	void (*annotated)(void *user, const struct l4_backend_state *b);
	/*
	 * An override was set, changed or ended, or a weight set. Called once for a command, after
	 * everything else.
	 */
	void (*overridden)(void *user);
	/* A probe ended; called before the change of state that it may cause. */
	void (*probed)(void *user, const struct l4_backend_state *b);
	/* The warm-up has released a frontend. */
	void (*released)(void *user, size_t frontend);
	/* The data plane has the VIP of a frontend, for the first time since the start. */
	void (*written)(void *user, size_t frontend);
	/* A reload was refused; the configuration in force stays. */
	void (*refused)(void *user, const struct engine_refusal *why);
	void *user;
};
#define ENGINE_OBSERVERS_MAX 8

/*
 * Takes over the snapshot. No observer is called before engine_start(). All observers must be
 * added by then.
 */
struct engine *engine_new(struct ev_loop *loop, struct snapshot *first);
void engine_free(struct engine *e);
/*
 * Adds an observer, which is borrowed until engine_free(). Any callback may be NULL. Observers
 * are called in the order in which they were added; at most ENGINE_OBSERVERS_MAX.
 */
void engine_observe(struct engine *e, const struct engine_observer *observer);
/* Gives static backends their synthetic pass (FR-1.7). */
void engine_start(struct engine *e);
/* Before engine_start(): as l4_kept_restore(). */
int engine_restore(struct engine *e, const struct l4_kept *k, const char **ret_why);

/* The pointer stays valid; its configuration and all indices change with a reload. */
const struct l4_model *engine_model(const struct engine *e);
/* The number of the configuration in force: 1 at the start, one more with each reload. */
uint64_t engine_generation(const struct engine *e);
/* Whether the all-down guard is active: all probes fail because of this machine itself. */
bool engine_guard(const struct engine *e);

struct engine_result {
	enum health_code code;
	bool local;	    /* the failure is on this machine itself */
	const char *reason; /* for people; "" on success */
	int64_t duration;   /* ns that the probe took */
};
void engine_record(struct engine *e, struct l4_backend_state *b,
		   const struct engine_result *result);

/*
 * Actions of the operator (FR-3). They return 0 also when there was nothing to do; -ENOENT for an
 * unknown name, -EPERM for pause and resume of a disabled backend, -ERANGE for a weight above
 * 100. The operator's note on a pause, a disable or an enable is kept with it; a later note
 * replaces it. With `until` the override ends by itself, with `from` a pause begins by itself.
 * note may be NULL.
 */
int engine_pause(struct engine *e, const char *backend, const struct l4_note *note);
int engine_resume(struct engine *e, const char *backend, const struct l4_note *note);
int engine_enable(struct engine *e, const char *backend, const struct l4_note *note);
int engine_disable(struct engine *e, const char *backend, const struct l4_note *note);
/*
 * The same on several backends at once. l4_foresee() has just said that none refuses it. If they
 * are many, their transitions are reported in later turns of the loop, as those of a reload.
 */
void engine_act_on(struct engine *e, const struct l4_selection *s, enum l4_command c,
		   const struct l4_note *note);
struct engine_weight {
	const char *frontend, *pool, *backend;
	unsigned weight;
	bool flush;
	const struct l4_note *note; /* NULL: none */
};
int engine_set_weight(struct engine *e, const struct engine_weight *w);

/* Overrides are kept over a restart by somebody who observes `overridden`. */
void engine_keeps_overrides(struct engine *e);

/* Takes over the snapshot and frees the old one. Cannot fail: the snapshot was validated. */
void engine_reload(struct engine *e, struct snapshot *next);
/* Notifies the observers that a file was read to be taken and is not; nothing else changes. */
void engine_refuse(struct engine *e, const struct engine_refusal *why);

/* The warm-up of a frontend is over and never begins again. */
void engine_release(struct engine *e, size_t frontend);
/* The data plane has the VIP of a frontend as it should be. */
void engine_note_written(struct engine *e, size_t frontend);

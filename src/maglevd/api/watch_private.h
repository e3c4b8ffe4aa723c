/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of watch.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "lib/log/log.h"
#include "lib/loop/task.h"
#include "lib/service/stale.h"
#include "src/maglevd/api/watch.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reconcile.h"
#include "wire/api.h"

/* What a replay consists of, in this order. */
enum watch__replay {
	WATCH__CONFIG,
	WATCH__DATAPLANE,
	WATCH__FRONTENDS,
	WATCH__BACKENDS,
	WATCH__DONE,
};

struct subscriber {
	struct subscriber *next, **back;
	struct watch *watch;
	struct grpc_call *call;
	/* number of the last event in this stream */
	uint64_t seq;
	/* the kinds of events that the client wants */
	bool log, backend, frontend, config, dataplane, info, probes;
	bool lagging; /* to be dropped; nothing is sent to it any more */
	enum log_level level;
	enum watch__replay replay;
	char *cursor;	     /* last name replayed of the current kind; NULL before the first */
	struct stale infos;  /* to be sent: frontends, then backends; empty unless wanted */
	struct stale probed; /* backends with new results; empty unless wanted */
	bool probes_due;     /* the second is over: results may be sent */
	bool infos_due;	     /* the delay is over: infos may be sent */
};

struct watch {
	struct ev_loop *loop;
	struct engine *engine;
	struct reconcile *reconcile;
	struct engine_observer observer;
	struct subscriber *subscribers, **end; /* in the order of subscription */
	struct watch_stats stats;
	struct buf encoded; /* the event being sent */
	/* for the event being made, and for log lines, which may come in between */
	struct arena *arena, *line;
	struct task soon;    /* continues replays, and attaches to the log as needed */
	ev_timer tick;	     /* every second, while a subscriber wants probes */
	ev_timer info_delay; /* active while changes wait to be sent as infos */
	size_t n_probes;     /* subscribers that want probes */
	int sink;	     /* of the log; -1 while no subscriber wants it */

	/* the outcome of the last attempt to load a configuration */
	struct wire_config_status loaded; /* without config and replay */
	char *refusal;			  /* loaded.error */
	enum lb_status status;		  /* of the data plane, as last reported */
	int64_t dataplane_since;	  /* unix ns: when that status was entered */
};

/* watch.c */
/* Encodes an event into w->encoded, for watch__send(). */
void watch__encode(struct watch *w, const Maglev__Event *event);
/* Sends what was encoded last. False when the subscriber is dropped, or about to be. */
bool watch__send(struct subscriber *s);
/* Events with the current state; change is NULL for the replay. Valid until the next event. */
Maglev__Event *watch__config_event(struct watch *w, bool replay);
Maglev__Event *watch__dataplane_event(struct watch *w, const char *change,
				      const struct reconcile_event *event);

/* watch_log.c */
/* Attaches to the log at the lowest level that any subscriber wants; detaches if none wants it. */
void watch__listen(struct watch *w);

/* watch_turns.c */
/*
 * Sends what may take long: the replay, then infos and results of probes that wait. Stops when
 * the step has no time left or the client's queue is full, and continues later.
 */
void watch__serve(struct subscriber *s);
/*
 * Whether the replay has sent the state of this name already, so that its events follow in the
 * stream.
 */
bool watch__was_told(const struct subscriber *s, enum watch__replay kind, const char *name);

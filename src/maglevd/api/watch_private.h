/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of watch share. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "lib/log/log.h"
#include "lib/loop/task.h"
#include "src/maglevd/api/stale.h"
#include "src/maglevd/api/watch.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reconcile.h"
#include "wire/api.h"

/* What a replay tells, in this order. */
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
	uint64_t seq;
	bool log, backend, frontend, config, dataplane, info, probes; /* what is wanted */
	bool lagging; /* to be dropped; is sent nothing any more */
	enum log_level level;
	enum watch__replay replay;
	char *cursor; /* name of the last one replayed of the current kind; NULL before the first */
	struct stale infos;  /* that are to be sent: frontends, then backends; if info is wanted */
	struct stale probed; /* backends; if probes are wanted */
	bool probes_due;     /* the second is over */
};

struct watch {
	struct ev_loop *loop;
	struct engine *engine;
	struct reconcile *reconcile;
	struct engine_observer observer;
	struct subscriber *subscribers, **end; /* in the order in which they came */
	struct watch_stats stats;
	struct buf encoded;	    /* the event being sent */
	struct arena *arena, *line; /* of the event being made; a log line may come in between */
	struct task soon;	    /* replays go on, the log is listened to as needed */
	ev_timer tick;		    /* each second, while somebody wants probes */
	size_t n_probes;	    /* subscribers that want them */
	int sink;		    /* of the log; -1 while nobody wants it */

	/* what came of the last attempt to load a configuration */
	struct wire_config_news loaded; /* without config and replay */
	char *refusal;			/* loaded.error */
	int64_t dataplane_since;	/* unix ns: when it was connected or disconnected */
};

/* watch.c */
void watch__encode(struct watch *w, const Maglev__Event *event);
/* What was encoded last. False when the subscriber does not take it any more. */
bool watch__send(struct subscriber *s);
/* What is so, for an event; change NULL: for the replay. */
Maglev__Event *watch__config_event(struct watch *w, bool replay);
Maglev__Event *watch__dataplane_event(struct watch *w, const char *change,
				      const struct reconcile_event *event);

/* watch_log.c */
/* Listens to the log at the lowest level that any subscriber wants, and not at all for none. */
void watch__listen(struct watch *w);

/* watch_turns.c */
/* Sends what may take long: the replay, then infos and results of probes that wait. */
void watch__serve(struct subscriber *s);
/* Whether the replay has told of this name already, so that its events belong into the stream. */
bool watch__was_told(const struct subscriber *s, enum watch__replay kind, const char *name);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tester: asks every VIP again and again, and keeps what came of it.
 *
 * All memory is bounded by the number of VIPs, however long it runs.
 */
#pragma once

#include "core/stats/values.h"
#include "core/stats/window.h"
#include "lib/loop/loop.h"
#include "src/maglevt/options.h"
#include "src/maglevt/targets.h"

#define TROUBLES_MAX 256

enum trouble_kind {
	TROUBLE_TIMEOUT,
	TROUBLE_HTTP, /* an answer that is none, or with a status that is not good */
	TROUBLE_NET,
	TROUBLE_SPIKE, /* it passed, but took far longer than usual */
	TROUBLE_KINDS,
};

struct vip;
struct probe;
struct probe_env;

struct trouble {
	const struct vip *vip;
	enum trouble_kind kind;
	int64_t at; /* ns since the epoch, of the last time */
	uint64_t n; /* how often; only counted while it is among the newest */
	char text[128];
};

struct vip {
	struct tester *tester;
	const struct target *target;
	struct probe *probe;
	ev_timer next;
	int64_t started; /* monotonic ns, of the last request */
	struct window window;
	struct values headers;
	uint64_t troubles[TROUBLE_KINDS];
	struct trouble last; /* vip is NULL: none yet */
	int64_t last_rtt;
	bool last_passed;
	int64_t usual; /* p95 of the window, for spikes; renewed every second */
	uint64_t usual_n;
	int64_t usual_at;
};

struct tester {
	struct ev_loop *loop;
	const struct options *options;
	struct probe_env *env;
	struct vip *vips;
	size_t n;
	uint64_t random;
	bool paused, finishing;
	size_t in_flight;
	struct trouble troubles[TROUBLES_MAX]; /* the newest first */
	size_t n_troubles;
};

const char *trouble_name(enum trouble_kind k);

/* Begins to ask; targets must outlive it. */
struct tester *tester_new(struct ev_loop *loop, const struct options *o, const struct targets *t);
void tester_free(struct tester *t);
/* What is in flight then is neither good nor bad: it does not count. */
void tester_pause(struct tester *t, bool paused);
/* No new questions; whether there are answers to wait for, the last of which breaks the loop. */
bool tester_finish(struct tester *t);
/* All figures begin anew. */
void tester_reset(struct tester *t);

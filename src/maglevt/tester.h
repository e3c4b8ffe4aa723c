/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tester: sends requests to every VIP periodically and keeps statistics of the results.
 *
 * Memory is bounded by the number of VIPs and does not grow with time.
 */
#pragma once

#include "core/stats/values.h"
#include "core/stats/window.h"
#include "lib/loop/loop.h"
#include "src/maglevt/options.h"
#include "src/maglevt/targets.h"

#define TROUBLES_MAX 256 /* distinct errors that are kept, of all VIPs */

enum trouble_kind {
	TROUBLE_TIMEOUT,
	TROUBLE_HTTP, /* not an HTTP answer, or another status than is expected */
	TROUBLE_NET,
	TROUBLE_SPIKE, /* the request passed, but took far longer than usual */
	TROUBLE_KINDS,
};

struct vip;
struct probe;
struct probe_env;
struct tls_context;

struct trouble {
	const struct vip *vip;
	enum trouble_kind kind;
	int64_t at; /* ns since the epoch of the last occurrence */
	uint64_t n; /* occurrences; starts over if it was dropped from the newest */
	char text[128];
};

struct vip {
	struct tester *tester;
	const struct target *target;
	struct probe *probe;
	ev_timer next;
	int64_t started; /* monotonic ns of the last request */
	struct window window;
	struct values headers; /* values of --header: which backends answered */
	uint64_t troubles[TROUBLE_KINDS];
	struct trouble last; /* its vip is NULL if there was none */
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
	struct tls_context *tls; /* of --ca; NULL: the system's store; borrowed */
	struct arena *arena;	 /* of the codes of the requests */
	struct vip *vips;
	size_t n;
	uint64_t random;
	bool paused, finishing;
	size_t in_flight;		       /* requests without an answer */
	struct trouble troubles[TROUBLES_MAX]; /* newest first */
	size_t n_troubles;
};

const char *trouble_name(enum trouble_kind k);

/*
 * Starts testing on the loop; targets, options and tls must outlive it. tls verifies certificates;
 * NULL: the system's store does.
 */
struct tester *tester_new(struct ev_loop *loop, const struct options *o, const struct targets *t,
			  struct tls_context *tls);
void tester_free(struct tester *t);
/* Pauses or continues. Requests in flight are cancelled and do not count. */
void tester_pause(struct tester *t, bool paused);
/*
 * Sends no further requests. Returns whether requests are in flight; the last answer then breaks
 * the loop.
 */
bool tester_finish(struct tester *t);
/* Resets all statistics. */
void tester_reset(struct tester *t);

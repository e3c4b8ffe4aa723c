/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vpp: a connection to VPP's API and one to its stats segment. The driver is up when both are
 * there, down when either ends, and tries again after a delay.
 *
 *	dial -> API ready -> version, pid -> stats segment -> up -> ... -> down -> dial
 *
 * A VPP without the messages that are needed is never up: nothing is sent that it might
 * misinterpret. The connection is kept all the same, with or without a segment, so that a restart
 * of VPP is noticed at once. What is missing is in one log line and in info().
 *
 * observe.c and apply.c do the reconciler's one request at a time; gather.c sends requests in
 * between. They share the connection, and VPP answers in order. What is programmed stays when
 * maglevd stops.
 */
#include "src/maglevd/dataplane/vpp/vpp.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "src/maglevd/dataplane/vpp/internal.h"

#define CLIENT_NAME "maglevd"
#define RETRY (5 * NSEC_PER_SEC)
#define MAX_MESSAGE ((size_t)16 * 1024 * 1024) /* the text of 10,000 VIPs */

static struct dataplane_vpp_setup next_setup = { .api_addr = "/run/vpp/api.sock",
						 .stats_addr = "/run/vpp/stats.sock" };

void dataplane_vpp_use(const struct dataplane_vpp_setup *setup)
{
	next_setup = *setup;
}

/* ---- down ---- */

/* Closes the connection and drops what was under way on it. */
static void let_go(struct dataplane *dp)
{
	vpplb__gather_drop(dp);
	vpplb__observe_drop(dp);
	vpplb__apply_drop(dp);
	ev_timer_stop(dp->loop, &dp->tell);
	vpp_api_free(TAKE_PTR(dp->api));
	vpp_stats_free(TAKE_PTR(dp->stats));
	vpp_segment_close(TAKE_PTR(dp->segment));
	vpplb__who_forget(&dp->who);
	dp->known = dp->supported = false;
}

/*
 * why is copied first, because it may belong to the connection that is closed here. Each problem
 * is logged once and not at every attempt.
 */
static void go_down(struct dataplane *dp, const char *why)
{
	bool was_up = dp->up;
	int64_t retry;

	vpplb__who_trouble(&dp->who, why);
	dp->up = false;
	let_go(dp);
	retry = backoff_start(&dp->retry);
	if (was_up) {
		dp->events.down(dp->events.user, dp->who.info.problem);
		return;
	}
	if (vpplb__who_is_new(&dp->who, dp->who.info.problem)) {
		log_warn("vpp-connect-failed", LOG_S("error", dp->who.info.problem),
			 LOG_D("retry_seconds", loop_seconds(retry)));
		dp->events.problem(dp->events.user);
	}
}

static void on_api_ended(void *user, enum vpp_end why, const char *text)
{
	go_down(user, text);
}

/* ---- up ---- */

/*
 * Called when the API and the stats connection have each made their last step. A VPP that is not
 * supported stops before up().
 */
static void go_up_if_complete(struct dataplane *dp)
{
	if (!dp->known || dp->stats)
		return;
	dp->who.info.connect_time = loop_realtime();
	if (dp->segment)
		vpplb__gather_attach(dp);
	if (!dp->supported)
		return;
	vpplb__gather_start(dp);
	vpplb__who_is_new(&dp->who, "");
	dp->up = true;
	backoff_reset(&dp->retry);
	dp->events.up(dp->events.user);
}

static void on_stats_ready(void *user, struct vpp_segment *segment)
{
	struct dataplane *dp = user;

	dp->segment = segment;
	vpp_stats_free(TAKE_PTR(dp->stats));
	go_up_if_complete(dp);
}

/* A supported VPP needs the segment; for others the segment is only asked for the start time. */
static void on_stats_failed(void *user, const char *text)
{
	struct dataplane *dp = user;

	if (dp->supported) {
		go_down(dp, text);
		return;
	}
	vpp_stats_free(TAKE_PTR(dp->stats)); /* what is wrong with this VPP is known already */
	go_up_if_complete(dp);
}

static void on_version(void *user, struct vpp_reader *r)
{
	struct dataplane *dp = user;
	struct vpplb_version version;
	int32_t retval = vpplb_decode_version(r, &version);

	if (!r->bad && retval == 0)
		vpplb__who_version(&dp->who, &version);
}

/* The last question at the beginning; VPP answers in order, so the version is known by now. */
static void on_pid(void *user, struct vpp_reader *r)
{
	struct dataplane *dp = user;
	uint32_t pid;

	vpplb_decode_pid(r, &pid);
	if (r->bad)
		return;
	dp->who.info.pid = pid;
	dp->known = true;
	if (!dp->supported && vpplb__who_is_new(&dp->who, dp->who.info.problem)) {
		log_error("vpp-unsupported", LOG_S("problem", dp->who.info.problem),
			  LOG_S("version", dp->who.info.version));
		dp->events.problem(dp->events.user);
	}
	go_up_if_complete(dp);
}

static void connect_stats(struct dataplane *dp)
{
	const struct vpp_stats_config config = { .path = dp->setup.stats_addr,
						 .timeout = dp->setup.timeout,
						 .ready = on_stats_ready,
						 .failed = on_stats_failed,
						 .user = dp };

	dp->stats = vpp_stats_connect(dp->loop, &config);
}

/* The version may be missing in this VPP, which is no reason to stop: its result is not checked. */
static void on_api_ready(void *user)
{
	struct dataplane *dp = user;
	_cleanup_(buf_free) struct buf problem = { 0 };

	dp->supported = vpplb_supported(vpp_api_table(dp->api), &problem);
	vpplb__who_trouble(&dp->who, buf_cstr(&problem));
	vpp_api_call(dp->api, &vpplb_messages[VPPLB_VERSION], NULL, on_version, dp);
	vpp_api_call(dp->api, &vpplb_messages[VPPLB_PING], NULL, on_pid, dp);
	connect_stats(dp);
}

static void dial(struct dataplane *dp)
{
	const struct vpp_api_config config = { .path = dp->setup.api_addr,
					       .client_name = CLIENT_NAME,
					       .timeout = dp->setup.timeout,
					       .max_message = MAX_MESSAGE,
					       .ready = on_api_ready,
					       .ended = on_api_ended,
					       .trace = vpplb__who_count,
					       .user = dp };

	assert(!dp->api && !dp->stats && !dp->segment);
	dp->api = vpp_api_connect(dp->loop, &config);
}

static void on_retry(void *user)
{
	dial(user);
}

/* Completions must not be called from within a verb: this timer of 0 s calls them. */
static void on_tell(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct dataplane *dp = w->data;

	if (dp->observe.done)
		vpplb__observe_tell(dp);
	else
		vpplb__apply_tell(dp);
}

/* ---- the verbs ---- */

static struct dataplane *vpp_start(struct ev_loop *loop, const struct l4_config *config,
				   const struct dataplane_events *events)
{
	struct dataplane *dp = mem_zalloc(sizeof(*dp));
	struct backoff_policy retry = { 0 }; /* VPP is on this machine: always the same delay */

	dp->loop = loop;
	dp->events = *events;
	dp->config = config;
	dp->setup = next_setup;
	retry.first = retry.last = dp->setup.retry ? dp->setup.retry : RETRY;
	backoff_init(&dp->retry, loop, &retry, on_retry, dp);
	ev_timer_init(&dp->tell, on_tell, 0., 0.);
	dp->tell.data = dp;
	vpplb__who_init(&dp->who);
	vpplb__gather_init(dp);
	dial(dp);
	return dp;
}

static void vpp_reconfigure(struct dataplane *dp, const struct l4_config *config)
{
	dp->config = config;
}

static const struct lb_counters *vpp_counters(struct dataplane *dp)
{
	return dp->gather.any ? &dp->gather.counters : NULL;
}

static const struct dataplane_info *vpp_info(struct dataplane *dp)
{
	return &dp->who.info;
}

static void vpp_stop(struct dataplane *dp)
{
	backoff_stop(&dp->retry);
	let_go(dp);
	vpplb__gather_free(dp);
	vpplb__who_free(&dp->who);
	free(dp);
}

const struct dataplane_driver dataplane_vpp = {
	.name = "vpp",
	.start = vpp_start,
	.reconfigure = vpp_reconfigure,
	.observe = vpplb__observe,
	.apply = vpplb__apply,
	.counters = vpp_counters,
	.info = vpp_info,
	.stop = vpp_stop,
};

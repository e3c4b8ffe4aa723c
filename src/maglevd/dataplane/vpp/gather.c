/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather: reads the counters every few seconds, step by step.
 *
 *	IDLE -> TEXT -> LIST -> ROUTES -> READING -> IDLE
 *
 * The text says which VIP has which column of VPP's counters, and how many flows a server has.
 * VPP forwards no packets while it prints the text, so a long text is asked for less often
 * (TEXT_PAUSE). The routes of VIPs and servers are looked up next, because their columns count
 * the bytes. Columns are remembered until VIPs or servers change, and looked up again now and
 * then because other programs may change the routes. Then the stats segment is read, one of VPP's
 * threads after the other. If VPP changes the segment in the meantime, reading starts again after
 * a short delay.
 *
 * LIST and READING are steps of a task: with ten thousand VIPs, or many threads, they take long.
 * In TEXT and ROUTES the driver waits for answers of VPP.
 *
 * A reading replaces the newest counters as a whole. Until then, and after VPP is gone, the last
 * counters stay, and show when they were read.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "lib/loop/task.h"
#include "src/maglevd/dataplane/vpp/internal.h"

#define READING (5 * NSEC_PER_SEC)
#define TEXT_PAUSE (20 * NSEC_PER_USEC) /* per byte of the text: 1.5 MB are asked for every 30 s */
#define TEXT_SHORT 50000		/* bytes; VPP prints this much quickly */
/* all routes are looked up again after this time */
#define ROUTES_PAUSE (30 * NSEC_PER_SEC)
#define SOON 0.5   /* s from a change of VIPs or servers to the next reading */
#define AGAIN 0.02 /* s between two attempts to read the segment, of which there are ... */
#define TRIES 10   /* ... at most this many */
#define HAS (LB_HAS_VIP_BYTES | LB_HAS_AS_BUCKETS | LB_HAS_AS_FLOWS | LB_HAS_SERVER_TRAFFIC)

/* Names in the stats segment; the first four are the counters of the lb plugin by VIP. */
static const char *const entry_names[VPPLB__ENTRIES] = {
	[LB_PACKETS_NEXT] = "packet from existing sessions",
	[LB_PACKETS_FIRST] = "first session packet",
	[LB_PACKETS_UNTRACKED] = "untracked packet",
	[LB_PACKETS_NO_SERVER] = "no server configured",
	[VPPLB__BOOT_TIME] = "/sys/boottime",
	[VPPLB__ROUTE_TO] = "/net/route/to",
	[VPPLB__ROUTE_VIA] = "/net/route/via",
};
/* Packets to the address of a VIP, but to none of its ports; VPP counts them as its VIP 0. */
#define EVENT_NO_VIP "no-vip"

/* Tests set a shorter one. */
static int64_t period(const struct dataplane *dp)
{
	return dp->setup.reading ? dp->setup.reading : READING;
}

/* Values that cannot be a time are treated as unknown. */
static void set_boot_time(struct dataplane *dp, uint64_t seconds)
{
	dp->who.info.boot_time =
		seconds < INT64_MAX / NSEC_PER_SEC ? (int64_t)seconds * NSEC_PER_SEC : 0;
}

/* Ends the reading; the next tick begins another. */
static void rest(struct dataplane *dp)
{
	dp->gather.step = VPPLB__IDLE;
}

/* Lets the task do the next step, which does not wait for VPP. */
static void go_on(struct dataplane *dp, enum vpplb__gathering step)
{
	dp->gather.step = step;
	task_wake(&dp->gather.work);
}

/* ---- reading the segment ---- */

static void reading_free(struct vpplb__reading *r)
{
	free(r->vip_columns);
	free(r->route_columns);
	for (size_t i = 0; i < LB_PACKETS_KINDS; i++)
		free(r->packets[i]);
	free(r->to);
	free(r->via);
	*r = (struct vpplb__reading){ 0 };
}

static void *zeros(size_t n, size_t size)
{
	return memset(mem_resize(NULL, n, size), 0, n * size);
}

/* Columns are fixed for one reading: text and routes do not change meanwhile. */
static void reading_init(struct vpplb__reading *r, const struct vpplb__gather *g)
{
	size_t n_vips = g->text.vips.n + 1, n_routes = g->routes.n;

	*r = (struct vpplb__reading){ .n_vips = n_vips, .n_routes = n_routes };
	r->vip_columns = mem_resize(NULL, n_vips, sizeof(*r->vip_columns));
	for (size_t i = 0; i < g->text.vips.n; i++)
		r->vip_columns[i] = g->text.vips.items[i].index;
	r->vip_columns[n_vips - 1] = 0;
	r->route_columns = mem_resize(NULL, n_routes, sizeof(*r->route_columns));
	for (size_t i = 0; i < n_routes; i++)
		r->route_columns[i] = g->routes.items[i].column;
	for (size_t i = 0; i < LB_PACKETS_KINDS; i++)
		r->packets[i] = zeros(n_vips, sizeof(*r->packets[i]));
	r->to = zeros(n_routes, sizeof(*r->to));
	r->via = zeros(n_routes, sizeof(*r->via));
}

/* Adds what one thread of VPP has counted. -ERANGE: there is no such thread. */
static int read_part(struct vpp_segment *s, struct vpp_entry *e, struct vpplb__reading *r)
{
	if (r->entry == VPPLB__BOOT_TIME)
		return r->thread ? -ERANGE : vpp_segment_scalar(s, e, &r->boot_time);
	if (r->entry < LB_PACKETS_KINDS)
		return vpp_segment_simple(s, e, r->thread, r->vip_columns, r->n_vips,
					  r->packets[r->entry]);
	return vpp_segment_combined(s, e, r->thread, r->route_columns, r->n_routes,
				    r->entry == VPPLB__ROUTE_TO ? r->to : r->via);
}

/* Reads the next part. -EAGAIN: VPP is changing the segment, so all parts must be read again. */
static int read_next(struct vpp_segment *s, struct vpp_entry *entries, struct vpplb__reading *r)
{
	int begin = vpp_segment_begin(s);
	int err, end;

	if (begin < 0)
		return begin;
	err = read_part(s, &entries[r->entry], r);
	end = vpp_segment_end(s);
	if (end < 0)
		return end;
	r->thread++;
	/* a counter that does not exist is 0: VPP creates it when it first counts */
	if (err != -ERANGE && err != -ENOENT)
		return err;
	r->entry++;
	r->thread = 0;
	return 0;
}

/* ---- from columns to counters ---- */

/* Position of a host in the sorted routes, or where it would be. */
static size_t route_place(const struct vpplb__gather *g, const struct addr *host)
{
	return sorted_place(g->routes.n, i, addr_cmp(&g->routes.items[i].host, host) < 0);
}

/* The text is sorted by key and address, as counters must be: appending is enough. */
static void count_vip(const struct vpplb__gather *g, const struct vpplb__reading *r, size_t i,
		      struct lb_counters *out)
{
	const struct vpplb_text_vip *vip = &g->text.vips.items[i];
	struct lb_vip_counters to = { .key = vip->key,
				      .bytes = r->to[vip->route].bytes,
				      .buckets = vip->buckets };

	for (size_t k = 0; k < LB_PACKETS_KINDS; k++)
		to.packets[k] = r->packets[k][i];
	for (size_t j = 0; j < vip->n_as; j++) {
		const struct vpplb_text_as *as = &g->text.as.items[vip->as_first + j];

		vec_push(&to.as, (struct lb_as_counters){ .address = as->address,
							  .buckets = as->buckets,
							  .flows = as->flows });
	}
	vec_push(&out->vips, to);
}

/* Routes that are only of a VIP are left out: what they count is in the VIP already. */
static void count_servers(const struct vpplb__gather *g, const struct vpplb__reading *r,
			  struct lb_counters *out)
{
	for (size_t i = 0; i < g->routes.n; i++)
		if (g->routes.items[i].server)
			vec_push(&out->servers,
				 (struct lb_server_counters){ .address = g->routes.items[i].host,
							      .packets = r->via[i].packets,
							      .bytes = r->via[i].bytes });
}

/* The previous counters are kept for callers that still read them in this turn. */
static void publish(struct dataplane *dp, const struct vpplb__reading *r)
{
	struct vpplb__gather *g = &dp->gather;
	struct lb_counters fresh = { .at = loop_realtime(),
				     .flows_since = g->text_since,
				     .has = HAS };

	for (size_t i = 0; i < g->text.vips.n; i++)
		count_vip(g, r, i, &fresh);
	count_servers(g, r, &fresh);
	vec_push(&fresh.events,
		 (struct lb_event_counter){
			 .name = EVENT_NO_VIP,
			 .packets = r->packets[LB_PACKETS_NO_SERVER][r->n_vips - 1] });
	lb_counters_free(&g->old);
	g->old = g->counters;
	g->counters = fresh;
	g->any = true;
	g->broken = false;
	set_boot_time(dp, r->boot_time);
}

static void prepare_reading(struct vpplb__gather *g)
{
	reading_free(&g->reading);
	reading_init(&g->reading, g);
}

static void begin_reading(struct dataplane *dp)
{
	prepare_reading(&dp->gather);
	go_on(dp, VPPLB__READING);
}

/* VPP was changing the segment: everything is read again after a delay. */
static void read_again_later(struct dataplane *dp)
{
	prepare_reading(&dp->gather);
	ev_timer_set(&dp->gather.again, AGAIN, 0.);
	ev_timer_start(dp->loop, &dp->gather.again);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	go_on(w->data, VPPLB__READING);
}

/* Gives up after TRIES attempts; a failure of another kind is logged once. */
static void end_reading(struct dataplane *dp, int err)
{
	struct vpplb__gather *g = &dp->gather;

	if (err == -EAGAIN && ++g->tries < TRIES) {
		read_again_later(dp);
		return;
	}
	if (err == 0)
		publish(dp, &g->reading);
	reading_free(&g->reading);
	rest(dp);
	if (err < 0 && err != -EAGAIN && !g->broken) {
		g->broken = true;
		log_warn("vpp-stats-failed", LOG_S("error", strerror(-err)));
	}
}

/* Reads some parts. True: there are more. */
static bool read_parts(struct dataplane *dp)
{
	struct vpplb__gather *g = &dp->gather;
	int err;

	do {
		err = read_next(dp->segment, g->entries, &g->reading);
		if (err < 0 || g->reading.entry == VPPLB__ENTRIES) {
			end_reading(dp, err);
			return false;
		}
	} while (task_has_time(dp->loop));
	return true;
}

/* ---- routes ---- */

static void ask_routes(struct dataplane *dp);

/* An answer to a lookup: its place in the window is free for the next one. */
static void on_route(void *user, struct vpp_reader *r)
{
	const struct vpplb__slot *slot = user;
	struct dataplane *dp = slot->dp;
	uint32_t column = vpplb_decode_route(r);

	if (r->bad)
		return;
	dp->gather.routes.items[slot->op].column = column;
	dp->gather.routes_under_way--;
	ask_routes(dp);
}

static int ask_route(struct dataplane *dp, size_t i)
{
	struct vpplb__gather *g = &dp->gather;
	struct vpplb__slot *slot = &g->slots[g->routes_asked % VPPLB__WINDOW];
	_cleanup_(buf_free) struct buf fields = { 0 };
	int r;

	*slot = (struct vpplb__slot){ dp, i };
	vpplb_encode_route(&g->routes.items[i].host, &fields);
	r = vpp_api_call(dp->api, &vpplb_messages[VPPLB_ROUTE], &fields, on_route, slot);
	g->routes.items[i].asked = true;
	if (r == 0) {
		g->routes_asked++;
		g->routes_under_way++;
	}
	return r;
}

/* Keeps as many lookups under way as the window has places; each is taken until its answer. */
static void ask_routes(struct dataplane *dp)
{
	struct vpplb__gather *g = &dp->gather;
	int r = 0;

	while (r == 0 && g->route_at < g->routes.n && g->routes_under_way < VPPLB__WINDOW) {
		if (!g->routes.items[g->route_at].asked)
			r = ask_route(dp, g->route_at);
		g->route_at++;
	}
	if (r == -ENOTCONN)
		return; /* down() follows, which calls vpplb__gather_drop() */
	/* other errors: VPP has no such message, or too many requests wait; the bytes stay 0 */
	if (r < 0)
		g->route_at = g->routes.n;
	if (!g->routes_under_way) {
		g->tries = 0;
		begin_reading(dp);
	}
}

static int route_cmp(const void *a, const void *b)
{
	const struct vpplb__route *x = a, *y = b;

	return addr_cmp(&x->host, &y->host);
}

static void add_host(struct vpplb__gather *g, const struct addr *host, bool server)
{
	vec_push(&g->routes,
		 (struct vpplb__route){ .host = *host, .column = VPP_NO_COLUMN, .server = server });
}

/* Lists the hosts of the text, each of them once. */
static void list_hosts(struct vpplb__gather *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->text.vips.n; i++)
		add_host(g, &g->text.vips.items[i].key.address, false);
	for (size_t i = 0; i < g->text.as.n; i++)
		add_host(g, &g->text.as.items[i].address, true);
	if (g->routes.n)
		qsort(g->routes.items, g->routes.n, sizeof(*g->routes.items), route_cmp);
	for (size_t i = 0; i < g->routes.n; i++) {
		if (i == 0 || route_cmp(&g->routes.items[kept - 1], &g->routes.items[i]) != 0)
			g->routes.items[kept++] = g->routes.items[i];
		else
			g->routes.items[kept - 1].server |= g->routes.items[i].server;
	}
	g->routes.n = kept;
	for (size_t i = 0; i < g->text.vips.n; i++)
		g->text.vips.items[i].route = route_place(g, &g->text.vips.items[i].key.address);
}

/* The column of a host that was listed before stays, unless all are to be looked up again. */
static void list_routes(struct vpplb__gather *g)
{
	struct vpplb__gather old = { .routes.items = g->routes.items, .routes.n = g->routes.n };

	g->routes.items = NULL;
	g->routes.n = g->routes.cap = 0;
	list_hosts(g);
	for (size_t i = 0; !g->routes_due && i < g->routes.n; i++) {
		struct vpplb__route *route = &g->routes.items[i];
		size_t was = route_place(&old, &route->host);

		if (was < old.routes.n && route_cmp(&old.routes.items[was], route) == 0) {
			route->column = old.routes.items[was].column;
			route->asked = old.routes.items[was].asked;
		}
	}
	g->routes_due = g->text_fresh = false;
	vec_free(&old.routes);
}

/* Starts to look up routes. Hosts are listed only when the text is new, or all routes are due. */
static void begin_routes(struct dataplane *dp)
{
	struct vpplb__gather *g = &dp->gather;
	int64_t now = loop_monotonic();

	g->routes_due |= now >= g->routes_next;
	if (g->routes_due)
		g->routes_next = now + ROUTES_PAUSE;
	if (g->text_fresh || g->routes_due)
		list_routes(g);
	g->step = VPPLB__ROUTES;
	g->route_at = 0;
	ask_routes(dp);
}

/* ---- the text ---- */

/* Takes over the text, asked for at since. Its size decides when it is asked for again. */
static void keep_text(struct vpplb__gather *g, struct vpplb_text *text, size_t size, int64_t since)
{
	vpplb_text_free(&g->text);
	g->text = *text;
	*text = (struct vpplb_text){ 0 };
	g->text_due = false;
	g->text_fresh = true;
	g->text_since = since;
	g->text_long = size > TEXT_SHORT;
	g->text_next = loop_monotonic() + (int64_t)size * TEXT_PAUSE;
}

static void take_text(struct vpplb__gather *g, struct str text)
{
	struct vpplb_text parsed = { 0 };

	vpplb_text_parse(text, &parsed);
	keep_text(g, &parsed, text.n, g->text_asked);
}

static void on_text(void *user, struct vpp_reader *r)
{
	struct dataplane *dp = user;
	struct str text;

	if (!vpplb__read_text(dp, r, &text))
		return;
	if (text.p)
		take_text(&dp->gather, text);
	go_on(dp, VPPLB__LIST);
}

/* If VPP cannot print the text, the routes of the last one are used. */
static void begin_text(struct dataplane *dp)
{
	int r;

	dp->gather.step = VPPLB__TEXT;
	dp->gather.text_asked = loop_monotonic();
	r = vpplb__ask_text(dp, on_text);
	if (r < 0 && r != -ENOTCONN)
		begin_routes(dp);
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct dataplane *dp = w->data;
	struct vpplb__gather *g = &dp->gather;

	if (g->step != VPPLB__IDLE)
		return; /* the last reading has not ended */
	if (g->text_due || loop_monotonic() >= g->text_next)
		begin_text(dp);
	else
		begin_routes(dp);
}

/* LIST or READING; other states wait for VPP. */
static bool gather_step(struct task *t)
{
	struct dataplane *dp = container_of(t, struct dataplane, gather.work);

	if (dp->gather.step == VPPLB__READING)
		return read_parts(dp);
	begin_routes(dp);
	return false;
}

/* ---- beginning and end ---- */

void vpplb__gather_init(struct dataplane *dp)
{
	ev_init(&dp->gather.tick, on_tick);
	ev_init(&dp->gather.again, on_again);
	task_init(&dp->gather.work, dp->loop, TASK_ORDINARY, gather_step);
	dp->gather.tick.data = dp->gather.again.data = dp;
}

void vpplb__gather_attach(struct dataplane *dp)
{
	uint64_t seconds = 0;

	/* the position of an entry differs from VPP to VPP */
	for (size_t i = 0; i < VPPLB__ENTRIES; i++)
		dp->gather.entries[i] = (struct vpp_entry){ .name = entry_names[i] };
	if (vpp_segment_begin(dp->segment) == 0 &&
	    vpp_segment_scalar(dp->segment, &dp->gather.entries[VPPLB__BOOT_TIME], &seconds) == 0 &&
	    vpp_segment_end(dp->segment) == 0)
		set_boot_time(dp, seconds);
}

void vpplb__gather_start(struct dataplane *dp)
{
	dp->gather.text_due = dp->gather.routes_due = true;
	ev_timer_set(&dp->gather.tick, 0., loop_seconds(period(dp)));
	ev_timer_start(dp->loop, &dp->gather.tick);
}

/* The segment and the API connection are about to be closed: nothing may use them after this. */
void vpplb__gather_drop(struct dataplane *dp)
{
	struct vpplb__gather *g = &dp->gather;

	ev_timer_stop(dp->loop, &g->tick);
	ev_timer_stop(dp->loop, &g->again);
	task_cancel(&g->work);
	vpplb_text_free(&g->text);
	vec_free(&g->routes);
	reading_free(&g->reading);
	g->routes_under_way = 0;
	rest(dp);
}

void vpplb__gather_free(struct dataplane *dp)
{
	vpplb__gather_drop(dp);
	lb_counters_free(&dp->gather.counters);
	lb_counters_free(&dp->gather.old);
}

void vpplb__gather_moved(struct dataplane *dp)
{
	struct vpplb__gather *g = &dp->gather;

	g->text_due = g->routes_due = true;
	/* read soon, unless VPP would have to print a long text too often */
	if (ev_timer_remaining(dp->loop, &g->tick) < SOON || loop_monotonic() < g->text_next)
		return;
	ev_timer_stop(dp->loop, &g->tick);
	ev_timer_set(&g->tick, SOON, loop_seconds(period(dp)));
	ev_timer_start(dp->loop, &g->tick);
}

bool vpplb__gather_knows(const struct dataplane *dp)
{
	const struct vpplb__gather *g = &dp->gather;

	return g->text_long && !g->text_due && loop_monotonic() < g->text_next;
}

void vpplb__gather_take(struct dataplane *dp, struct vpplb_text *text, size_t size, int64_t since)
{
	/* the routes and columns of the reading under way belong to the present text */
	if (dp->gather.step == VPPLB__IDLE)
		keep_text(&dp->gather, text, size, since);
}

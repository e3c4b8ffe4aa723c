/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XDP data plane behind the verbs of dataplane.h: maglevd's own program in the kernel
 * (bpf/lb.bpf.c), programmed through its maps. docs/design/xdp.md describes how.
 *
 *	load		creates or adopts the maps and loads the program, in a child (loader)
 *	upgrade		carries maps of an older layout over into new ones, in the same child
 *	maps		one set of maps and the program over them, as the child has pinned them
 *	inventory	what is in the maps, and which places are free
 *	table		builds the table of a VIP, step by step
 *	run		carries out operations, step by step
 *	set		maps and inventory, and how one set replaces another
 *	links		the program on the interfaces
 *
 * There is no process at the other end: the driver is connected while it has the maps and the
 * program is attached to at least one interface. A timer checks that every second, repairs what
 * can be repaired, and reports when nothing can be forwarded any more. What is programmed keeps
 * working without this process.
 *
 * Two tasks do the long work. One replaces the maps when a new set is loaded, and carries out the
 * request; the other reads the counters every few seconds. Only switching a link takes longer
 * than a step should (some ten milliseconds). It happens at a start, at a repair, and when sizes
 * change.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "lib/loop/backoff.h"
#include "lib/loop/task.h"
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/dataplane/xdp/counters.h"
#include "src/maglevd/dataplane/xdp/loader.h"
#include "src/maglevd/dataplane/xdp/set.h"
#include "src/maglevd/dataplane/xdp/vlans.h"

#define LOOK_EVERY 1.0	/* s */
#define COUNT_EVERY 5.0 /* s */
/* A reading that took long is followed by a longer rest: counting takes at most 2 % of a core. */
#define COUNT_REST 50

/*
 * The delay between failed attempts to open. It grows, because each attempt may load the program.
 */
static const struct backoff_policy retry_policy = { .first = NSEC_PER_SEC,
						    .last = 30 * NSEC_PER_SEC };

struct dataplane {
	struct ev_loop *loop;
	struct dataplane_events events;
	const struct l4_config *config;
	struct xdplb_folder folder;
	struct xdplb_links links;
	struct xdplb_set *set; /* NULL: not open */
	bool connected;
	struct xdplb_why problem; /* "": none */
	struct backoff retry;	  /* for opening, and for creating maps of other sizes */

	struct xdplb_table table;
	struct xdplb_run run;
	struct xdplb_remake remake;
	/* maps for the next remake, loaded but not begun; valid if has_next */
	struct xdplb_maps next;
	bool has_next;
	/* shared by opening and by loading maps of other sizes: one child at a time */
	struct xdplb_loader loader;
	struct xdplb_counters counters;
	struct xdplb_vlans vlans;

	/* the request: one of the two, or none */
	dataplane_observed_fn observed;
	dataplane_applied_fn applied;
	void *user;
	const struct lb_op *ops;
	size_t n_ops;
	uint32_t buckets_per_core; /* as last set; the maps have no place for it */

	ev_timer look;
	struct task work; /* new maps and requests */
	ev_timer resume;  /* wakes it when a place that it waits for is free */
	struct task count;
	ev_timer next_count; /* wakes it for the next reading */
	int64_t count_spent; /* ns that the reading under way has taken so far */

	struct lb_attachment attachment; /* made by xdplb_attachment() */
};

/* ---- up and down ---- */

/*
 * Drops the request without an answer, as dataplane.h allows after down(). A change that is
 * dropped in the middle leaves a mark in the maps, and is repaired later.
 */
static void drop_request(struct dataplane *dp)
{
	xdplb__run_stop(&dp->run);
	dp->observed = NULL;
	dp->applied = NULL;
}

/* True if the problem is new; it is then logged, once. With some problems packets are forwarded. */
static bool set_problem(struct dataplane *dp, bool connected, const struct xdplb_why *why)
{
	if (strcmp(dp->problem.text, why->text) == 0)
		return false;
	dp->problem = *why;
	if (*why->text)
		log_at(connected ? LOG_WARN : LOG_ERROR, connected ? "xdp-problem" : "xdp-down",
		       LOG_S("pin", dp->folder.pin), LOG_S("error", why->text));
	return true;
}

/* The one place where the driver goes up or down. */
static void set_connected(struct dataplane *dp, bool connected, const struct xdplb_why *why)
{
	bool was = dp->connected, changed = set_problem(dp, connected, why);

	dp->connected = connected;
	if (was == connected) {
		if (changed)
			dp->events.problem(dp->events.user);
		return;
	}
	if (connected) {
		task_wake(&dp->count);
		dp->events.up(dp->events.user);
		return;
	}
	drop_request(dp);
	dp->events.down(dp->events.user, why->text);
}

/* Everything that uses the maps stops first. Pins and links stay: packets are forwarded. */
static void close_set(struct dataplane *dp)
{
	xdplb__loader_stop(&dp->loader);
	xdplb__remake_stop(&dp->remake);
	if (dp->has_next)
		xdplb__maps_close(&dp->next);
	dp->has_next = false;
	xdplb__run_stop(&dp->run);
	xdplb__counters_stop(&dp->counters);
	xdplb__set_close(dp->set);
	dp->set = NULL;
}

/* ---- loading ---- */

/* What the child is to do. */
struct order {
	const struct xdplb_folder *folder;
	struct xdplb_sizes sizes;
	struct xdplb_inherited inherited;
};

/* Runs in the child process; `order` is copied by fork(). */
static void load_first(const void *order, struct xdplb_report *report)
{
	const struct order *o = order;

	report->err = xdplb__load(o->folder, &o->sizes, &report->loaded, &report->why);
}

/* Like load_first(), for maps that are to replace the present ones. */
static void load_next(const void *order, struct xdplb_report *report)
{
	const struct order *o = order;

	report->err = xdplb__load_next(o->folder, &o->sizes, &o->inherited, &report->why);
}

/* Releases the folder, so that another maglevd can use it in the meantime. */
static void open_failed(struct dataplane *dp, const struct xdplb_why *why)
{
	xdplb__folder_unlock(&dp->folder);
	backoff_start(&dp->retry);
	if (set_problem(dp, false, why) && !dp->connected)
		dp->events.problem(dp->events.user);
}

/*
 * The child keeps the lock, so that no other maglevd takes the folder while the child writes
 * there, and the flow table, if the new maps are to share it.
 */
static int start_loader(struct dataplane *dp, xdplb_job_fn work, const struct order *order)
{
	struct xdplb_loader *l = &dp->loader;

	l->n_keep = 0;
	l->keep[l->n_keep++] = dp->folder.lock;
	if (order->inherited.has_flows)
		l->keep[l->n_keep++] = order->inherited.flows.fd;
	return xdplb__loader_start(l, work, order);
}

/*
 * Starts the loader, unless it is running or an attempt has just failed. Continues in
 * on_opened().
 */
static void try_to_open(struct dataplane *dp)
{
	struct order order = { .folder = &dp->folder };
	struct xdplb_why why = { 0 };
	int r;

	if (xdplb__loader_busy(&dp->loader) || backoff_waits(&dp->retry))
		return;
	r = xdplb__folder_lock(&dp->folder, &why);
	if (r == 0) {
		xdplb__sizes_for(dp->config, &order.sizes);
		r = start_loader(dp, load_first, &order);
		if (r < 0)
			xdplb__explain(&why, "cannot start a process: %s", strerror(-r));
	}
	if (r < 0)
		open_failed(dp, &why);
}

/* The old maps stay in use; another attempt follows later. */
static void remake_failed(struct dataplane *dp, const char *why)
{
	xdplb__remake_stop(&dp->remake);
	backoff_start(&dp->retry);
	log_error("xdp-remake-failed", LOG_S("pin", dp->folder.pin), LOG_S("error", why));
}

/*
 * Starts to load new maps in the background, if the sizes of the present ones do not suit the
 * configuration. Requests are served in the meantime.
 */
static void ask_for_sizes(struct dataplane *dp)
{
	struct order order = { .folder = &dp->folder };
	const struct xdplb_maps *m;
	int r;

	if (!dp->set || xdplb__loader_busy(&dp->loader) || dp->has_next || dp->remake.set ||
	    xdplb__sizes_do(&dp->set->maps.sizes, dp->config))
		return;
	m = &dp->set->maps;
	xdplb__sizes_for(dp->config, &order.sizes);
	xdplb__sizes_grow(&order.sizes, &m->sizes);
	order.inherited =
		(struct xdplb_inherited){ .config = *m->config,
					  .flows = m->map[PLANE_FLOWS],
					  .has_flows = order.sizes.buckets == m->sizes.buckets };
	r = start_loader(dp, load_next, &order);
	if (r < 0)
		remake_failed(dp, strerror(-r));
}

static void tell_loaded(const struct dataplane *dp, const struct xdplb_loaded *loaded)
{
	const struct xdplb_sizes *s = &dp->set->maps.sizes;

	if (*loaded->lost)
		log_warn("xdp-maps-lost", LOG_S("pin", dp->folder.pin),
			 LOG_S("reason", loaded->lost));
	if (*loaded->repaired)
		log_warn("xdp-repair", LOG_S("map", loaded->repaired),
			 LOG_S("reason", "its pin was gone"));
	if (loaded->upgraded)
		log_info("xdp-upgraded", LOG_S("pin", dp->folder.pin),
			 LOG_U("from", loaded->upgraded), LOG_U("to", ABI_LAYOUT));
	log_info("xdp-open", LOG_S("pin", dp->folder.pin), LOG_B("adopted", loaded->adopted),
		 LOG_U("vips", s->vips - 1), LOG_U("servers", s->servers - 1),
		 LOG_U("tables", s->tables), LOG_U("table_size", s->table_size),
		 LOG_U("flows", (uint64_t)s->buckets * ABI_BUCKET_FLOWS));
}

/* The child has made or adopted the maps: opens them by their pins. */
static void on_opened(struct dataplane *dp, const struct xdplb_report *report)
{
	struct xdplb_why why = report->why;
	struct xdplb_maps maps;
	int r = report->err;

	if (r == 0)
		r = xdplb__maps_open(dp->folder.maps, dp->folder.program, &maps, &why);
	if (r < 0) {
		open_failed(dp, &why);
		return;
	}
	backoff_reset(&dp->retry);
	dp->set = xdplb__set_new(&maps, !report->loaded.adopted);
	tell_loaded(dp, &report->loaded);
	xdplb__links_tidy(&dp->links);
	ask_for_sizes(dp);
	ev_feed_event(dp->loop, &dp->look, EV_TIMER);
}

/* From here on new requests wait until the new maps have replaced the old ones. */
static void on_next_loaded(struct dataplane *dp, const struct xdplb_report *report)
{
	struct xdplb_why why = report->why;
	struct xdplb_maps maps;
	int r = report->err;

	if (r == 0)
		r = xdplb__maps_open(dp->folder.next, dp->folder.program, &maps, &why);
	if (r < 0) {
		remake_failed(dp, why.text);
		return;
	}
	dp->next = maps;
	dp->has_next = true;
	task_wake(&dp->work);
}

/* The loader serves two purposes. If there are no maps yet, it was started by try_to_open(). */
static void on_loaded(void *user, const struct xdplb_report *report)
{
	struct dataplane *dp = user;

	if (dp->set)
		on_next_loaded(dp, report);
	else
		on_opened(dp, report);
}

/* ---- looking ---- */

/*
 * Pins that another program removed are created again: the descriptors are still open. If the
 * folder itself was replaced and another maglevd has locked the new one, that maglevd owns the
 * data plane.
 */
static void look_at_pins(struct dataplane *dp, struct xdplb_why *why)
{
	const char *missing;

	if (!xdplb__folder_holds(&dp->folder)) {
		xdplb__folder_unlock(&dp->folder);
		if (xdplb__folder_lock(&dp->folder, why) < 0) {
			close_set(dp);
			return;
		}
	}
	missing = xdplb__maps_unpinned(dp->folder.maps);
	if (missing && xdplb__maps_pin(&dp->set->maps, dp->folder.maps, why) == 0)
		log_warn("xdp-repair", LOG_S("map", missing), LOG_S("reason", "its pin was gone"));
}

/* Tells the program how packets leave: by which VLANs, and whether with XDP_TX. */
static void put_egress(struct dataplane *dp)
{
	xdplb__vlans_put(&dp->vlans, &dp->set->inventory);
	xdplb__inventory_set_flag(&dp->set->inventory, ABI_SET_TX,
				  dp->config->xdp.transmit == L4_XDP_TX);
}

/* Runs once a second, and immediately after a reload or when maps were opened. */
static void on_look(struct ev_loop *loop, ev_timer *w, int events)
{
	struct dataplane *dp = w->data;
	struct xdplb_why why = { 0 };
	size_t attached = 0;

	if (dp->set)
		look_at_pins(dp, &why);
	if (!dp->set)
		try_to_open(dp);
	if (dp->set) {
		if (xdplb__vlans_find(&dp->vlans) == 0)
			put_egress(dp);
		attached = xdplb__links_check(&dp->links, &dp->set->maps);
		if (attached < dp->links.list.n)
			xdplb__links_explain(&dp->links, &why);
		if (!backoff_waits(&dp->retry))
			ask_for_sizes(dp);
	}
	if (dp->set || dp->connected)
		set_connected(dp, attached > 0, &why);
}

/* ---- requests ---- */

/* The state is a copy: it is valid during the callback only. */
static void answer_observe(struct dataplane *dp)
{
	dataplane_observed_fn observed = dp->observed;
	struct lb_state state = { 0 };

	dp->observed = NULL;
	xdplb__inventory_state(&dp->set->inventory, &state);
	state.conf.sticky_buckets_per_core = dp->buckets_per_core;
	observed(dp->user, 0, &state);
	lb_state_free(&state);
}

/* The next VIP whose table does not match its servers, after a crash; 0: none. */
static uint32_t next_changing(const struct xdplb_inventory *b)
{
	for (uint32_t i = 1; i < b->maps->sizes.vips; i++)
		if (b->vips[i].used && b->maps->vips[i].flags & ABI_VIP_CHANGING)
			return i;
	return 0;
}

/*
 * Repairs VIPs that are marked as changing first, so that the reported state is what packets
 * meet.
 */
static enum xdplb_pace step_observe(struct dataplane *dp)
{
	uint32_t vip;
	enum xdplb_pace pace;

	if (!dp->run.inventory) {
		vip = next_changing(&dp->set->inventory);
		if (!vip) {
			answer_observe(dp);
			return PLANE_DONE;
		}
		xdplb__run_begin_repair(&dp->run, &dp->set->inventory, vip);
	}
	pace = xdplb__run_step(&dp->run);
	if (pace != PLANE_DONE)
		return pace;
	if (dp->run.err) {
		dataplane_observed_fn observed = dp->observed;

		dp->observed = NULL;
		observed(dp->user, dp->run.err, NULL);
		return PLANE_DONE;
	}
	return PLANE_MORE;
}

/* Logs what is exhausted, and how much room there is. */
static void tell_limit(const struct dataplane *dp)
{
	const struct xdplb_sizes *s = &dp->set->maps.sizes;

	log_error("xdp-full", LOG_S("limit", dp->set->inventory.full), LOG_U("vips", s->vips - 1),
		  LOG_U("servers", s->servers - 1), LOG_U("tables", s->tables));
}

/* The sticky buckets are remembered here, because nothing in the maps depends on them. */
static enum xdplb_pace step_apply(struct dataplane *dp)
{
	dataplane_applied_fn applied = dp->applied;
	enum xdplb_pace pace = xdplb__run_step(&dp->run);

	if (pace != PLANE_DONE)
		return pace;
	if (dp->run.err == -ENOSPC)
		tell_limit(dp);
	for (size_t i = 0; i < dp->run.done; i++)
		if (dp->ops[i].kind == LB_OP_CONF)
			dp->buckets_per_core = dp->ops[i].conf.sticky_buckets_per_core;
	dp->applied = NULL;
	applied(dp->user, dp->run.err, dp->run.done);
	return PLANE_DONE;
}

/* ---- replacing the maps ---- */

/* Copies what is in the old maps; counters are read again from the new ones. */
static void remake_begin(struct dataplane *dp)
{
	int r;

	xdplb__counters_stop(&dp->counters);
	dp->has_next = false;
	r = xdplb__remake_begin(&dp->remake, dp->set, &dp->next);
	if (r < 0)
		remake_failed(dp, strerror(-r));
}

/* The new maps are complete: interfaces are switched to them. */
static void remake_done(struct dataplane *dp)
{
	const struct xdplb_sizes *s;

	backoff_reset(&dp->retry);
	dp->set = xdplb__remake_finish(&dp->remake, &dp->folder, &dp->links);
	s = &dp->set->maps.sizes;
	log_info("xdp-remade", LOG_S("pin", dp->folder.pin), LOG_U("vips", s->vips - 1),
		 LOG_U("servers", s->servers - 1), LOG_U("tables", s->tables),
		 LOG_U("table_size", s->table_size),
		 LOG_U("flows", (uint64_t)s->buckets * ABI_BUCKET_FLOWS));
	put_egress(dp);
	ask_for_sizes(dp);
}

/* Always PLANE_MORE: a request may wait for the end of the replacement. */
static enum xdplb_pace step_remake(struct dataplane *dp)
{
	if (!dp->remake.set)
		remake_begin(dp);
	else if (xdplb__remake_step(&dp->remake) == PLANE_DONE)
		remake_done(dp);
	return PLANE_MORE;
}

/* ---- the work ---- */

/* One small part of the work. A request that has begun is finished before maps are replaced. */
static enum xdplb_pace step(struct dataplane *dp)
{
	if (dp->remake.set || (dp->has_next && !dp->run.inventory))
		return step_remake(dp);
	if (dp->observed)
		return step_observe(dp);
	if (dp->applied && !dp->run.inventory)
		xdplb__run_begin(&dp->run, &dp->set->inventory, dp->ops, dp->n_ops);
	return dp->applied ? step_apply(dp) : PLANE_DONE;
}

/* All free places are resting: continues when the first rest ends. */
static void wait_for_place(struct dataplane *dp)
{
	int64_t left = dp->set->inventory.wait - loop_monotonic();

	ev_now_update(dp->loop);
	ev_timer_set(&dp->resume, left > 0 ? loop_seconds(left) : 0., 0.);
	ev_timer_start(dp->loop, &dp->resume);
}

static void on_resume(struct ev_loop *loop, ev_timer *w, int events)
{
	struct dataplane *dp = w->data;

	task_wake(&dp->work);
}

/* A request that ends with PLANE_DONE may leave new maps that wait for it. */
static bool work_step(struct task *t)
{
	struct dataplane *dp = container_of(t, struct dataplane, work);
	enum xdplb_pace pace;

	ev_timer_stop(dp->loop, &dp->resume);
	if (!dp->set)
		return false;
	do {
		pace = step(dp);
	} while (pace == PLANE_MORE && task_has_time(dp->loop));
	if (pace == PLANE_WAIT)
		wait_for_place(dp);
	return pace == PLANE_MORE || (pace == PLANE_DONE && dp->has_next);
}

static void on_next_count(struct ev_loop *loop, ev_timer *w, int events)
{
	struct dataplane *dp = w->data;

	task_wake(&dp->count);
}

static void count_again_later(struct dataplane *dp)
{
	double rest = loop_seconds(dp->count_spent * COUNT_REST);

	ev_timer_set(&dp->next_count, rest > COUNT_EVERY ? rest : COUNT_EVERY, 0.);
	ev_timer_start(dp->loop, &dp->next_count);
}

/* Nothing is read while maps are replaced: counters move from one set to the other then. */
static bool count_step(struct task *t)
{
	struct dataplane *dp = container_of(t, struct dataplane, count);
	bool done = !dp->set || dp->remake.set;
	int64_t begin = loop_monotonic();

	ev_timer_stop(dp->loop, &dp->next_count);
	if (!done && !dp->counters.under_way) {
		xdplb__counters_begin(&dp->counters, &dp->set->inventory);
		dp->count_spent = 0;
	}
	while (!done) {
		done = xdplb__counters_step(&dp->counters, &dp->set->inventory);
		if (!task_has_time(dp->loop))
			break;
	}
	dp->count_spent += loop_monotonic() - begin;
	if (done)
		count_again_later(dp);
	return !done;
}

/* ---- the verbs ---- */

static void on_retry(void *user)
{
	struct dataplane *dp = user;

	ev_feed_event(dp->loop, &dp->look, EV_TIMER);
}

static void start_watching(struct dataplane *dp)
{
	task_init(&dp->work, dp->loop, TASK_URGENT, work_step);
	task_init(&dp->count, dp->loop, TASK_ORDINARY, count_step);
	backoff_init(&dp->retry, dp->loop, &retry_policy, on_retry, dp);
	ev_timer_init(&dp->look, on_look, 0., LOOK_EVERY);
	ev_init(&dp->resume, on_resume);
	ev_init(&dp->next_count, on_next_count);
	dp->look.data = dp->resume.data = dp->next_count.data = dp;
	ev_timer_start(dp->loop, &dp->look);
}

static void stop_watching(struct dataplane *dp)
{
	task_cancel(&dp->work);
	task_cancel(&dp->count);
	ev_timer_stop(dp->loop, &dp->look);
	ev_timer_stop(dp->loop, &dp->resume);
	ev_timer_stop(dp->loop, &dp->next_count);
	backoff_stop(&dp->retry);
}

static struct dataplane *xdplb_start(struct ev_loop *loop, const struct l4_config *config,
				     const struct dataplane_events *events)
{
	struct dataplane *dp = mem_zalloc(sizeof(*dp));

	dp->loop = loop;
	dp->events = *events;
	dp->config = config;
	dp->buckets_per_core = config->lb.sticky_buckets_per_core;
	dp->run.table = dp->remake.table = &dp->table;
	dp->loader = (struct xdplb_loader){ .loop = loop, .done = on_loaded, .user = dp };
	xdplb__folder_init(&dp->folder, config->xdp.pin);
	dp->links.folder = dp->folder.pin;
	xdplb__links_set(&dp->links, &config->xdp);
	start_watching(dp);
	return dp;
}

static void xdplb_reconfigure(struct dataplane *dp, const struct l4_config *config)
{
	dp->config = config;
	xdplb__links_set(&dp->links, &config->xdp);
	ask_for_sizes(dp);
	ev_feed_event(dp->loop, &dp->look, EV_TIMER);
}

/* Reads the inventory from the maps first, because other programs may have written to them. */
static void xdplb_observe(struct dataplane *dp, dataplane_observed_fn done, void *user)
{
	assert(dp->connected && !dp->observed && !dp->applied);
	dp->observed = done;
	dp->user = user;
	xdplb__inventory_read(&dp->set->inventory);
	task_wake(&dp->work);
}

static void xdplb_apply(struct dataplane *dp, const struct lb_op *ops, size_t n,
			dataplane_applied_fn done, void *user)
{
	assert(dp->connected && !dp->observed && !dp->applied && n > 0);
	dp->applied = done;
	dp->user = user;
	dp->ops = ops;
	dp->n_ops = n;
	task_wake(&dp->work);
}

/* NULL before the first complete reading. */
static const struct lb_counters *xdplb_counters(struct dataplane *dp)
{
	return dp->counters.ready.at ? &dp->counters.ready : NULL;
}

static const struct lb_attachment *xdplb_attachment(struct dataplane *dp)
{
	xdplb__links_show(&dp->links);
	dp->attachment = (struct lb_attachment){ .interfaces = dp->links.shown.items,
						 .n = dp->links.shown.n,
						 .problem = dp->problem.text };
	return &dp->attachment;
}

/* Pins and links stay, so packets are forwarded without this process (NFR-1.1). */
static void xdplb_stop(struct dataplane *dp)
{
	stop_watching(dp);
	close_set(dp);
	xdplb__links_close(&dp->links);
	xdplb__folder_unlock(&dp->folder);
	xdplb__run_free(&dp->run);
	xdplb__table_free(&dp->table);
	xdplb__counters_free(&dp->counters);
	vec_free(&dp->vlans.list);
	free(dp);
}

/* ---- without a start ---- */

#define NOTHING "%s: nothing to remove\n"

/* A folder that does not exist is as good as removed. */
static int unpin(const char *folder)
{
	int r = xdp_unpin(folder);

	return r == -ENOENT ? 0 : r;
}

/*
 * Links first: when they are gone, no packet uses the maps. The folder itself stays, because it may
 * be the operator's: a BPF file system cannot record who created it.
 */
static int remove_all(const struct xdplb_folder *f, struct buf *out)
{
	size_t before = out->n;
	bool any = access(f->maps, F_OK) == 0 || access(f->next, F_OK) == 0;
	int r = xdplb__links_remove(f->pin, out);

	any |= out->n > before;
	if (r >= 0)
		r = unpin(f->maps);
	if (r == 0)
		r = unpin(f->next);
	unlink(f->program);
	if (r < 0)
		buf_printf(out, "cannot remove the pins in %s: %s\n", f->pin, strerror(-r));
	else
		buf_printf(out, any ? "%s: its pins are removed, the folder stays\n" : NOTHING,
			   f->pin);
	return r;
}

/* The lock keeps the pins of a running maglevd from being removed. */
static int xdplb_remove(const struct l4_config *config, struct buf *out)
{
	struct xdplb_folder f;
	struct xdplb_why why = { 0 };
	int r;

	xdplb__folder_init(&f, config->xdp.pin);
	if (access(f.pin, F_OK) < 0 && errno == ENOENT) {
		buf_printf(out, NOTHING, f.pin);
		return 0;
	}
	r = xdplb__folder_lock(&f, &why);
	if (r < 0)
		buf_printf(out, "%s%s\n", why.text, r == -EBUSY ? ": stop it first" : "");
	else
		r = remove_all(&f, out);
	xdplb__folder_unlock(&f);
	return r;
}

const struct dataplane_driver dataplane_xdp = {
	.name = "xdp",
	.start = xdplb_start,
	.reconfigure = xdplb_reconfigure,
	.observe = xdplb_observe,
	.apply = xdplb_apply,
	.counters = xdplb_counters,
	.attachment = xdplb_attachment,
	.stop = xdplb_stop,
	.remove = xdplb_remove,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/speaker.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/frr/conf.h"
#include "lib/config/file.h"
#include "lib/log/log.h"
#include "lib/log/who.h"
#include "lib/loop/backoff.h"
#include "lib/vty/vty.h"
#include "src/speaker/drains.h"
#include "src/speaker/epoch.h"
#include "src/speaker/plan.h"

#define FIRST_WAIT 2. /* s that the first change waits for maglevds that do not answer */

static const struct backoff_policy adopt_policy = { .first = NSEC_PER_SEC / 2,
						    .last = NSEC_PER_SEC };

struct speaker {
	struct ev_loop *loop;
	const struct options *options;
	struct settings *settings;
	struct speaker_vip *vips;
	struct follow **follows;
	struct vty *bgpd; /* only for the question what it runs */
	struct backoff adopt_retry;
	bool uses_frr; /* there was a router since the start */
	bool adopted;  /* it is known what bgpd ran at the start */
	bool open;     /* changes may be made */
	char *problem;
	ev_timer first; /* while not open */
	ev_timer judge; /* when a VIP is due, or at once */
	struct reload *reload;
	struct sessions *sessions;
	struct l2 *l2;
	struct speaker_stats stats;
	char *mistake; /* of the last file, if it was refused; NULL: it was not */
	int64_t epoch; /* unix ns of the monotonic time 0 */
	void (*changed)(void *user);
	void *changed_user;
};

static void tell(struct speaker *s)
{
	if (s->changed)
		s->changed(s->changed_user);
}

/* ---- what FRR and the groups are told ---- */

static void apply(struct speaker *s)
{
	const struct bgp_config *c = &s->settings->config;
	_cleanup_(cleanup_free) enum announce_state *states =
		mem_zalloc((c->n_vips + 1) * sizeof(*states));
	_cleanup_(buf_free) struct buf text = { 0 };

	for (size_t i = 0; i < c->n_vips; i++)
		states[i] = s->vips[i].announce.state;
	l2_stand(s->l2, states);
	if (!s->adopted)
		return;
	plan_text(c, states, &text);
	reload_apply(s->reload, (struct str){ text.p, text.n });
}

/* ---- decisions ---- */

static void log_change(const struct speaker *s, const struct speaker_vip *v,
		       const struct announce_change *change)
{
	struct bgp_prefix prefix = bgp_vip_prefix(&s->settings->config, v->config);
	size_t culprit = v->announce.culprit;
	const struct bgp_source *by =
		culprit < v->config->n_sources ? &v->config->sources[culprit] : NULL;
	char text[BGP_PREFIX_STRLEN];

	log_info("vip-transition", LOG_S("vip", v->config->name),
		 LOG_S("prefix", bgp_prefix_format(&prefix, text)),
		 LOG_S("from", announce_state_name(change->from)),
		 LOG_S("to", announce_state_name(change->to)),
		 LOG_S("reason", announce_reason_name(v->announce.reason)),
		 LOG_S("maglevd", by ? follow_name(s->follows[by->maglevd]) : NULL),
		 LOG_S("frontend", by ? by->frontend : NULL));
}

static void judge_vip(struct speaker *s, struct speaker_vip *v, int64_t now)
{
	size_t n = v->config->n_sources;
	_cleanup_(cleanup_free) struct announce_source *sources =
		mem_zalloc((n + 1) * sizeof(*sources));
	struct announce_change change;

	for (size_t i = 0; i < n; i++) {
		const struct bgp_source *from = &v->config->sources[i];

		sources[i] = follow_source(s->follows[from->maglevd], from->frontend,
					   v->config->rule.min_servers);
	}
	if (!announce_judge(&v->announce, &v->config->rule, sources, n, now, &change))
		return;
	v->transitions++;
	log_change(s, v, &change);
}

static bool all_tried(const struct speaker *s)
{
	for (size_t i = 0; i < s->settings->config.n_maglevds; i++)
		if (!follow_tried(s->follows[i]))
			return false;
	return true;
}

/* What FRR announces already is not known yet. */
static bool waits_for_bgpd(const struct speaker *s, const struct bgp_vip *v)
{
	return !s->adopted && v->l2 == BGP_NONE;
}

/* Judges at once, or when the first VIP is due. */
static void judge_after(struct speaker *s, int64_t ns)
{
	ev_timer_stop(s->loop, &s->judge);
	ev_timer_set(&s->judge, ns > 0 ? loop_seconds(ns) : 0., 0.);
	ev_timer_start(s->loop, &s->judge);
}

static void judge_all(struct speaker *s)
{
	int64_t now = loop_monotonic(), due = 0;

	tell(s);
	if (!s->open && !all_tried(s))
		return;
	s->open = true;
	ev_timer_stop(s->loop, &s->first);
	for (size_t i = 0; i < s->settings->config.n_vips; i++) {
		struct speaker_vip *v = &s->vips[i];

		if (waits_for_bgpd(s, v->config))
			continue;
		judge_vip(s, v, now);
		if (v->announce.due && (!due || v->announce.due < due))
			due = v->announce.due;
	}
	apply(s);
	if (due)
		judge_after(s, due - now);
}

static void on_judge(struct ev_loop *loop, ev_timer *timer, int revents)
{
	judge_all(container_of(timer, struct speaker, judge));
}

static void on_first(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct speaker *s = container_of(timer, struct speaker, first);

	s->open = true;
	judge_all(s);
}

/* Many events in one turn of the loop are judged once. */
static void on_followed(void *user)
{
	judge_after(user, 0);
}

static void on_l2(void *user)
{
	tell(user);
}

/* ---- what FRR already announces ---- */

static void set_problem(struct speaker *s, const char *problem)
{
	if (problem && !cstr_eq(problem, s->problem))
		log_warn("bgpd-unreachable", LOG_S("reason", problem));
	free(s->problem);
	s->problem = problem ? mem_strdup(problem) : NULL;
	tell(s);
}

static size_t adopt_networks(struct speaker *s, const struct frr_conf *running)
{
	_cleanup_(map_free) struct map networks = { 0 };
	int64_t now = loop_monotonic();
	size_t adopted = 0;

	for (size_t i = 0; i < running->statements.n; i++)
		if (running->statements.items[i].kind == FRR_NETWORK)
			map_put(&networks, running->statements.items[i].key,
				&running->statements.items[i]);
	for (size_t i = 0; i < s->settings->config.n_vips; i++) {
		struct bgp_prefix prefix = bgp_vip_prefix(&s->settings->config, s->vips[i].config);
		bool on_bgp = s->vips[i].config->advertisement != BGP_NONE;
		char text[BGP_PREFIX_STRLEN], key[BGP_PREFIX_STRLEN + sizeof("network ")];

		snprintf(key, sizeof(key), "network %s", bgp_prefix_format(&prefix, text));
		if (!on_bgp || !map_get(&networks, key))
			continue;
		adopted++;
		if (!announce_is_sent(s->vips[i].announce.state))
			announce_adopt(&s->vips[i].announce, now);
	}
	return adopted;
}

static void on_running(const struct vty_answer *answer, void *user)
{
	struct speaker *s = user;
	struct frr_conf running;
	size_t n;

	if (answer->error < 0 || frr_conf_parse(answer->text, &running) < 0) {
		set_problem(s, answer->error < 0 ? answer->reason
						 : "the running configuration cannot be parsed");
		backoff_start(&s->adopt_retry);
		return;
	}
	n = adopt_networks(s, &running);
	frr_conf_free(&running);
	set_problem(s, NULL);
	s->adopted = true;
	log_info("adopted", LOG_U("vips", n));
	judge_after(s, 0);
}

static void ask_running(void *user)
{
	struct speaker *s = user;

	vty_ask(s->bgpd, STR("show running-config"), on_running, s);
}

static void use_frr(struct speaker *s)
{
	if (s->uses_frr)
		return;
	s->uses_frr = true;
	s->problem = mem_strdup("bgpd has not answered yet");
	sessions_start(s->sessions);
	backoff_now(&s->adopt_retry);
}

/* A new bgpd may have an old configuration, or none. */
static void on_bgpd_again(void *user)
{
	struct speaker *s = user;

	if (!s->adopted || !s->open)
		return;
	log_warn("bgpd-restarted");
	reload_repeat(s->reload);
}

static void on_reloaded(const struct reload_result *result, void *user)
{
	if (result->success)
		log_info("frr-applied", LOG_U("batch", result->batch),
			 LOG_T("duration", result->duration));
	else
		log_error("frr-refused", LOG_S("error", result->error),
			  LOG_T("duration", result->duration));
	tell(user);
}

/* ---- drains that survive a restart ---- */

static void set_reason(struct speaker_vip *v, const char *reason)
{
	size_t n = utf8_fitting(reason, strlen(reason), sizeof(v->drain_reason) - 1);

	memcpy(v->drain_reason, reason, n);
	v->drain_reason[n] = '\0';
}

/* Writes them all. The speaker goes on without: only a restart would show the difference. */
static void keep_drains(const struct speaker *s)
{
	size_t n_vips = s->settings->config.n_vips, n = 0;
	_cleanup_(cleanup_free) struct drain *list = mem_zalloc((n_vips + 1) * sizeof(*list));
	_cleanup_(buf_free) struct buf text = { 0 };
	int r;

	if (!*s->options->drain_file)
		return;
	for (size_t i = 0; i < n_vips; i++) {
		const struct speaker_vip *v = &s->vips[i];

		if (v->drained_at)
			list[n++] = (struct drain){ v->config->name, v->config->address,
						    v->drained_at, v->drain_reason, v->drain_who };
	}
	drains_format(list, n, &text);
	r = file_replace(s->options->drain_file, (struct str){ text.p, text.n });
	if (r < 0)
		log_error("drains-not-kept", LOG_S("file", s->options->drain_file),
			  LOG_S("error", strerror(-r)),
			  LOG_S("reason", "drains as they are now do not survive a restart"));
}

static void log_forgotten(const char *vip, const struct addr *address)
{
	char text[ADDR_STRLEN];

	log_warn("drain-forgotten", LOG_S("vip", vip), LOG_S("address", addr_format(address, text)),
		 LOG_S("reason", "no VIP of the file has this address"));
}

/* A time before the boot, or after now because the clock was set, is brought into the range. */
static int64_t monotonic_of(int64_t unix_ns)
{
	int64_t age = loop_realtime() - unix_ns, now = loop_monotonic();

	return age <= 0 ? now : age < now ? now - age : 1;
}

/* The keys are in the arena. */
static void index_vips(const struct speaker *s, struct map *by_address, struct arena *arena)
{
	char text[ADDR_STRLEN];

	for (size_t i = 0; i < s->settings->config.n_vips; i++)
		map_put(by_address,
			arena_strdup(arena, addr_format(&s->vips[i].config->address, text)),
			&s->vips[i]);
}

static void restore_drain(struct speaker_vip *v, const struct drain *d)
{
	announce_drain(&v->announce, monotonic_of(d->at));
	v->drained_at = d->at;
	v->drain_who = d->who;
	set_reason(v, d->reason);
}

/* Returns how many of them were of VIPs that are gone. */
static size_t restore_list(const struct speaker *s, const struct drain *list, size_t n)
{
	_cleanup_(map_free) struct map by_address = { 0 };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	char text[ADDR_STRLEN];
	size_t gone = 0;

	index_vips(s, &by_address, arena);
	for (size_t i = 0; i < n; i++) {
		struct speaker_vip *v = map_get(&by_address, addr_format(&list[i].address, text));

		if (v) {
			restore_drain(v, &list[i]);
			continue;
		}
		log_forgotten(list[i].vip, &list[i].address);
		gone++;
	}
	return gone;
}

/* A file that cannot be read is left alone until the next drain: it may be of use to people. */
static void restore_drains(struct speaker *s)
{
	const char *path = s->options->drain_file;
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct errs errors = { .arena = arena };
	const struct drain *list = NULL;
	size_t n = 0, gone;
	int r = *path ? file_read(path, DRAINS_FILE_MAX, &text) : -ENOENT;

	if (r == -ENOENT)
		return;
	if (r == 0)
		r = drains_parse((struct str){ text.p, text.n }, arena, &list, &n, &errors);
	if (r < 0) {
		log_error("drains-not-read", LOG_S("file", path),
			  LOG_U("line", errors.n ? errors.items[0].at.line : 0),
			  LOG_S("error", errors.n ? errors.items[0].text : strerror(-r)),
			  LOG_S("reason", "VIPs that were drained are announced again"));
		return;
	}
	gone = restore_list(s, list, n);
	log_info("drains-restored", LOG_S("file", path), LOG_U("vips", n - gone));
	if (gone)
		keep_drains(s);
}

/* ---- the configuration ---- */

/* VIPs keep their state. What is left of a drain in the old ones is of VIPs that are gone. */
static struct speaker_vip *make_vips(const struct speaker *s, const struct bgp_config *c)
{
	struct speaker_vip *vips = mem_zalloc((c->n_vips + 1) * sizeof(*vips));
	_cleanup_(map_free) struct map by_address = { 0 };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	char text[ADDR_STRLEN];

	if (s->settings)
		index_vips(s, &by_address, arena);
	for (size_t i = 0; i < c->n_vips; i++) {
		struct speaker_vip *was =
			map_get(&by_address, addr_format(&c->vips[i].address, text));

		if (was) {
			vips[i] = *was;
			was->drained_at = 0;
		}
		vips[i].config = &c->vips[i];
	}
	return vips;
}

/* Returns how many drains were of VIPs that are gone; call it after make_vips(). */
static size_t forget_drains(const struct speaker *s)
{
	size_t n = 0;

	for (size_t i = 0; s->settings && i < s->settings->config.n_vips; i++)
		if (s->vips[i].drained_at) {
			log_forgotten(s->vips[i].config->name, &s->vips[i].config->address);
			n++;
		}
	return n;
}

static struct follow *take_follow(struct speaker *s, const struct bgp_maglevd *m)
{
	size_t n = s->settings ? s->settings->config.n_maglevds : 0;

	for (size_t i = 0; i < n; i++)
		if (s->follows[i] && follow_is(s->follows[i], m))
			return TAKE_PTR(s->follows[i]);
	return follow_new(s->loop, &(struct follow_config){ m, on_followed, s });
}

static void free_follows(struct speaker *s)
{
	for (size_t i = 0; s->settings && i < s->settings->config.n_maglevds; i++)
		follow_free(s->follows[i]);
	free(s->follows);
}

static void use(struct speaker *s, struct settings *settings)
{
	const struct bgp_config *c = &settings->config;
	struct follow **follows = mem_zalloc((c->n_maglevds + 1) * sizeof(struct follow *));
	struct speaker_vip *vips = make_vips(s, c);
	size_t forgotten = forget_drains(s);

	for (size_t i = 0; i < c->n_maglevds; i++)
		follows[i] = take_follow(s, &c->maglevds[i]);
	free_follows(s);
	free(s->vips);
	s->follows = follows;
	s->vips = vips;
	sessions_configure(s->sessions, c);
	settings_free(s->settings);
	s->settings = settings;
	l2_configure(s->l2, c); /* last, because it tells the observer of VIPs that are released */
	s->stats.loaded_at = loop_realtime();
	if (c->asn)
		use_frr(s);
	if (forgotten)
		keep_drains(s);
}

void speaker_configure(struct speaker *s, struct settings *settings)
{
	s->stats.reloads++;
	free(TAKE_PTR(s->mistake));
	use(s, settings);
	tell(s);
	judge_after(s, 0);
}

void speaker_refuse(struct speaker *s, const char *mistake)
{
	s->stats.reload_errors++;
	free(s->mistake);
	s->mistake = mem_strdup(mistake);
	tell(s);
}

void speaker_renew(struct speaker *s)
{
	for (size_t i = 0; i < s->settings->config.n_maglevds; i++)
		follow_renew(s->follows[i]);
}

void speaker_leave(struct speaker *s)
{
	l2_leave(s->l2);
}

void speaker_drain(struct speaker *s, size_t vip, const char *reason, const struct who *who)
{
	struct speaker_vip *v = &s->vips[vip];
	char address[ADDR_STRLEN];

	set_reason(v, reason);
	v->drain_who = *who;
	if (!v->announce.drained_at) {
		announce_drain(&v->announce, loop_monotonic());
		v->drained_at = loop_realtime();
		log_info("vip-drained", LOG_S("vip", v->config->name),
			 LOG_S("reason", *v->drain_reason ? v->drain_reason : NULL),
			 LOG_WHO(who, address));
	}
	keep_drains(s);
	judge_all(s);
}

void speaker_undrain(struct speaker *s, size_t vip, const struct who *who)
{
	struct speaker_vip *v = &s->vips[vip];
	char address[ADDR_STRLEN];

	if (!v->announce.drained_at)
		return;
	announce_undrain(&v->announce);
	v->drained_at = 0;
	v->drain_reason[0] = '\0';
	v->drain_who = (struct who){ 0 };
	log_info("vip-undrained", LOG_S("vip", v->config->name), LOG_WHO(who, address));
	keep_drains(s);
	judge_all(s);
}

void speaker_observe(struct speaker *s, void (*changed)(void *user), void *user)
{
	s->changed = changed;
	s->changed_user = user;
}

/* ---- the door ---- */

struct speaker *speaker_new(struct ev_loop *loop, const struct options *options,
			    struct settings *settings)
{
	struct speaker *s = mem_zalloc(sizeof(*s));
	_cleanup_(buf_free) struct buf path = { 0 };

	buf_printf(&path, "%s/bgpd.vty", options->vty_dir);
	s->loop = loop;
	s->options = options;
	s->stats.started_at = loop_realtime();
	ev_timer_init(&s->first, on_first, FIRST_WAIT, 0.);
	ev_init(&s->judge, on_judge);
	s->reload = reload_new(
		loop, &(struct reload_config){
			      .file = options->frr_conf,
			      .socket = *options->reloader_socket ? options->reloader_socket : NULL,
			      .pid_file = options->reloader_pid,
			      .status_file = options->reloader_status,
			      .retry = options->retry,
			      .done = on_reloaded,
			      .user = s });
	s->sessions = sessions_new(loop, options->vty_dir, on_bgpd_again, s);
	s->bgpd = vty_new(loop, &(struct vty_config){ .path = buf_cstr(&path) });
	s->l2 = l2_new(loop, on_l2, s);
	backoff_init(&s->adopt_retry, loop, &adopt_policy, ask_running, s);
	use(s, settings);
	restore_drains(s);
	ev_timer_start(loop, &s->first);
	judge_after(s, 0);
	return s;
}

void speaker_free(struct speaker *s)
{
	if (!s)
		return;
	ev_timer_stop(s->loop, &s->first);
	ev_timer_stop(s->loop, &s->judge);
	backoff_stop(&s->adopt_retry);
	vty_free(s->bgpd);
	sessions_free(s->sessions);
	l2_free(s->l2);
	reload_free(s->reload);
	free_follows(s);
	free(s->vips);
	settings_free(s->settings);
	free(s->problem);
	free(s->mistake);
	free(s);
}

const char *speaker_name(const struct speaker *s)
{
	return s->settings->config.name;
}

uint64_t speaker_generation(const struct speaker *s)
{
	return 1 + s->stats.reloads;
}

const char *speaker_mistake(const struct speaker *s)
{
	return s->mistake ? s->mistake : "";
}

int64_t speaker_time(struct speaker *s, int64_t monotonic)
{
	return epoch_time(&s->epoch, monotonic);
}

const char *speaker_problem(const struct speaker *s)
{
	return s->problem;
}

const struct bgp_config *speaker_config(const struct speaker *s)
{
	return &s->settings->config;
}

const struct speaker_vip *speaker_vips(const struct speaker *s)
{
	return s->vips;
}

const struct follow *speaker_follow(const struct speaker *s, size_t maglevd)
{
	return s->follows[maglevd];
}

const struct l2 *speaker_l2(const struct speaker *s)
{
	return s->l2;
}

const struct sessions *speaker_sessions(const struct speaker *s)
{
	return s->sessions;
}

const struct reload *speaker_reload(const struct speaker *s)
{
	return s->reload;
}

const struct speaker_stats *speaker_stats(const struct speaker *s)
{
	return &s->stats;
}

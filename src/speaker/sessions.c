/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/cursor.h"
#include "lib/log/log.h"
#include "lib/vty/vty.h"

#define EVERY 1. /* s */
#define ANSWER_TIMEOUT (3 * NSEC_PER_SEC)

struct sessions {
	struct ev_loop *loop;
	struct vty *bgpd, *bfdd;
	const struct bgp_config *config;
	struct session *list;
	size_t n;
	char **names; /* of the peers, which survive a change of the configuration */
	char *problem;
	uint64_t connections; /* to bgpd, at the last answer */
	void (*again)(void *user);
	void *user;
	ev_timer timer;
};

static const char *const count_keys[SESSION_COUNTS] = {
	[SESSION_UPDATES_SENT] = "updatesSent",
	[SESSION_UPDATES_RECEIVED] = "updatesRecv",
	[SESSION_OPENS_SENT] = "opensSent",
	[SESSION_OPENS_RECEIVED] = "opensRecv",
	[SESSION_NOTIFICATIONS_SENT] = "notificationsSent",
	[SESSION_KEEPALIVES_SENT] = "keepalivesSent",
	[SESSION_KEEPALIVES_RECEIVED] = "keepalivesRecv",
	[SESSION_REFRESHES_SENT] = "routeRefreshSent",
	[SESSION_TOTAL_SENT] = "totalSent",
	[SESSION_TOTAL_RECEIVED] = "totalRecv",
};

/* ---- changes ---- */

static void set_up(struct sessions *s, size_t i, bool up)
{
	struct session *one = &s->list[i];

	if (one->up == up && one->since)
		return;
	if (up)
		log_info("session-up", LOG_S("peer", s->names[i]));
	else if (one->since)
		log_warn("session-down", LOG_S("peer", s->names[i]), LOG_S("state", one->state));
	one->up = up;
	one->since = loop_monotonic();
}

/* ---- bgpd ---- */

static uint64_t number(const struct json_node *node, const char *key)
{
	const struct json_node *value = json_find(node, key);
	uint64_t n = 0;

	if (value && value->kind == JSON_KIND_NUMBER)
		str_to_u64(json_text(value), UINT64_MAX, &n);
	return n;
}

static const char *text_of(const struct json_node *node, const char *key)
{
	const struct json_node *value = json_find(node, key);

	return value && value->kind == JSON_KIND_STRING ? value->text : "";
}

/* FRR's words, and those of the notification if there was one. */
static void read_error(struct session *one, const struct json_node *node)
{
	const char *why = text_of(node, "lastResetDueTo");
	const char *notification = text_of(node, "lastNotificationReason");

	snprintf(one->last_error, sizeof(one->last_error), "%s%s%s", why, *notification ? ": " : "",
		 notification);
}

static void read_session(struct sessions *s, size_t i, const struct json_node *node)
{
	const struct json_node *stats = json_find(node, "messageStats");
	const struct json_node *families = json_find(node, "addressFamilyInfo");
	struct session *one = &s->list[i];

	one->known = node != NULL;
	snprintf(one->state, sizeof(one->state), "%s", text_of(node, "bgpState"));
	for (size_t k = 0; k < SESSION_COUNTS; k++)
		one->counts[k] = number(stats, count_keys[k]);
	read_error(one, node);
	one->prefixes = 0;
	for (size_t k = 0; families && families->kind == JSON_KIND_OBJECT && k < families->n; k++)
		one->prefixes += number(&families->members[k].value, "sentPrefixCounter");
	set_up(s, i, strcmp(one->state, "Established") == 0);
}

/* As FRR names a peer: by its address or its interface. */
static const char *id_of(const struct bgp_peer *p, char text[static ADDR_STRLEN])
{
	return p->frr.interface ? p->frr.interface : addr_format(&p->frr.address, text);
}

static const char *vrf_of(const struct bgp_peer *p)
{
	return p->vrf ? p->vrf : "default";
}

static void read_sessions(struct sessions *s, const struct json_node *root)
{
	char text[ADDR_STRLEN];

	for (size_t i = 0; i < s->n; i++) {
		const struct bgp_peer *p = &s->config->peers[i];

		read_session(s, i, json_find(json_find(root, vrf_of(p)), id_of(p, text)));
	}
}

static void set_problem(struct sessions *s, const char *problem)
{
	free(s->problem);
	s->problem = mem_strdup(problem);
}

static void on_neighbors(const struct vty_answer *answer, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *root = NULL;
	struct sessions *s = user;
	uint64_t before = s->connections;

	if (answer->error == 0)
		json_parse(answer->text, NULL, arena, &root, &errors);
	set_problem(s, answer->error < 0 ? answer->reason
		       : root		 ? ""
					 : "bgpd's answer is not JSON");
	read_sessions(s, root);
	if (answer->error < 0)
		return;
	s->connections = vty_connections(s->bgpd);
	if (before && before != s->connections)
		s->again(s->user);
}

/* ---- bfdd ---- */

static bool is_bfd_of(const struct json_node *node, const struct bgp_peer *p)
{
	char text[ADDR_STRLEN];

	if (p->frr.interface)
		return strcmp(text_of(node, "interface"), p->frr.interface) == 0;
	return strcmp(text_of(node, "peer"), addr_format(&p->frr.address, text)) == 0 &&
	       strcmp(text_of(node, "vrf"), vrf_of(p)) == 0;
}

static void on_bfd(const struct vty_answer *answer, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *root = NULL;
	struct sessions *s = user;
	size_t n;

	if (answer->error == 0)
		json_parse(answer->text, NULL, arena, &root, &errors);
	n = root && root->kind == JSON_KIND_ARRAY ? root->n : 0;
	for (size_t i = 0; i < s->n; i++) {
		struct session *one = &s->list[i];

		one->bfd_known = one->bfd_up = false;
		for (size_t k = 0; k < n && !one->bfd_known; k++)
			if (is_bfd_of(&root->items[k], &s->config->peers[i])) {
				one->bfd_known = true;
				one->bfd_up = strcmp(text_of(&root->items[k], "status"), "up") == 0;
			}
	}
}

/* ---- the timer ---- */

static bool uses_bfd(const struct sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->config->peers[i].frr.bfd)
			return true;
	return false;
}

/* A daemon that is slow is not asked twice at once. */
static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct sessions *s = container_of(timer, struct sessions, timer);

	if (!vty_waiting(s->bgpd))
		vty_ask(s->bgpd, STR("show bgp vrf all neighbors json"), on_neighbors, s);
	if (!vty_waiting(s->bfdd) && uses_bfd(s))
		vty_ask(s->bfdd, STR("show bfd peers json"), on_bfd, s);
}

/* ---- the door ---- */

static struct vty *open_vty(struct ev_loop *loop, const char *folder, const char *name)
{
	_cleanup_(buf_free) struct buf path = { 0 };

	buf_printf(&path, "%s/%s.vty", folder, name);
	return vty_new(loop,
		       &(struct vty_config){ .path = buf_cstr(&path), .timeout = ANSWER_TIMEOUT });
}

struct sessions *sessions_new(struct ev_loop *loop, const char *vty_dir, void (*again)(void *user),
			      void *user)
{
	struct sessions *s = mem_zalloc(sizeof(*s));

	s->loop = loop;
	s->again = again;
	s->user = user;
	s->problem = mem_strdup("");
	s->bgpd = open_vty(loop, vty_dir, "bgpd");
	s->bfdd = open_vty(loop, vty_dir, "bfdd");
	ev_timer_init(&s->timer, on_timer, 0., EVERY);
	return s;
}

void sessions_start(struct sessions *s)
{
	set_problem(s, "bgpd has not answered yet");
	ev_timer_start(s->loop, &s->timer);
}

static void free_list(struct sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->names[i]);
	free(s->names);
	free(s->list);
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	ev_timer_stop(s->loop, &s->timer);
	vty_free(s->bgpd);
	vty_free(s->bfdd);
	free_list(s);
	free(s->problem);
	free(s);
}

void sessions_configure(struct sessions *s, const struct bgp_config *config)
{
	struct session *list = mem_zalloc((config->n_peers + 1) * sizeof(*list));
	char **names = mem_zalloc((config->n_peers + 1) * sizeof(*names));

	for (size_t i = 0; i < config->n_peers; i++) {
		names[i] = mem_strdup(config->peers[i].frr.name);
		for (size_t k = 0; k < s->n; k++)
			if (strcmp(s->names[k], names[i]) == 0)
				list[i] = s->list[k];
	}
	free_list(s);
	s->list = list;
	s->names = names;
	s->n = config->n_peers;
	s->config = config;
}

const struct session *sessions_list(const struct sessions *s)
{
	return s->list;
}

const char *sessions_problem(const struct sessions *s)
{
	return s->problem;
}

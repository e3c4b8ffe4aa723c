/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/answers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/json/tree.h"

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

static const char *const bfd_count_keys[SESSION_BFD_COUNTS] = {
	[SESSION_BFD_CONTROL_RECEIVED] = "control-packet-input",
	[SESSION_BFD_CONTROL_SENT] = "control-packet-output",
	[SESSION_BFD_ECHO_RECEIVED] = "echo-packet-input",
	[SESSION_BFD_ECHO_SENT] = "echo-packet-output",
	[SESSION_BFD_UPS] = "session-up",
	[SESSION_BFD_DOWNS] = "session-down",
	[SESSION_BFD_ZEBRA_NOTIFICATIONS] = "zebra-notifications",
};

/* ---- values ---- */

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

/* NULL if text is not JSON of this kind. */
static const struct json_node *parse(struct str text, enum json_kind kind, struct arena *arena)
{
	struct errs errors = { .arena = arena };
	const struct json_node *root;

	if (json_parse(text, NULL, arena, &root, &errors) < 0)
		return NULL;
	return root->kind == kind ? root : NULL;
}

static const char *vrf_of(const struct bgp_peer *p)
{
	return p->vrf ? p->vrf : "default";
}

/* ---- bgpd ---- */

/*
 * FRR's words, and those of the notification if there was one. A session that is up and was never
 * dropped has not ended: FRR's words ("Waiting for peer OPEN") are of the time before it was up.
 */
static void read_error(const struct json_node *node, struct session *one)
{
	const char *why = text_of(node, "lastResetDueTo");
	const char *notification = text_of(node, "lastNotificationReason");

	if (strcmp(one->state, SESSION_ESTABLISHED) == 0 && number(node, "connectionsDropped") == 0)
		why = notification = "";
	snprintf(one->last_error, sizeof(one->last_error), "%s%s%s", why, *notification ? ": " : "",
		 notification);
}

static void read_session(const struct json_node *node, struct session *one)
{
	const struct json_node *stats = json_find(node, "messageStats");
	const struct json_node *families = json_find(node, "addressFamilyInfo");

	one->known = node && node->kind == JSON_KIND_OBJECT;
	snprintf(one->state, sizeof(one->state), "%s", text_of(node, "bgpState"));
	for (size_t k = 0; k < SESSION_COUNTS; k++)
		one->counts[k] = number(stats, count_keys[k]);
	read_error(node, one);
	one->prefixes = 0;
	for (size_t k = 0; families && families->kind == JSON_KIND_OBJECT && k < families->n; k++)
		one->prefixes += number(&families->members[k].value, "sentPrefixCounter");
}

/* As FRR names a peer: by its address or its interface. */
static const char *id_of(const struct bgp_peer *p, char text[static ADDR_STRLEN])
{
	return p->frr.interface ? p->frr.interface : addr_format(&p->frr.address, text);
}

int answers_bgp(struct str text, const struct bgp_config *c, struct session *list)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct json_node *root = parse(text, JSON_KIND_OBJECT, arena);
	char id[ADDR_STRLEN];

	assert(c && (list || !c->n_peers));
	for (size_t i = 0; i < c->n_peers; i++) {
		const struct bgp_peer *p = &c->peers[i];

		read_session(json_find(json_find(root, vrf_of(p)), id_of(p, id)), &list[i]);
	}
	return root ? 0 : -EINVAL;
}

/* ---- bfdd ---- */

/* Numbered sessions also have an interface; an unnumbered one is that of a link-local address. */
static bool is_bfd_of(const struct json_node *node, const struct bgp_peer *p)
{
	const char *peer = text_of(node, "peer");
	char text[ADDR_STRLEN];

	if (p->frr.interface)
		return strcmp(text_of(node, "interface"), p->frr.interface) == 0 &&
		       str_starts(str_of(peer), STR("fe80:"));
	return strcmp(peer, addr_format(&p->frr.address, text)) == 0 &&
	       strcmp(text_of(node, "vrf"), vrf_of(p)) == 0;
}

/* The first entry about a peer; NULL if there is none. */
static const struct json_node *find_bfd(const struct json_node *root, const struct bgp_peer *p)
{
	for (size_t i = 0; root && i < root->n; i++)
		if (is_bfd_of(&root->items[i], p))
			return &root->items[i];
	return NULL;
}

/* bfdd says "up" where bgpd says "Up"; statuses have bgpd's form. */
static void set_bfd_state(struct session *one, const char *word)
{
	snprintf(one->bfd_state, sizeof(one->bfd_state), "%s", word);
	if (*word >= 'a' && *word <= 'z')
		one->bfd_state[0] = (char)(*word - 'a' + 'A');
}

int answers_bfd(struct str text, const struct bgp_config *c, struct session *list)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct json_node *root = parse(text, JSON_KIND_ARRAY, arena);

	assert(c && (list || !c->n_peers));
	for (size_t i = 0; i < c->n_peers; i++) {
		const struct json_node *node = find_bfd(root, &c->peers[i]);

		list[i].bfd_known = node != NULL;
		list[i].bfd_up = strcmp(text_of(node, "status"), "up") == 0;
		set_bfd_state(&list[i], text_of(node, "status"));
	}
	return root ? 0 : -EINVAL;
}

int answers_bfd_counters(struct str text, const struct bgp_config *c, struct session *list)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct json_node *root = parse(text, JSON_KIND_ARRAY, arena);

	assert(c && (list || !c->n_peers));
	for (size_t i = 0; i < c->n_peers; i++) {
		const struct json_node *node = find_bfd(root, &c->peers[i]);

		for (size_t k = 0; k < SESSION_BFD_COUNTS; k++)
			list[i].bfd_counts[k] = number(node, bfd_count_keys[k]);
	}
	return root ? 0 : -EINVAL;
}

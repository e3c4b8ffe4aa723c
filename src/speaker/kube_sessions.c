/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_sessions: the BGP and BFD sessions of the node, and the result of its configuration, as
 * objects that people can read.
 *
 * FRR is asked each second (sessions.h), but statuses are compared only every --status-interval, so
 * that a session that flaps costs the API server a write in that time and not more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/json/json.h"
#include "lib/k8s/rfc3339.h"
#include "src/speaker/kube_state.h"

#define NO_BFD "N/A"
#define UNKNOWN "Unknown" /* bgpd does not answer, or does not have the peer yet */

void kube__json(struct buf *out, const char *text)
{
	json_write_string(out, text, strlen(text));
}

void kube__own_by_node(struct kube *k, struct buf *out)
{
	const struct k8s_object *node =
		k8s_cache_get(operator_cache(k->op, KUBE_NODES), "", k->node);

	if (node)
		buf_printf(out,
			   "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%s\","
			   "\"uid\":\"%s\"}",
			   k->node, node->uid);
}

static void wish(struct kube *k, enum kube_kind kind, const char *key, const char *name,
		 const char *labels, const char *status)
{
	_cleanup_(buf_free) struct buf owner = { 0 };

	kube__own_by_node(k, &owner);
	kube_status_wish(k->status, kind, key,
			 &(struct kube_wish){ .namespace = operator_namespace(k->op),
					      .name = name,
					      .labels = labels,
					      .owner = owner.n ? buf_cstr(&owner) : NULL,
					      .status = status });
}

/* ---- sessions ---- */

/* A value of a label has no colons, so an IPv6 address is written in full, with dashes. */
static void add_label_address(struct buf *out, const struct bgp_peer *p)
{
	char text[ADDR_STRLEN];

	if (p->frr.interface)
		buf_adds(out, p->frr.interface);
	else if (p->frr.address.family == AF_INET)
		buf_adds(out, addr_format(&p->frr.address, text));
	else
		for (size_t i = 0; i < 16; i += 2)
			buf_printf(out, "%s%02x%02x", i ? "-" : "", p->frr.address.bytes[i],
				   p->frr.address.bytes[i + 1]);
}

static const char *id_of(const struct bgp_peer *p, char text[static ADDR_STRLEN])
{
	return p->frr.interface ? p->frr.interface : addr_format(&p->frr.address, text);
}

static void add_states(struct buf *out, const struct bgp_peer *p, const struct session *s)
{
	const char *bfd = !p->frr.bfd ? NO_BFD : *s->bfd_state ? s->bfd_state : "Down";

	buf_adds(out, "{\"bfdStatus\":");
	kube__json(out, bfd);
	buf_adds(out, ",\"bgpStatus\":");
	kube__json(out, *s->state ? s->state : UNKNOWN);
}

/* The one of the BGPPeer. */
static void wish_status(struct kube *k, const struct bgp_peer *p, const struct session *s)
{
	_cleanup_(buf_free) struct buf labels = { 0 }, status = { 0 }, name = { 0 };
	char peer[KUBE_LABEL_SIZE];

	buf_printf(&name, "%s-%s", k->node, p->frr.name);
	buf_printf(&labels, "\"" KUBE_LABEL_NODE "\":\"%s\",\"" KUBE_LABEL_PEER "\":\"%s\"",
		   k->label, kube_label(p->frr.name, peer));
	add_states(&status, p, s);
	buf_adds(&status, ",\"message\":");
	kube__json(&status, s->up ? "" : *s->state ? s->last_error : sessions_problem(k->sessions));
	buf_adds(&status, ",\"node\":");
	kube__json(&status, k->node);
	buf_adds(&status, ",\"peer\":");
	kube__json(&status, p->frr.name);
	buf_adds(&status, ",\"vrf\":");
	kube__json(&status, p->vrf ? p->vrf : "");
	buf_adds(&status, "}");
	wish(k, KUBE_SESSION_STATUS, peer, buf_cstr(&name), buf_cstr(&labels), buf_cstr(&status));
}

/* The one of the neighbour, as frr-k8s writes it. */
static void wish_state(struct kube *k, const struct bgp_peer *p, const struct session *s)
{
	_cleanup_(buf_free) struct buf labels = { 0 }, status = { 0 }, name = { 0 }, key = { 0 },
				       address = { 0 };
	const char *vrf = p->vrf ? p->vrf : "";
	char text[ADDR_STRLEN], peer[KUBE_LABEL_SIZE], vrf_label[KUBE_LABEL_SIZE];

	add_label_address(&address, p);
	kube_label(buf_cstr(&address), peer);
	kube_label(vrf, vrf_label);
	buf_printf(&key, "%s/%s", peer, vrf_label);
	buf_printf(&name, "%s-%s%s%s", k->node, address.p, *vrf ? "-" : "", vrf);
	buf_printf(&labels,
		   "\"" KUBE_LABEL_FRR_NODE "\":\"%s\",\"" KUBE_LABEL_FRR_PEER
		   "\":\"%s\",\"" KUBE_LABEL_FRR_VRF "\":\"%s\"",
		   k->label, peer, vrf_label);
	add_states(&status, p, s);
	buf_adds(&status, ",\"node\":");
	kube__json(&status, k->node);
	buf_adds(&status, ",\"peer\":");
	kube__json(&status, id_of(p, text));
	buf_adds(&status, ",\"vrf\":");
	kube__json(&status, vrf);
	buf_adds(&status, "}");
	wish(k, KUBE_SESSION_STATE, buf_cstr(&key), buf_cstr(&name), buf_cstr(&labels),
	     buf_cstr(&status));
}

void kube__publish(struct kube *k)
{
	const struct bgp_config *c;

	if (!k->config || !operator_is_active(k->op) ||
	    (k->sessions_started && !sessions_asked(k->sessions)))
		return;
	c = &k->config->frr;
	kube_status_begin(k->status, KUBE_SESSION_STATUS);
	kube_status_begin(k->status, KUBE_SESSION_STATE);
	for (size_t i = 0; i < c->n_peers; i++) {
		const struct session *s = &sessions_list(k->sessions)[i];

		wish_status(k, &c->peers[i], s);
		wish_state(k, &c->peers[i], s);
	}
	kube_status_end(k->status, KUBE_SESSION_STATUS);
	kube_status_end(k->status, KUBE_SESSION_STATE);
	kube_status_complete(k->status, KUBE_SESSION_STATUS);
	kube_status_complete(k->status, KUBE_SESSION_STATE);
}

/* ---- the configuration ---- */

static void add_condition(struct buf *out, const struct kube *k)
{
	char now[K8S_MICRO_TIME];

	k8s_micro_time(loop_realtime(), now);
	buf_adds(out, "[{\"lastTransitionTime\":\"");
	buf_add(out, now, strlen("2026-11-17T12:00:00"));
	buf_printf(out, "Z\",\"message\":");
	kube__json(out, k->mistake ? k->mistake : "");
	buf_printf(out, ",\"reason\":\"%s\",\"status\":\"%s\",\"type\":\"configReconcilerValid\"}]",
		   k->mistake ? "ConfigurationError" : "Reconciled", k->mistake ? "False" : "True");
}

void kube__publish_config(struct kube *k)
{
	_cleanup_(buf_free) struct buf labels = { 0 }, status = { 0 }, name = { 0 };

	buf_printf(&name, "speaker-%s", k->node);
	buf_printf(&labels,
		   "\"" KUBE_LABEL_COMPONENT "\":\"speaker\",\"" KUBE_LABEL_NODE_NAME "\":\"%s\"",
		   k->label);
	buf_adds(&status, "{\"conditions\":");
	add_condition(&status, k);
	buf_adds(&status, ",\"errorSummary\":");
	kube__json(&status, k->mistake ? k->mistake : "");
	buf_printf(&status, ",\"result\":\"%s\"}", k->mistake ? "Invalid" : "Valid");
	wish(k, KUBE_CONFIGURATION, "speaker", buf_cstr(&name), buf_cstr(&labels),
	     buf_cstr(&status));
	kube_status_complete(k->status, KUBE_CONFIGURATION);
}

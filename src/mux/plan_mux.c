/* SPDX-License-Identifier: Apache-2.0 */
/* plan_mux: whether a Service is a mux, what it allows, and whether its state can be trusted. */
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "src/mux/plan_private.h"

#define GKE_LIMIT 100

static enum mux_condition condition(struct mux_work *w, enum mux_condition c, const char *reason,
				    const char *message)
{
	w->view->reason = reason;
	w->view->message = message;
	mux__complain(w, w->facts->mux, reason, message);
	return c;
}

static enum mux_condition freeze(struct mux_work *w, const char *reason, const char *message)
{
	return condition(w, MUX_FROZEN, reason, arena_strdup(w->keep, message));
}

static bool is_gke(const struct mux_service *mux)
{
	static const char *const keys[] = { MUX_NOTE_GKE_RBS, MUX_NOTE_GKE_TYPE,
					    MUX_NOTE_GKE_ADDRESSES };

	if (mux->class && str_starts(str_of(mux->class), STR("networking.gke.io/")))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (k8s_map_get(&mux->annotations, keys[i]))
			return true;
	return false;
}

/* The limit that applies, and what GKE has to do with it. */
static void set_limit(struct mux_work *w, unsigned configured)
{
	const struct mux_service *mux = w->facts->mux;
	const char *prefix = w->settings->prefix;

	w->view->gke = is_gke(mux);
	if (w->view->gke && !configured)
		mux__complain(
			w, mux, "GkePortLimitApplied",
			mux__printf(w,
				    "Detected a GKE LoadBalancer mux without %s/max-ports; "
				    "applying the GKE Service LoadBalancer limit of 100 ports",
				    prefix));
	if (w->view->gke && configured > GKE_LIMIT)
		mux__complain(w, mux, "GkePortLimitApplied",
			      mux__printf(w,
					  "Detected a GKE LoadBalancer mux with %s/max-ports=%u; "
					  "using the GKE Service LoadBalancer limit of 100 ports",
					  prefix, configured));
	if (w->view->gke && (!configured || configured > GKE_LIMIT))
		configured = GKE_LIMIT;
	w->view->max_ports = configured;
	w->limit = configured && configured < MUX_PORTS_MAX ? configured : MUX_PORTS_MAX;
}

/* What the mux says; an error that does not stop the pass is only a complaint. */
static void read_ranges(struct mux_work *w)
{
	const struct mux_service *mux = w->facts->mux;
	const char *range = mux_note(w->settings, &mux->annotations, "port-range");
	const char *grace = mux_note(w->settings, &mux->annotations, "release-grace");
	const char *why;

	if (mux_parse_port_range(w->settings->prefix, range, w->keep, &w->ranges, &why) < 0) {
		w->range_invalid = true;
		mux__complain(w, mux, "InvalidPortRange", why);
	}
	if (mux_parse_release_grace(w->settings->prefix, grace, w->keep, &w->grace, &why) < 0) {
		w->grace = -1;
		mux__complain(w, mux, "InvalidReleaseGrace", why);
	}
}

static bool is_object_name(const char *name)
{
	struct str rest = str_of(name), part;
	size_t n = 0;

	for (; str_cut(&rest, '.', &part); n++)
		if (!mux_is_label(part))
			return false;
	return n && strlen(name) <= 253;
}

/* NULL if the ConfigMap is this mux's. */
static const char *state_problem(struct mux_work *w)
{
	const struct mux_facts *f = w->facts;
	const char *self = mux__printf(w, "%s/%s", f->namespace, f->name), *owner;
	const struct mux_state *s = f->state;

	if (!is_object_name(w->view->state_name))
		return mux__printf(w, "Invalid %s/allocation-configmap '%s'; expected a name",
				   w->settings->prefix, err_shown(w->view->state_name, w->keep));
	if (!f->config_map)
		return NULL;
	owner = mux_note(w->settings, &f->config_map->annotations, "mux");
	if (owner && strcmp(owner, self) != 0)
		return mux__printf(w,
				   "Mux state ConfigMap %s/%s is owned by mux %s; expected %s. Use "
				   "one state ConfigMap per mux.",
				   f->namespace, w->view->state_name, err_shown(owner, w->keep),
				   self);
	if (!s)
		return mux__printf(w, "Invalid mux state ConfigMap JSON: %s",
				   f->state_error ? f->state_error : "not known");
	if ((s->namespace && strcmp(s->namespace, f->namespace) != 0) ||
	    (s->name && strcmp(s->name, f->name) != 0))
		return mux__printf(w,
				   "Mux state ConfigMap %s/%s contains state for mux %s/%s; "
				   "expected %s. Use one state ConfigMap per mux.",
				   f->namespace, w->view->state_name,
				   err_shown(s->namespace ? s->namespace : "", w->keep),
				   err_shown(s->name ? s->name : "", w->keep), self);
	return NULL;
}

/* Errors that make the mux stay as it is. */
static enum mux_condition judge_settings(struct mux_work *w)
{
	const struct mux_service *mux = w->facts->mux;
	const char *max = mux_note(w->settings, &mux->annotations, "max-ports");
	const char *allowed = mux_note(w->settings, &mux->annotations, "allowed-namespaces");
	struct mux_admits admits;
	const char *why = state_problem(w);
	unsigned configured;

	if (why)
		return freeze(w, "PortAllocationStoreInvalid", why);
	if (mux_parse_max_ports(w->settings->prefix, max, w->keep, &configured, &why) < 0)
		return freeze(w, "InvalidMaxPorts", why);
	if (mux_parse_allowed_namespaces(w->settings->prefix, allowed, w->keep, &admits, &why) < 0)
		return freeze(w, "InvalidAllowedNamespaces", why);
	set_limit(w, configured);
	read_ranges(w);
	return MUX_ACTIVE;
}

/* As written, also of a mux that is frozen. */
static const char *shown_range(const struct mux_work *w)
{
	const char *range = mux_note(w->settings, &w->facts->mux->annotations, "port-range");

	return range ? arena_strdup(w->keep, range) : NULL;
}

enum mux_condition mux__judge_mux(struct mux_work *w)
{
	const struct mux_service *mux = w->facts->mux;

	if (!mux || mux->object.deleting == K8S_YES ||
	    !mux_note_is_true(w->settings, mux, "multiplexer"))
		return MUX_MISSING;
	w->view->state_name = mux_state_name(w->settings, mux, w->keep);
	w->view->port_range = shown_range(w);
	if (!cstr_eq(mux->type, "LoadBalancer"))
		return condition(w, MUX_INVALID, "NotLoadBalancer",
				 "Multiplexer service has to be of type LoadBalancer");
	if (mux->selector == K8S_YES)
		return condition(w, MUX_INVALID, "NotSupported",
				 "Multiplexer service with selectors are not supported");
	if (mux_class_is_ours(w->settings, mux->class))
		return condition(w, MUX_INVALID, "NotSupported",
				 "Multiplexer service as a channel of another one is not "
				 "supported");
	if (mux_note_is_true(w->settings, mux, "disabled"))
		return MUX_PAUSED;
	return judge_settings(w);
}

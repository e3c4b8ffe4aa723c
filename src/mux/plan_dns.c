/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_dns: annotations of external-dns that a mux collects from its channels.
 *
 * A key that the mux has and that is not in our marker belongs to its user, and is left alone. The
 * marker <prefix>/aggregated-external-dns lists the keys that are ours.
 */
#include <string.h>

#include "base/map.h"
#include "src/mux/plan_private.h"

#define HOSTNAMES_MAX 65536 /* bytes; all annotations of an object together have 256 KiB */

struct dns_key {
	const char *key;   /* on the mux */
	const char *from;  /* on channels */
	const char *value; /* that channels want; NULL: none */
};

static bool is_listed(const char *marker, const char *key)
{
	struct str rest = str_of(marker ? marker : ""), item;

	while (str_cut(&rest, ',', &item))
		if (str_eq(str_trim(item), str_of(key)))
			return true;
	return false;
}

/* Channels that are refused have a say, too; those that may not join, or are disabled, do not. */
static bool counts(const struct mux_entrant *e)
{
	return !e->outlaw && e->shown->fate != MUX_DISABLED;
}

static void add_hostnames(struct mux_work *w, const struct mux_entrant *e, struct map *seen,
			  struct buf *out)
{
	struct str rest = str_of(e->shown->hostname), item;
	bool full = false;

	while (str_cut(&rest, ',', &item)) {
		const char *name;

		item = str_trim(item);
		name = arena_strndup(w->scratch, item.p, item.n);
		if (!item.n || map_get(seen, name))
			continue;
		if (out->n + item.n + 1 > HOSTNAMES_MAX) {
			full = true;
			continue;
		}
		map_put(seen, name, seen);
		if (out->n)
			buf_addc(out, ',');
		buf_add(out, item.p, item.n);
	}
	if (full)
		mux__complain(w, e->service, "MuxExternalDnsAnnotationConflict",
			      mux__printf(w, "the hostnames of mux %s/%s exceed %d bytes",
					  w->facts->namespace, w->facts->name, HOSTNAMES_MAX));
}

static const char *union_of_hostnames(struct mux_work *w)
{
	struct map seen = { 0 };
	struct buf out = { 0 };
	const char *text;

	for (size_t i = 0; i < w->n_entrants; i++)
		if (w->entrants[i].shown->hostname && counts(&w->entrants[i]))
			add_hostnames(w, &w->entrants[i], &seen, &out);
	text = out.n ? arena_strndup(w->keep, out.p, out.n) : NULL;
	buf_free(&out);
	map_free(&seen);
	return text;
}

/* "true", "false", or NULL if the channel does not say. */
static const char *proxied_of(const struct mux_service *s)
{
	const char *text = k8s_map_get(&s->annotations, MUX_NOTE_DNS_PROXIED);
	struct str t = str_trim(str_of(text ? text : ""));

	return str_ieq(t, STR("true")) ? "true" : str_ieq(t, STR("false")) ? "false" : NULL;
}

static const char *all_proxied(const struct mux_work *w)
{
	const char *all = NULL, *one;

	for (size_t i = 0; i < w->n_entrants; i++) {
		one = counts(&w->entrants[i]) ? proxied_of(w->entrants[i].service) : NULL;
		if (one && (!all || *one == 'f'))
			all = one;
	}
	return all;
}

/* Each channel that wants a key which the user of the mux owns. */
static void complain_all(struct mux_work *w, const struct dns_key *k, bool hostname)
{
	for (size_t i = 0; i < w->n_entrants; i++) {
		const struct mux_entrant *e = &w->entrants[i];

		if (!counts(e) || !(hostname ? e->shown->hostname : proxied_of(e->service)))
			continue;
		mux__complain(w, e->service, "MuxExternalDnsAnnotationConflict",
			      mux__printf(w,
					  "channel annotation %s cannot be aggregated because mux "
					  "%s/%s already owns %s",
					  k->from, w->facts->namespace, w->facts->name, k->key));
	}
}

void mux__aggregate_dns(struct mux_work *w)
{
	const struct k8s_list *notes = &w->facts->mux->annotations;
	const char *marker = mux_note(w->settings, notes, "aggregated-external-dns");
	const struct dns_key keys[] = {
		{ MUX_NOTE_DNS_HOSTNAME, mux_key(w->settings, "external-dns-hostname", w->keep),
		  union_of_hostnames(w) },
		{ MUX_NOTE_DNS_PROXIED, MUX_NOTE_DNS_PROXIED, all_proxied(w) },
	};
	struct k8s_pair *pairs = arena_array_of(w->keep, 3, struct k8s_pair);
	const char *owned = NULL;
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct dns_key *k = &keys[i];
		bool ours = is_listed(marker, k->key);

		if (k->value && k8s_map_get(notes, k->key) && !ours) {
			complain_all(w, k, i == 0);
			continue;
		}
		if (k->value || ours)
			pairs[n++] = (struct k8s_pair){ k->key, k->value };
		if (k->value)
			owned = owned ? mux__printf(w, "%s,%s", owned, k->key) : k->key;
	}
	pairs[n++] = (struct k8s_pair){ mux_key(w->settings, "aggregated-external-dns", w->keep),
					owned };
	w->view->private->dns = pairs;
	w->view->private->n_dns = n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random clusters, random changes, and crashes between any two writes. What must hold:
 *
 *	1. After a pass that was not disturbed, the next one writes nothing.
 *	2. A change of one channel, a lost state, a mux whose ports were reset, a restart: all
 *	   others that were served are served with the same numbers, and nobody gets a number
 *	   that is kept for a channel.
 *	3. A change of the mux: a number goes from one port to another only if the first may not
 *	   join any more, or is automatic and outside of the range.
 *	4. A frozen or paused mux keeps its ports.
 *	5. Ports of the mux are unique and within the limit; every one that is new was claimed
 *	   before.
 *
 * MUX_SEEDS sets the number of clusters; a failure names its seed, and MUX_SEED runs only that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "src/mux/notes.h"
#include "src/mux/testkit.h"

#define MUX "svc-mux/mux"
#define STATE "svc-mux/mux-port-allocations"
#define CHANNELS 8
#define STEPS 50

static const char *const names[CHANNELS] = { "a/a", "a/b", "a/c", "b/a",
					     "b/b", "b/c", "c/x", "svc-mux/y" };

/* A port on the mux after a step that was completed. */
struct held {
	const char *channel; /* of names[] */
	char port[16];
	enum mux_protocol protocol;
	uint16_t number;
	bool automatic;
	bool kept; /* not on the mux, but kept for a channel that is not served */
};

struct world {
	struct test_cluster *c;
	uint64_t random;
	struct held before[256];
	size_t n_before;
	char ports[2048]; /* of the mux */
	char *good_state; /* while the stored one is broken */
	int64_t now;
};

enum touch { TOUCH_NOTHING, TOUCH_CHANNEL, TOUCH_MUX, TOUCH_REPAIR };

struct change {
	enum touch touch;
	const char *channel;
	char text[200];
};

static unsigned below(struct world *w, unsigned n)
{
	return (unsigned)(random_next(&w->random) % n);
}

#define PICK(w, list) ((list)[below((w), ARRAY_SIZE(list))])

/* ---- changes ---- */

static void make_channel(struct world *w, const char *name, struct change *ret)
{
	static const char *const ports[] = {
		"http:20",
		"http:21",
		"http:22 grpc:23",
		"http:20 dns:20/UDP",
		"web:80",
		"web:80 grpc:90",
		"-:80",
		"http:20/UDP",
		"http:24 grpc:20",
		"a:80 b:81 c:82",
	};
	static const char *const notes[] = {
		NULL,
		NULL,
		"'external-ports':'http:auto'",
		"'external-ports':'web:auto'",
		"'external-ports':'web:auto,grpc:auto'",
		"'external-ports':'web:22'",
		"'external-ports':'web:20,grpc:21'",
		"'external-ports':'broken'",
		"'external-ports':'a:auto,b:auto,c:auto'",
		"'disabled':'true'",
	};
	const char *p = PICK(w, ports), *n = PICK(w, notes);

	snprintf(ret->text, sizeof(ret->text), "put %s %s %s", name, p, n ? n : "");
	test_channel(w->c, name, p, n);
}

static void edit_channel(struct world *w, const char *name, struct change *ret)
{
	static const char *const values[] = { "http:20",  "http:21",	    "http:auto",
					      "web:auto", "web:24",	    "broken",
					      "",	  "web:21,grpc:22", "grpc:auto" };
	const char *value = PICK(w, values);

	snprintf(ret->text, sizeof(ret->text), "edit %s %s", name, value);
	test_note(w->c, name, "external-ports", value);
}

static void change_channel(struct world *w, struct change *ret)
{
	const char *name = PICK(w, names);
	unsigned what = below(w, 6);

	ret->touch = TOUCH_CHANNEL;
	ret->channel = name;
	if (!test_exists(w->c, TEST_SERVICE, name) || what == 0) {
		make_channel(w, name, ret);
	} else if (what <= 2) {
		edit_channel(w, name, ret);
	} else if (what == 3) {
		snprintf(ret->text, sizeof(ret->text), "disable %s", name);
		test_note(w->c, name, "disabled", below(w, 2) ? "true" : NULL);
	} else {
		snprintf(ret->text, sizeof(ret->text), "delete %s", name);
		test_delete(w->c, TEST_SERVICE, name);
	}
}

static void change_mux(struct world *w, struct change *ret)
{
	static const struct {
		const char *key, *value;
	} notes[] = {
		{ "port-range", "20-24" },
		{ "port-range", "20-30" },
		{ "port-range", "22,20,24-26" },
		{ "port-range", "nonsense" },
		{ "port-range", NULL },
		{ "max-ports", "4" },
		{ "max-ports", "7" },
		{ "max-ports", "x" },
		{ "max-ports", NULL },
		{ "max-ports", NULL },
		{ "release-grace", "10m" },
		{ "release-grace", NULL },
		{ "allowed-namespaces", "a, b" },
		{ "allowed-namespaces", "a" },
		{ "allowed-namespaces", NULL },
		{ "disabled", "true" },
		{ "disabled", NULL },
		{ "disabled", NULL },
		{ "cloud.google.com/l4-rbs", "" },
		{ "cloud.google.com/l4-rbs", NULL },
	};
	size_t i = below(w, ARRAY_SIZE(notes));

	ret->touch = TOUCH_MUX;
	snprintf(ret->text, sizeof(ret->text), "mux %s=%s", notes[i].key,
		 notes[i].value ? notes[i].value : "(none)");
	test_note(w->c, MUX, notes[i].key, notes[i].value);
}

static void break_state(struct world *w, struct change *ret)
{
	if (!test_exists(w->c, TEST_CONFIG_MAP, STATE) || w->good_state)
		return;
	snprintf(ret->text, sizeof(ret->text), "state is broken");
	w->good_state = mem_strdup(test_get(w->c, TEST_CONFIG_MAP, STATE, "data|allocations.json"));
	test_patch(w->c, TEST_CONFIG_MAP, STATE, "{'data':{'allocations.json':'{'}}");
}

static void repair_state(struct world *w, struct change *ret)
{
	struct buf text = { 0 };

	if (!w->good_state)
		return;
	snprintf(ret->text, sizeof(ret->text), "state is repaired");
	ret->touch = TOUCH_REPAIR;
	for (const char *p = w->good_state; *p; p++)
		if (*p == '"')
			buf_add_lit(&text, "\\'");
		else if (*p != '\n')
			buf_addc(&text, *p);
	test_patch(w->c, TEST_CONFIG_MAP, STATE, "{'data':{'allocations.json':'%s'}}",
		   buf_cstr(&text));
	buf_free(&text);
	free(w->good_state);
	w->good_state = NULL;
}

/* What is kept for channels that are not served is known to the state only. */
static void forget_kept(struct world *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_before; i++)
		if (!w->before[i].kept)
			w->before[n++] = w->before[i];
	w->n_before = n;
}

/* The ports of the mux are then the only evidence. */
static void lose_annotations(struct world *w)
{
	if (below(w, 2) || test_view(w->c)->condition != MUX_ACTIVE)
		return;
	for (size_t i = 0; i < CHANNELS; i++)
		if (test_exists(w->c, TEST_SERVICE, names[i]))
			test_note(w->c, names[i], "ports", NULL);
}

/* What happens to a cluster without anybody wishing another port. */
static void disturb(struct world *w, struct change *ret)
{
	const char *name = PICK(w, names);
	char slice[64];

	snprintf(slice, sizeof(slice), "%s-x", name);
	switch (below(w, 6)) {
	case 0:
		if (!w->good_state && test_exists(w->c, TEST_CONFIG_MAP, STATE)) {
			snprintf(ret->text, sizeof(ret->text), "state is lost");
			test_delete(w->c, TEST_CONFIG_MAP, STATE);
			forget_kept(w);
			lose_annotations(w);
		}
		break;
	case 1:
		/* with a broken or paused state, these ports are all there is */
		if (test_view(w->c) && test_view(w->c)->condition == MUX_ACTIVE) {
			snprintf(ret->text, sizeof(ret->text), "ports of the mux are reset");
			test_patch(w->c, TEST_SERVICE, MUX,
				   "{'spec':{'ports':[{'name':'placeholder','port':101,"
				   "'protocol':'TCP'}]}}");
		}
		break;
	case 2:
		snprintf(ret->text, sizeof(ret->text), "annotation of %s is lost", name);
		if (test_exists(w->c, TEST_SERVICE, name))
			test_note(w->c, name, "ports", NULL);
		break;
	case 3:
		snprintf(ret->text, sizeof(ret->text), "time passes");
		test_set_time(w->c, w->now += 7 * 60 * NSEC_PER_SEC);
		break;
	case 4:
		snprintf(ret->text, sizeof(ret->text), "endpoints of %s", name);
		if (test_exists(w->c, TEST_SLICE, slice))
			test_patch(w->c, TEST_SLICE, slice,
				   "{'endpoints':[{'addresses':['10.9.9.%u']}]}", below(w, 250));
		break;
	default:
		break_state(w, ret);
	}
}

static struct change make_change(struct world *w)
{
	struct change c = { .text = "nothing" };
	unsigned what = below(w, 20);

	if (w->good_state && what < 6)
		repair_state(w, &c);
	else if (what < 12)
		change_channel(w, &c);
	else if (what < 16)
		change_mux(w, &c);
	else
		disturb(w, &c);
	return c;
}

/* ---- what must hold ---- */

static const char *name_of(const struct mux_view_channel *ch)
{
	char text[200];

	snprintf(text, sizeof(text), "%s/%s", ch->namespace, ch->name);
	for (size_t i = 0; i < CHANNELS; i++)
		if (strcmp(names[i], text) == 0)
			return names[i];
	fail_msg("%s", text);
	return NULL;
}

static void record(struct world *w)
{
	const struct mux_view *v = test_view(w->c);

	w->n_before = 0;
	snprintf(w->ports, sizeof(w->ports), "%s", test_ports(w->c, MUX));
	for (size_t i = 0; i < v->n_channels; i++)
		for (size_t j = 0; j < v->channels[i].n_ports; j++) {
			const struct mux_view_port *p = &v->channels[i].ports[j];
			struct held *h = &w->before[w->n_before];

			if (!p->mux_port && !p->held)
				continue;
			*h = (struct held){ .channel = name_of(&v->channels[i]),
					    .protocol = p->protocol,
					    .number = p->mux_port ? p->mux_port : p->held,
					    .automatic = p->automatic,
					    .kept = !p->mux_port };
			snprintf(h->port, sizeof(h->port), "%s", p->name);
			w->n_before++;
		}
}

/* The channel and name that have a number now; false if nobody has. */
static bool owner_now(const struct world *w, const struct held *h, const char **ret_channel,
		      const char **ret_port)
{
	const struct mux_view *v = test_view(w->c);

	for (size_t i = 0; i < v->n_channels; i++)
		for (size_t j = 0; j < v->channels[i].n_ports; j++)
			if (v->channels[i].ports[j].mux_port == h->number &&
			    v->channels[i].ports[j].protocol == h->protocol) {
				*ret_channel = name_of(&v->channels[i]);
				*ret_port = v->channels[i].ports[j].name;
				return true;
			}
	return false;
}

static bool is_in_range(struct world *w, unsigned number)
{
	struct arena *arena = arena_new();
	struct mux_ranges r = { 0 };
	const char *why, *text = test_view(w->c)->port_range;
	bool in = mux_parse_port_range("p", text, arena, &r, &why) < 0 || !r.n ||
		  mux_ranges_have(&r, number);

	arena_free(arena);
	return in;
}

static bool is_outlaw(const struct world *w, const char *channel)
{
	const struct mux_view *v = test_view(w->c);

	for (size_t i = 0; i < v->n_channels; i++)
		if (name_of(&v->channels[i]) == channel)
			return cstr_eq(v->channels[i].reason, "NamespaceNotAllowed");
	return false;
}

/* Rules 2 and 3 for one number. */
static void check_held(struct world *w, const struct held *h, const struct change *change)
{
	const char *channel = NULL, *port = NULL;
	bool owned = owner_now(w, h, &channel, &port);
	bool same = owned && channel == h->channel && strcmp(port, h->port) == 0;

	if (same || (h->kept && !owned) || change->touch == TOUCH_REPAIR ||
	    (change->touch == TOUCH_CHANNEL && h->channel == change->channel))
		return;
	if (change->touch == TOUCH_MUX &&
	    (!owned || is_outlaw(w, h->channel) || (h->automatic && !is_in_range(w, h->number))))
		return;
	fail_msg("after \"%s\" %u/%s of %s:%s belongs to %s:%s", change->text, h->number,
		 mux_protocol_name(h->protocol), h->channel, h->port, channel ? channel : "-",
		 port ? port : "-");
}

static void check(struct world *w, const struct change *change)
{
	const struct mux_view *v = test_view(w->c);

	if (v->condition == MUX_FROZEN || v->condition == MUX_PAUSED) {
		assert_string_equal(test_ports(w->c, MUX), w->ports);
		return;
	}
	assert_int_equal(v->condition, MUX_ACTIVE);
	if (v->max_ports)
		assert_true(v->n_ports <= v->max_ports);
	for (size_t i = 0; i < w->n_before; i++)
		check_held(w, &w->before[i], change);
}

/* Rule 5: the state has every number of the mux that was not there before. */
static void check_claimed(struct world *w)
{
	const char *state =
		test_exists(w->c, TEST_CONFIG_MAP, STATE)
			? test_get(w->c, TEST_CONFIG_MAP, STATE, "data|allocations.json")
			: "";
	char *text = mem_strdup(state);
	struct str rest, item, number;
	char want[40];

	rest = str_of(test_ports(w->c, MUX));
	while (str_cut(&rest, ' ', &item)) {
		char entry[80];

		snprintf(entry, sizeof(entry), "%.*s", (int)item.n, item.p);
		str_cut(&item, '/', &number);
		snprintf(want, sizeof(want), "\"muxPort\": %.*s,", (int)number.n, number.p);
		if (!strstr(entry, "placeholder") && !strstr(w->ports, entry))
			assert_non_null(strstr(text, want));
	}
	free(text);
}

static void step(struct world *w)
{
	struct change change = make_change(w);
	bool was_held = test_view(w->c)->condition != MUX_ACTIVE;

	for (unsigned crashes = below(w, 4); crashes; crashes--) {
		test_pass(w->c, MUX, below(w, 6));
		check_claimed(w);
		if (below(w, 2))
			test_restart(w->c);
	}
	test_settle(w->c);
	check_claimed(w);
	/* changes that were made while the mux was frozen come with the one that ends it */
	if (was_held && test_view(w->c)->condition == MUX_ACTIVE)
		change.touch = TOUCH_REPAIR;
	check(w, &change);
	record(w);
}

static void run(uint64_t seed)
{
	struct world w = { .c = test_cluster_new(),
			   .random = seed,
			   .now = 1700000000 * NSEC_PER_SEC };

	test_mux(w.c, MUX,
		 seed % 2 ? "'port-range':'20-26','max-ports':'5'" : "'port-range':'20-26'");
	test_settle(w.c);
	record(&w);
	for (int i = 0; i < STEPS; i++)
		step(&w);
	free(w.good_state);
	test_cluster_free(w.c);
}

static void ports_change_their_owner_only_with_a_reason(void **state)
{
	const char *one = getenv("MUX_SEED"), *many = getenv("MUX_SEEDS");
	uint64_t first = one ? strtoull(one, NULL, 10) : 1;
	uint64_t n = one ? 1 : many ? strtoull(many, NULL, 10) : 20;

	for (uint64_t seed = first; seed < first + n; seed++) {
		print_message("seed %llu\n", (unsigned long long)seed);
		run(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_change_their_owner_only_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

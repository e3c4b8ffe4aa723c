/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_print: fingerprints of what a view was made from, so that a change that does not matter
 * (most of all our own writes) does not cost a pass over all channels. FNV-1a; a collision would
 * delay a change until the next full pass, and only of the object whose author made it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "src/mux/plan_private.h"

static void print_bytes(uint64_t *h, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		*h = (*h ^ b[i]) * 0x100000001b3u;
}

static void print_text(uint64_t *h, const char *s)
{
	print_bytes(h, s ? "+" : "-", 1);
	if (s)
		print_bytes(h, s, strlen(s) + 1);
}

static void print_number(uint64_t *h, uint64_t v)
{
	print_bytes(h, &v, sizeof(v));
}

#define PRINT_START 0xcbf29ce484222325u

static void print_ingress(uint64_t *h, const struct k8s_list *list)
{
	const struct mux_ingress *in = list->items;

	print_number(h, list->n);
	for (size_t i = 0; i < list->n; i++) {
		print_text(h, in[i].ip);
		print_text(h, in[i].hostname);
		print_text(h, in[i].ip_mode);
		print_text(h, in[i].ports);
	}
}

static void print_pairs(uint64_t *h, const struct k8s_list *list)
{
	const struct k8s_pair *p = list->items;

	print_number(h, list->n);
	for (size_t i = 0; i < list->n; i++) {
		print_text(h, p[i].key);
		print_text(h, p[i].value);
	}
}

/* Annotations of a mux that maglev-mux writes, and reads only to compare. */
static bool is_output(const struct mux_settings *settings, const char *key)
{
	static const char *const outputs[] = { "channels", "topology", "summary" };
	size_t n = strlen(settings->prefix);

	if (strncmp(key, settings->prefix, n) != 0 || key[n] != '/')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++)
		if (strcmp(key + n + 1, outputs[i]) == 0)
			return true;
	return false;
}

uint64_t mux__print_mux(const struct mux_settings *settings, const struct mux_service *mux)
{
	const struct k8s_pair *notes = mux->annotations.items;
	uint64_t h = PRINT_START;

	print_text(&h, mux->object.uid);
	print_text(&h, mux->type);
	print_text(&h, mux->class);
	print_number(&h, mux->selector);
	print_number(&h, mux->object.deleting);
	for (size_t i = 0; i < mux->annotations.n; i++)
		if (!is_output(settings, notes[i].key)) {
			print_text(&h, notes[i].key);
			print_text(&h, notes[i].value);
		}
	print_pairs(&h, &mux->labels);
	for (size_t i = 0; i < mux->ip_families.n; i++)
		print_text(&h, k8s_string_at(&mux->ip_families, i));
	print_ingress(&h, &mux->ingress);
	return h;
}

uint64_t mux__print_channel(const struct mux_settings *settings, const struct mux_service *s)
{
	static const char *const inputs[] = { "external-ports", "disabled",
					      "external-dns-hostname" };
	const struct mux_service_port *ports = s->ports.items;
	uint64_t h = PRINT_START;

	print_text(&h, s->object.uid);
	print_text(&h, s->type);
	print_text(&h, s->class);
	print_number(&h, s->object.deleting);
	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++)
		print_text(&h, mux_note(settings, &s->annotations, inputs[i]));
	print_text(&h, k8s_map_get(&s->annotations, MUX_NOTE_DNS_PROXIED));
	for (size_t i = 0; i < s->ports.n; i++) {
		print_text(&h, ports[i].name);
		print_text(&h, ports[i].protocol);
		print_number(&h, (uint64_t)ports[i].port);
		print_number(&h, (uint64_t)ports[i].node_port);
	}
	return h;
}

/* The sum does not depend on the order of ports. */
static uint64_t print_port(const char *name, uint64_t port, const char *protocol)
{
	uint64_t h = PRINT_START;

	print_text(&h, name);
	print_number(&h, port);
	print_text(&h, protocol);
	return h;
}

uint64_t mux__print_live(const struct mux_service *mux)
{
	const struct mux_service_port *ports = mux->ports.items;
	uint64_t sum = mux->ports.n;

	for (size_t i = 0; i < mux->ports.n; i++)
		sum += print_port(ports[i].name, (uint64_t)ports[i].port,
				  ports[i].protocol ? ports[i].protocol : "TCP");
	return sum;
}

uint64_t mux__print_wanted(const struct mux_wanted_port *ports, size_t n)
{
	uint64_t sum = n;

	for (size_t i = 0; i < n; i++)
		sum += print_port(ports[i].name, ports[i].port,
				  mux_protocol_name(ports[i].protocol));
	return sum;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/convert.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/json/json.h"

#define OLD_VERSION "metallb.io/v1beta1"
#define NEW_VERSION "metallb.io/v1beta2"

/* What only v1beta2 has. */
static const char *const newer[] = {
	"connectTime", "disableMP", "dualStackAddressFamily", "dynamicASN", "enableGracefulRestart",
	"interface",   "localASN",  "passwordSecret",	      "vrf"
};

static bool is_one_of(const char *key, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], key) == 0)
			return true;
	return false;
}

static bool is_zero_time(const struct json_node *value)
{
	int64_t ns;

	return value->kind == JSON_KIND_STRING && duration_parse(value->text, &ns) == 0 && ns == 0;
}

static bool is_dropped(const struct json_member *m, bool to_new)
{
	static const char *const timers[] = { "holdTime", "keepaliveTime" };

	if (!to_new)
		return is_one_of(m->key, newer, ARRAY_SIZE(newer));
	if (strcmp(m->key, "peerPort") == 0) /* v1beta1 allows 0, which means the default */
		return m->value.kind == JSON_KIND_NUMBER && strcmp(m->value.text, "0") == 0;
	return is_one_of(m->key, timers, ARRAY_SIZE(timers)) && is_zero_time(&m->value);
}

static void write_spec(const struct json_node *spec, bool to_new, struct buf *out)
{
	const char *comma = "";

	buf_addc(out, '{');
	for (size_t i = 0; i < spec->n; i++) {
		const struct json_member *m = &spec->members[i];

		if (is_dropped(m, to_new))
			continue;
		buf_adds(out, comma);
		json_write_string(out, m->key, strlen(m->key));
		buf_addc(out, ':');
		json_write_tree(out, &m->value);
		comma = ",";
	}
	buf_addc(out, '}');
}

static bool has_text(const struct json_node *of, const char *key, const char *text)
{
	const struct json_node *value = json_find(of, key);

	return value && value->kind == JSON_KIND_STRING && strcmp(value->text, text) == 0;
}

int convert_peer(const struct json_node *peer, const char *version, struct buf *out)
{
	bool to_new = strcmp(version, NEW_VERSION) == 0;

	if (peer->kind != JSON_KIND_OBJECT || !has_text(peer, "kind", "BGPPeer") ||
	    (!to_new && strcmp(version, OLD_VERSION) != 0))
		return -EINVAL;
	buf_printf(out, "{\"apiVersion\":\"%s\"", version);
	for (size_t i = 0; i < peer->n; i++) {
		const struct json_member *m = &peer->members[i];

		if (strcmp(m->key, "apiVersion") == 0)
			continue;
		buf_addc(out, ',');
		json_write_string(out, m->key, strlen(m->key));
		buf_addc(out, ':');
		if (strcmp(m->key, "spec") == 0 && m->value.kind == JSON_KIND_OBJECT)
			write_spec(&m->value, to_new, out);
		else
			json_write_tree(out, &m->value);
	}
	buf_addc(out, '}');
	return 0;
}

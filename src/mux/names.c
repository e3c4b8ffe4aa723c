/* SPDX-License-Identifier: Apache-2.0 */
/* names: references, hashes and names that are made. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "src/mux/names.h"

const char *mux_key(const struct mux_settings *settings, const char *what, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", settings->prefix, what);
}

const char *mux_note(const struct mux_settings *settings, const struct k8s_list *annotations,
		     const char *what)
{
	const struct k8s_pair *pairs = annotations->items;
	size_t n = strlen(settings->prefix);

	for (size_t i = 0; i < annotations->n; i++)
		if (strncmp(pairs[i].key, settings->prefix, n) == 0 && pairs[i].key[n] == '/' &&
		    strcmp(pairs[i].key + n + 1, what) == 0)
			return pairs[i].value;
	return NULL;
}

bool mux_note_is_true(const struct mux_settings *settings, const struct mux_service *service,
		      const char *what)
{
	return cstr_eq(mux_note(settings, &service->annotations, what), "true");
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool mux_is_label(struct str s)
{
	if (!s.n || s.n > 63 || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1]))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!is_alnum(s.p[i]) && s.p[i] != '-')
			return false;
	return true;
}

bool mux_class_is_ours(const struct mux_settings *settings, const char *class)
{
	size_t n = strlen(settings->prefix);

	return class && strncmp(class, settings->prefix, n) == 0 && class[n] == '/';
}

/* Copies a part; -EINVAL with the reason if it is no DNS label. */
static int take_label(struct str part, const char *what, struct arena *arena, char ret[static 64],
		      const char **ret_why)
{
	if (!mux_is_label(part)) {
		*ret_why =
			arena_printf(arena,
				     "Invalid multiplexer %s '%s'; expected a Kubernetes DNS label",
				     what, err_shown(arena_strndup(arena, part.p, part.n), arena));
		return -EINVAL;
	}
	memcpy(ret, part.p, part.n);
	ret[part.n] = 0;
	return 0;
}

int mux_class_parse(const struct mux_settings *settings, const char *class, struct arena *arena,
		    struct mux_reference *ret, const char **ret_why)
{
	struct str rest = str_of(class + strlen(settings->prefix) + 1), name, namespace, more;
	struct mux_reference r;

	if (!str_cut(&rest, '.', &name))
		name = STR("");
	if (!str_cut(&rest, '.', &namespace))
	namespace = str_of(settings->default_namespace);
	if (str_cut(&rest, '.', &more)) {
		*ret_why = arena_printf(
			arena, "Invalid LoadBalancerClass '%s'; expected %s/<name>[.<namespace>]",
			err_shown(class, arena), settings->prefix);
		return -EINVAL;
	}
	if (take_label(name, "service name", arena, r.name, ret_why) < 0 ||
	    take_label(namespace, "namespace", arena, r.namespace, ret_why) < 0)
		return -EINVAL;
	*ret = r;
	return 0;
}

/* n hexadecimal digits, and a NUL. */
static void hex(const uint8_t digest[static MUX_DIGEST], size_t n, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++)
		ret[i] = digits[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
	ret[n] = 0;
}

void mux_port_hash(const struct mux_settings *settings, const char *namespace, const char *service,
		   const char *port_name, char ret[static MUX_NAME_MAX + 1])
{
	uint8_t digest[MUX_DIGEST];
	char text[256]; /* three labels and two slashes */
	int n = snprintf(text, sizeof(text), "%s/%s/%s", namespace, service, port_name);

	settings->sha256(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1, digest);
	hex(digest, MUX_NAME_MAX, ret);
}

const char *mux_slice_name(const struct mux_settings *settings, const char *mux,
			   const char *channel_namespace, const char *channel, const char *source,
			   struct arena *arena)
{
	const char *text = arena_printf(arena, "%s/%s/%s", channel_namespace, channel, source);
	uint8_t digest[MUX_DIGEST];
	char name[33];

	settings->sha256(text, strlen(text), digest);
	hex(digest, sizeof(name) - 1, name);
	return arena_printf(arena, "%s-%s", mux, name);
}

#define STATE_SUFFIX "-port-allocations"

const char *mux_state_name(const struct mux_settings *settings, const struct mux_service *mux,
			   struct arena *arena)
{
	const char *custom = mux_note(settings, &mux->annotations, "allocation-configmap");
	const char *name = mux->object.name;
	struct str trimmed = custom ? str_trim(str_of(custom)) : STR("");
	uint8_t digest[MUX_DIGEST];
	char end[9];

	if (trimmed.n)
		return arena_strndup(arena, trimmed.p, trimmed.n);
	if (strlen(name) + sizeof(STATE_SUFFIX) - 1 <= 63)
		return arena_printf(arena, "%s" STATE_SUFFIX, name);
	settings->sha256(name, strlen(name), digest);
	hex(digest, sizeof(end) - 1, end);
	return arena_printf(arena, "%.54s-%s", name, end);
}

const char *mux_slice_key(const struct mux_settings *settings, const struct mux_slice *slice,
			  struct arena *arena)
{
	const char *mux = k8s_map_get(&slice->labels, MUX_LABEL_SERVICE);
	const char *channel = mux_note(settings, &slice->annotations, "channel");

	if (!cstr_eq(k8s_map_get(&slice->labels, MUX_LABEL_MANAGED_BY), MUX_MANAGED_BY) || !mux ||
	    !channel)
		return NULL;
	return arena_printf(arena, "%s/%s %s", slice->object.namespace, mux, channel);
}

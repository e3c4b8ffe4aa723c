/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/capability.h"

#include <linux/capability.h>
#include <string.h>

#include "lib/log/log.h"
#include "lib/net/privilege.h"

static bool probes_icmp(const struct l4_config *c)
{
	for (size_t i = 0; i < c->n_checks; i++)
		if (c->checks[i].type == L4_CHECK_ICMP)
			return true;
	return false;
}

static bool enters_netns(const struct l4_config *c)
{
	return c->netns != NULL;
}

static bool drives_xdp(const struct l4_config *c)
{
	return c->dataplane == L4_DATAPLANE_XDP;
}

static const struct {
	struct capability_need need;
	bool (*applies)(const struct l4_config *c);
} table[CAPABILITY_NEEDS_MAX] = {
	{ { CAP_NET_RAW, "CAP_NET_RAW", "icmp health checks" }, probes_icmp },
	{ { CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "healthchecker.netns" }, enters_netns },
	{ { CAP_BPF, "CAP_BPF", "the data plane xdp" }, drives_xdp },
	{ { CAP_NET_ADMIN, "CAP_NET_ADMIN", "the data plane xdp" }, drives_xdp },
	{ { CAP_PERFMON, "CAP_PERFMON", "the data plane xdp" }, drives_xdp },
};

/* In the order of the table, which is also the order of the warnings. */
size_t capability_needs(const struct l4_config *c,
			struct capability_need ret[static CAPABILITY_NEEDS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < CAPABILITY_NEEDS_MAX; i++)
		if (table[i].applies(c))
			ret[n++] = table[i].need;
	return n;
}

/* A missing capability is no reason to stop: the rest of the configuration works without it. */
void capability_keep(const struct l4_config *c)
{
	struct capability_need needs[CAPABILITY_NEEDS_MAX];
	size_t n = capability_needs(c, needs);
	uint64_t mask = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		mask |= (uint64_t)1 << needs[i].number;
		if (!privilege_held(needs[i].number))
			log_warn("capability-missing", LOG_S("capability", needs[i].name),
				 LOG_S("feature", needs[i].feature));
	}
	r = privilege_keep(mask);
	if (r < 0)
		log_warn("capability-drop-failed", LOG_S("error", strerror(-r)));
}

/* Whether a configuration needs this capability. */
static bool needed_by(const struct l4_config *c, int number)
{
	struct capability_need needs[CAPABILITY_NEEDS_MAX];
	size_t n = capability_needs(c, needs);

	for (size_t i = 0; i < n; i++)
		if (needs[i].number == number)
			return true;
	return false;
}

/*
 * A capability that the current configuration needs too may be missing since the start: that was
 * logged then, and is no reason to refuse a reload.
 */
bool capability_lost(const struct l4_config *current, const struct l4_config *next,
		     struct capability_need *ret)
{
	struct capability_need needs[CAPABILITY_NEEDS_MAX];
	size_t n = capability_needs(next, needs);

	for (size_t i = 0; i < n; i++) {
		if (needed_by(current, needs[i].number) || privilege_held(needs[i].number))
			continue;
		*ret = needs[i];
		return true;
	}
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BPF file system allows no dots in names, but VLAN interfaces have them: in the name of a pin
 * a dot is "%2e", and a percent sign "%25".
 *
 * The state comes from the link and not from the device: the link knows which device it is on (0
 * after the device is gone, or the link was detached by force) and which program it runs.
 */
#include "src/maglevd/dataplane/xdp/links.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/log/log.h"

#define PREFIX "link-"
/* room for a name in which every character is escaped */
#define ESCAPED_SIZE (sizeof(PREFIX) + 3 * IFNAMSIZ)

static void pin_name(const char *interface, char ret[static ESCAPED_SIZE])
{
	size_t n = sizeof(PREFIX) - 1;

	memcpy(ret, PREFIX, n);
	for (const char *c = interface; *c; c++)
		n += (size_t)snprintf(ret + n, ESCAPED_SIZE - n,
				      *c == '.'	  ? "%%2e"
				      : *c == '%' ? "%%25"
						  : "%c",
				      *c);
	ret[n] = 0;
}

/* The inverse of pin_name(). False if it is not the pin of a link. */
static bool interface_of(const char *pin, char ret[static IFNAMSIZ])
{
	size_t n = 0;

	if (strncmp(pin, PREFIX, sizeof(PREFIX) - 1) != 0)
		return false;
	for (pin += sizeof(PREFIX) - 1; *pin && n < IFNAMSIZ - 1; pin++) {
		bool escaped = *pin == '%' && pin[1] && pin[2];

		ret[n++] = !escaped ? *pin : pin[2] == 'e' ? '.' : '%';
		pin += escaped ? 2 : 0;
	}
	ret[n] = 0;
	return n > 0;
}

static void pin_path(const struct xdplb_links *l, const char *interface,
		     char ret[static PLANE_PATH_SIZE])
{
	char name[ESCAPED_SIZE];

	pin_name(interface, name);
	snprintf(ret, PLANE_PATH_SIZE, "%s/%s", l->folder, name);
}

/* ---- which interfaces ---- */

static struct xdplb_link *find(const struct xdplb_links *l, const char *name)
{
	for (size_t i = 0; i < l->list.n; i++)
		if (strcmp(l->list.items[i].name, name) == 0)
			return &l->list.items[i];
	return NULL;
}

/* The pin is removed as well: it would keep the detached link alive. */
static void detach(const struct xdplb_links *l, struct xdplb_link *k)
{
	char path[PLANE_PATH_SIZE];

	if (!k->link)
		return;
	pin_path(l, k->name, path);
	unlink(path);
	xdp_link_detach(k->link);
	xdp_link_free(k->link);
	k->link = NULL;
}

static bool is_listed(const struct l4_xdp *c, const char *name)
{
	for (size_t i = 0; i < c->interfaces.n; i++)
		if (strcmp(c->interfaces.items[i], name) == 0)
			return true;
	return false;
}

/* Links that stay are not touched, so a reload does not interrupt forwarding on them. */
void xdplb__links_set(struct xdplb_links *l, const struct l4_xdp *c)
{
	static const enum xdp_mode modes[] = { [L4_XDP_AUTO] = XDP_MODE_AUTO,
					       [L4_XDP_NATIVE] = XDP_MODE_NATIVE,
					       [L4_XDP_GENERIC] = XDP_MODE_GENERIC };

	for (size_t i = l->list.n; i-- > 0;) {
		if (is_listed(c, l->list.items[i].name))
			continue;
		log_info("xdp-detach", LOG_S("interface", l->list.items[i].name));
		detach(l, &l->list.items[i]);
		vec_remove_at(&l->list, i);
	}
	for (size_t i = 0; i < c->interfaces.n; i++) {
		struct xdplb_link fresh = { 0 };

		if (find(l, c->interfaces.items[i]))
			continue;
		snprintf(fresh.name, sizeof(fresh.name), "%s", c->interfaces.items[i]);
		vec_push(&l->list, fresh);
	}
	for (size_t i = 0; i < l->list.n; i++)
		l->list.items[i].refit |= l->mode != modes[c->mode];
	l->mode = modes[c->mode];
}

/*
 * Runs once, after the maps are opened: an interface may have left the configuration between two
 * processes.
 */
void xdplb__links_tidy(const struct xdplb_links *l)
{
	DIR *dir = opendir(l->folder);
	struct dirent *entry;
	char name[IFNAMSIZ];

	while (dir && (entry = readdir(dir))) {
		if (!interface_of(entry->d_name, name) || find(l, name))
			continue;
		log_info("xdp-detach", LOG_S("interface", name));
		unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

/* ---- attaching ---- */

/* What the kernel's XDP attach code means by these errors, in words that help the operator. */
static const char *reason_of(int err)
{
	static const struct {
		int err;
		const char *text;
	} table[] = {
		{ EBUSY, "it has another XDP program" },
		{ EEXIST, "it has another XDP program" },
		{ EOPNOTSUPP, "its driver has no native mode" },
		{ ERANGE, "its MTU, or that of its peer, is too large for native mode" },
		{ ENOSPC, "it has fewer receive queues than its peer has transmit queues" },
		{ EPERM, "CAP_BPF and CAP_NET_ADMIN are needed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].err == err)
			return table[i].text;
	return strerror(err);
}

/* Logs a problem once for each new reason, not at every check. */
static void complain(struct xdplb_link *k, const char *reason)
{
	if (strcmp(k->problem, reason) == 0)
		return;
	snprintf(k->problem, sizeof(k->problem), "%s", reason);
	log_warn("xdp-attach-failed", LOG_S("interface", k->name), LOG_S("error", reason));
}

static void note_repair(const char *what, const char *name)
{
	log_warn("xdp-repair", LOG_S("interface", name), LOG_S("reason", what));
}

/*
 * The program runs only on the queues that existed when it was attached (see
 * xdp_device_queues()).
 */
static void remember_queues(struct xdplb_link *k)
{
	if (xdp_device_queues(k->name, &k->queues) < 0)
		k->queues = 0;
}

/* Logs the mode that is in force: in automatic mode the kernel chooses. */
static void on_attached(struct xdplb_link *k, unsigned ifindex, bool adopted)
{
	struct xdp_device_state state = { .mode = XDP_MODE_AUTO };

	k->problem[0] = 0;
	k->refit = false;
	remember_queues(k);
	xdp_device_state(ifindex, &state);
	k->mode = state.mode;
	log_info("xdp-attach", LOG_S("interface", k->name),
		 LOG_S("mode", xdp_mode_name(state.mode)), LOG_U("queues", k->queues),
		 LOG_B("adopted", adopted));
}

/* A link that cannot be pinned is given up, because it would vanish with this process. */
static void attach(const struct xdplb_links *l, struct xdplb_link *k, unsigned ifindex,
		   const struct xdplb_maps *m)
{
	char path[PLANE_PATH_SIZE];
	struct xdp_link *link;
	int r = xdp_attach(m->program, ifindex, l->mode, &link);

	if (r < 0) {
		complain(k, reason_of(-r));
		return;
	}
	pin_path(l, k->name, path);
	unlink(path);
	r = xdp_link_pin(link, path);
	if (r < 0) {
		complain(k, "its link cannot be pinned");
		xdp_link_free(link);
		return;
	}
	k->link = link;
	on_attached(k, ifindex, false);
}

/* ---- looking after what is attached ---- */

/* True also when the mode cannot be read: a working link is not detached on suspicion. */
static bool is_in_mode(const struct xdplb_links *l, unsigned ifindex)
{
	struct xdp_device_state state;

	return l->mode == XDP_MODE_AUTO || xdp_device_state(ifindex, &state) < 0 ||
	       state.mode == l->mode;
}

/*
 * Adopts the link that an earlier maglevd has pinned, if it is on the interface that has the name
 * now. The update replaces the program of the earlier maglevd without losing a packet.
 */
static void adopt(const struct xdplb_links *l, struct xdplb_link *k, unsigned ifindex,
		  const struct xdplb_maps *m)
{
	char path[PLANE_PATH_SIZE];
	struct xdp_link_state state = { 0 };
	struct xdp_link *link;

	pin_path(l, k->name, path);
	if (xdp_link_open(path, &link) < 0)
		return;
	if (xdp_link_state(link, &state) == 0 && state.ifindex == ifindex &&
	    xdp_link_update(link, m->program) == 0) {
		k->link = link;
		k->refit = !is_in_mode(l, ifindex);
		if (!k->refit)
			on_attached(k, ifindex, true);
		return;
	}
	unlink(path);
	xdp_link_free(link);
}

/* An update to the same program also makes the driver set up queues that were added. */
static void update(struct xdplb_link *k, const struct xdplb_maps *m, const char *why)
{
	int r = xdp_link_update(k->link, m->program);

	if (why)
		note_repair(why, k->name);
	if (r < 0)
		log_warn("xdp-attach-failed", LOG_S("interface", k->name),
			 LOG_S("error", reason_of(-r)));
	remember_queues(k);
}

static void repin(const struct xdplb_links *l, const struct xdplb_link *k)
{
	char path[PLANE_PATH_SIZE];

	pin_path(l, k->name, path);
	if (access(path, F_OK) == 0)
		return;
	note_repair("the pin of its link was gone", k->name);
	xdp_link_pin(k->link, path);
}

/*
 * Checks a link that was attached. A link that is useless is detached here, and attached again by
 * check_one().
 */
static void look_after(const struct xdplb_links *l, struct xdplb_link *k, unsigned ifindex,
		       const struct xdplb_maps *m)
{
	struct xdp_link_state state = { 0 };
	uint32_t queues;

	if (xdp_link_state(k->link, &state) < 0 || state.ifindex == 0 || state.ifindex != ifindex) {
		note_repair(ifindex == 0	 ? "it no longer exists"
			    : state.ifindex == 0 ? "the program was detached from it"
						 : "it is another interface with the same name",
			    k->name);
		detach(l, k);
		return;
	}
	if (k->refit && !is_in_mode(l, ifindex)) {
		detach(l, k);
		return;
	}
	k->refit = false;
	if (state.program != m->program_id)
		update(k, m, "its program was replaced");
	else if (k->queues && xdp_device_queues(k->name, &queues) == 0 && queues != k->queues)
		update(k, m, "it has another number of receive queues");
	repin(l, k);
}

static void check_one(const struct xdplb_links *l, struct xdplb_link *k, const struct xdplb_maps *m)
{
	unsigned ifindex = if_nametoindex(k->name);

	if (k->link)
		look_after(l, k, ifindex, m);
	else if (ifindex)
		adopt(l, k, ifindex, m);
	if (k->link && k->refit)
		detach(l, k);
	if (k->link)
		return;
	if (ifindex)
		attach(l, k, ifindex, m);
	else
		complain(k, "there is no such interface");
}

size_t xdplb__links_check(struct xdplb_links *l, const struct xdplb_maps *m)
{
	size_t attached = 0;

	for (size_t i = 0; i < l->list.n; i++) {
		check_one(l, &l->list.items[i], m);
		attached += l->list.items[i].link != NULL;
	}
	return attached;
}

void xdplb__links_switch(struct xdplb_links *l, const struct xdplb_maps *m)
{
	for (size_t i = 0; i < l->list.n; i++)
		if (l->list.items[i].link)
			update(&l->list.items[i], m, NULL);
}

/* Names each interface that is missing, as far as there is room. */
void xdplb__links_explain(const struct xdplb_links *l, struct xdplb_why *why)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	size_t attached = 0;

	for (size_t i = 0; i < l->list.n; i++) {
		const struct xdplb_link *k = &l->list.items[i];

		attached += k->link != NULL;
		if (!k->link)
			buf_printf(&text, "; %s: %s", k->name, k->problem);
	}
	if (l->list.n == 1)
		xdplb__explain(why, "the program is not on %s", buf_cstr(&text) + 2);
	else if (!attached)
		xdplb__explain(why, "the program is on none of the %zu interfaces%s", l->list.n,
			       buf_cstr(&text));
	else
		xdplb__explain(why, "the program is on %zu of %zu interfaces%s", attached,
			       l->list.n, buf_cstr(&text));
}

void xdplb__links_show(struct xdplb_links *l)
{
	l->shown.n = 0;
	for (size_t i = 0; i < l->list.n; i++) {
		const struct xdplb_link *k = &l->list.items[i];
		bool known = k->link && k->mode != XDP_MODE_AUTO;
		struct lb_interface shown = { .name = k->name,
					      .attached = k->link != NULL,
					      .mode = known ? xdp_mode_name(k->mode) : "",
					      .problem = k->link ? "" : k->problem };

		vec_push(&l->shown, shown);
	}
}

void xdplb__links_close(struct xdplb_links *l)
{
	for (size_t i = 0; i < l->list.n; i++)
		xdp_link_free(l->list.items[i].link);
	vec_free(&l->list);
	vec_free(&l->shown);
}

static int remove_one(const char *folder, const char *pin, const char *name, struct buf *out)
{
	char path[PLANE_PATH_SIZE];
	struct xdp_link *link;

	snprintf(path, sizeof(path), "%s/%s", folder, pin);
	if (xdp_link_open(path, &link) == 0) {
		xdp_link_detach(link);
		xdp_link_free(link);
	}
	if (unlink(path) < 0)
		return -errno;
	buf_printf(out, "%s: detached\n", name);
	return 0;
}

int xdplb__links_remove(const char *folder, struct buf *out)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char name[IFNAMSIZ];
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir)))
		if (interface_of(entry->d_name, name))
			r = remove_one(folder, entry->d_name, name, out);
	closedir(dir);
	return r;
}

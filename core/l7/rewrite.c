/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/rewrite.h"

#include "core/l7/match.h"
#include "core/l7/table.h"

static void add(struct buf *out, struct str s)
{
	buf_add(out, s.p, s.n);
}

static void replace_prefix(const struct l7_rewrite *w, struct str prefix, struct str path,
			   struct buf *out)
{
	struct str start = l7_prefix(w->path);
	size_t cut = l7_prefix(prefix).n;
	struct str rest = { path.p + cut, path.n - cut };

	add(out, start);
	add(out, rest);
	if (start.n + rest.n == 0)
		buf_addc(out, '/');
}

void l7_rewrite_path(const struct l7_rewrite *w, struct str prefix, struct str path,
		     struct buf *out)
{
	if (w->edit == L7_PATH_PREFIX && str_starts(path, l7_prefix(prefix)))
		replace_prefix(w, prefix, path, out);
	else
		add(out, w->edit == L7_PATH_REPLACED ? w->path : path);
}

static uint16_t default_port(struct str scheme)
{
	return str_ieq(scheme, STR("https")) ? 443 : 80;
}

void l7_redirect_location(const struct l7_redirect *r, struct str prefix,
			  const struct l7_place *from, struct buf *out)
{
	struct str scheme = r->scheme.n ? r->scheme : from->scheme;
	uint16_t port = r->port ? r->port : r->scheme.n ? default_port(scheme) : from->port;

	add(out, scheme);
	buf_add_lit(out, "://");
	add(out, r->to.host.n ? r->to.host : l7_host_name(from->host));
	if (port != default_port(scheme)) {
		buf_addc(out, ':');
		buf_addu(out, port);
	}
	l7_rewrite_path(&r->to, prefix, from->path, out);
	if (from->query.n) {
		buf_addc(out, '?');
		add(out, from->query);
	}
}

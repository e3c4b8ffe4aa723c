/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files: serves the files of the application. Files below assets/ have a hash of their content
 * in their name, so they may be cached forever. All others, the page that refers to them
 * included, must be revalidated.
 */
#include "src/frontend/assets.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/reply.h"

static const struct asset *find(struct str path)
{
	for (size_t i = 0; i < n_assets; i++)
		if (str_eq(str_of(assets[i].path), path))
			return &assets[i];
	return NULL;
}

/* Whether Accept-Encoding lists gzip without a weight of 0 (RFC 9110, section 12.5.3). */
static bool takes_gzip(const struct http_head *head)
{
	struct str list = http_header(head, STR("Accept-Encoding"));
	struct str item, coding;

	while (str_cut(&list, ',', &item)) {
		str_cut(&item, ';', &coding);
		if (str_ieq(str_trim(coding), STR("gzip")))
			return !item.p || !str_eq(str_trim(item), STR("q=0"));
	}
	return false;
}

void dashboard__reply_file(struct http_exchange *x, const struct http_request *request,
			   struct str path)
{
	const struct asset *a = find(path.n ? path : STR("index.html"));
	bool gzip = a && a->gzip && takes_gzip(request->head);

	if (!a) {
		reply_status(x, 404);
		return;
	}
	http_reply_header(x, "Cache-Control",
			  str_starts(path, STR("assets/"))
				  ? STR("public, max-age=31536000, immutable")
				  : STR("no-cache"));
	if (a->gzip)
		http_reply_header(x, "Vary", STR("Accept-Encoding"));
	if (gzip)
		http_reply_header(x, "Content-Encoding", STR("gzip"));
	reply_static(x, a->content_type,
		     (struct str){ (const char *)(gzip ? a->gzip : a->bytes),
				   gzip ? a->n_gzip : a->n });
}

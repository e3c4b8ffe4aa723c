/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/page/files.h"

#include "lib/http/server.h"
#include "lib/page/reply.h"

static const struct page_file *find(const struct page_files *files, struct str path)
{
	for (size_t i = 0; i < files->n; i++)
		if (str_eq(str_of(files->items[i].path), path))
			return &files->items[i];
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

void page_file_fresh(struct http_exchange *x, const struct http_request *request,
		     const struct page_files *files, struct str path)
{
	const struct page_file *a = find(files, path.n ? path : STR("index.html"));
	bool gzip = a && a->gzip && takes_gzip(request->head);

	if (!a) {
		page_status(x, 404);
		return;
	}
	if (a->gzip)
		http_reply_header(x, "Vary", STR("Accept-Encoding"));
	if (gzip)
		http_reply_header(x, "Content-Encoding", STR("gzip"));
	page_static(x, a->content_type,
		    (struct str){ (const char *)(gzip ? a->gzip : a->bytes),
				  gzip ? a->n_gzip : a->n });
}

void page_file(struct http_exchange *x, const struct http_request *request,
	       const struct page_files *files, struct str path)
{
	if (find(files, path.n ? path : STR("index.html")))
		http_reply_header(x, "Cache-Control",
				  str_starts(path, STR("assets/"))
					  ? STR("public, max-age=31536000, immutable")
					  : STR("no-cache"));
	page_file_fresh(x, request, files, path);
}

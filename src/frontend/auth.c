/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/auth.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "lib/http/message.h"

/* The authority of an origin; empty if its scheme is not http or https ("null", for example). */
static struct str authority_of(struct str origin)
{
	static const struct str schemes[] = { { "https://", 8 }, { "http://", 7 } };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (origin.n > schemes[i].n &&
		    str_eq((struct str){ origin.p, schemes[i].n }, schemes[i]))
			return (struct str){ origin.p + schemes[i].n, origin.n - schemes[i].n };
	return STR("");
}

static bool is_json(struct str content_type)
{
	struct str type;

	return str_cut(&content_type, ';', &type) &&
	       str_ieq(str_trim(type), STR("application/json"));
}

/*
 * Sec-Fetch-Site and Origin are checked only if they are present: programs do not send them. The
 * content type must be JSON because HTML forms cannot send it.
 */
const char *auth_foreign(const struct http_head *head)
{
	struct str site = http_header(head, STR("Sec-Fetch-Site"));
	struct str origin = http_header(head, STR("Origin"));

	if (!str_eq(http_header(head, STR("X-Maglev-Admin")), STR("1")))
		return "the header X-Maglev-Admin: 1 is missing";
	if (!is_json(http_header(head, STR("Content-Type"))))
		return "the content type has to be application/json";
	if (site.p && !str_eq(site, STR("same-origin")))
		return "the request comes from another site";
	if (origin.p && !(authority_of(origin).n &&
			  str_ieq(authority_of(origin), http_header(head, STR("Host")))))
		return "the request comes from another origin";
	return NULL;
}

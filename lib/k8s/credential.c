/* SPDX-License-Identifier: Apache-2.0 */
/* credential: what an exec plugin prints (ExecCredential). */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "lib/json/cursor.h"
#include "lib/k8s/identity.h"
#include "lib/k8s/rfc3339.h"

static int take_texts(const struct json_cursor *status, struct k8s_credential *c)
{
	struct json_cursor token = json_member(status, "token");
	struct json_cursor certificate = json_member(status, "clientCertificateData");
	struct json_cursor key = json_member(status, "clientKeyData");

	if (json_get_string(&token, &c->token) < 0 ||
	    json_get_string(&certificate, &c->certificate) < 0 ||
	    json_get_string(&key, &c->key) < 0)
		return -EINVAL;
	if (!c->certificate != !c->key)
		return json_complain(status,
				     "has only one of clientCertificateData and clientKeyData");
	if (!c->token && !c->certificate)
		return json_complain(status, "has neither a token nor a client certificate");
	return 0;
}

static int take_expiry(const struct json_cursor *status, struct k8s_credential *c)
{
	struct json_cursor at = json_member(status, "expirationTimestamp");
	const char *text;
	int r = json_get_string(&at, &text);

	if (r <= 0)
		return r;
	return k8s_time_parse(str_of(text), &c->expires) < 0 ? json_complain(&at, "is not a time")
							     : 0;
}

int k8s_credential_parse(struct str text, const char *api_version, struct arena *arena,
			 struct k8s_credential *ret, struct errs *errors)
{
	struct k8s_credential c = { 0 };
	const struct json_node *tree;
	struct json_cursor root, version, kind, status;
	const char *said = "", *what = "";

	if (json_parse(text, NULL, arena, &tree, errors) < 0)
		return -EINVAL;
	root = json_cursor_of(tree, errors);
	version = json_member(&root, "apiVersion");
	kind = json_member(&root, "kind");
	status = json_member(&root, "status");
	if (json_get_string(&version, &said) < 0 || json_get_string(&kind, &what) < 0)
		return -EINVAL;
	if (strcmp(said, api_version) != 0)
		return json_complain(&root, "apiVersion is not %s", api_version);
	if (strcmp(what, "ExecCredential") != 0)
		return json_complain(&root, "kind is not ExecCredential");
	if (json_require(&status) < 0 || take_texts(&status, &c) < 0 ||
	    take_expiry(&status, &c) < 0)
		return -EINVAL;
	*ret = c;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small parsers of lib/k8s: kubeconfig, URLs, bad answers, credentials of plugins,
 * leases, lists of resources, times.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/mem.h"
#include "lib/k8s/config.h"
#include "lib/k8s/discovery.h"
#include "lib/k8s/identity.h"
#include "lib/k8s/lease.h"
#include "lib/k8s/request.h"
#include "lib/k8s/rfc3339.h"
#include "lib/k8s/url.h"

static void parse_config(struct str text, struct arena *arena)
{
	const struct k8s_config_text file = { text, "/f" };
	struct errs errors = { .arena = arena };
	struct k8s_config *c = NULL;
	int r = k8s_config_parse(&file, 1, NULL, &c, &errors);

	if ((r == 0) != (c != NULL) || (r < 0 && !errors.n))
		abort();
	if (c && (!c->host[0] || !c->port || !c->certificate != !c->key))
		abort();
	k8s_config_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct str text = { (const char *)data, size };
	const char *copy = arena_strndup(arena, text.p, text.n);
	struct k8s_credential credential;
	struct k8s_lease_record lease;
	struct k8s_status status;
	struct k8s_url url;
	struct buf back = { 0 };
	char *bytes = mem_alloc(size + 1);
	int64_t time;
	ssize_t n;

	parse_config(text, arena);
	k8s_credential_parse(text, "client.authentication.k8s.io/v1", arena, &credential, &errors);
	k8s_lease_parse(text, arena, &lease, &errors);
	k8s_discovery_parse(text, "widgets");
	k8s_status_parse(409, text, &status);
	if (!status.message[0])
		abort();
	if (k8s_url_parse(copy, arena, &url) == 0 && (!url.host[0] || !url.port))
		abort();
	k8s_time_parse(text, &time);
	n = base64_decode(text, bytes);
	if (n > (ssize_t)size)
		abort();
	if (n >= 0) /* what was decoded is encoded to the same bytes */
		base64_encode(&back, (struct str){ bytes, (size_t)n });
	buf_free(&back);
	free(bytes);
	arena_free(arena);
	return 0;
}

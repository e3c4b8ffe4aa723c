/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users of metallb.io write. The first byte chooses: a BGPPeer that is converted, or the
 * addresses of a pool, one in each line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/ipam/ipam.h"
#include "lib/json/tree.h"
#include "src/controller/convert.h"

/* What is converted is JSON, and converting it back and forth changes nothing more. */
static void convert(struct str text, struct arena *arena)
{
	_cleanup_(buf_free) struct buf once = { 0 }, twice = { 0 };
	struct errs errors = { .arena = arena };
	const struct json_node *root, *again;

	if (json_parse(text, NULL, arena, &root, &errors) < 0 ||
	    convert_peer(root, "metallb.io/v1beta2", &once) < 0)
		return;
	if (json_parse((struct str){ once.p, once.n }, NULL, arena, &again, &errors) < 0 ||
	    convert_peer(again, "metallb.io/v1beta2", &twice) < 0 || once.n != twice.n ||
	    memcmp(once.p, twice.p, once.n) != 0)
		abort();
}

static void allocate(struct str text, struct arena *arena)
{
	const char *lines[16];
	struct metal_pool_doc doc = { .name = "p", .auto_assign = true, .addresses = { lines, 0 } };
	struct ipam_request request = { .key = "a/b", .namespace = "a", .families = IPAM_IPV4 };
	_cleanup_(buf_free) struct buf why = { 0 };
	struct metal_config config;
	struct metal_error error;
	struct ipam *ipam;
	struct str line;

	while (doc.addresses.n < 16 && str_cut(&text, '\n', &line))
		lines[doc.addresses.n++] = arena_strndup(arena, line.p, line.n);
	if (metal_config_build(&(struct metal_doc){ .pools = &doc, .n_pools = 1 }, NULL, arena,
			       &config, &error) < 0) {
		if (!error.text || !*error.text)
			abort();
		return;
	}
	ipam = ipam_new();
	ipam_set_pools(ipam, &config, NULL, NULL);
	/* an address of IPv4 can be had exactly if the pool has some */
	if ((ipam_allocate(ipam, &request, &why) == 0) != config.pools->has4)
		abort();
	if (config.pools->has4 &&
	    !metal_pool_has(config.pools, &ipam_get(ipam, "a/b")->addresses[0]))
		abort();
	ipam_free(ipam);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct str rest = { (const char *)data + 1, size ? size - 1 : 0 };

	if (!size || size > 4096)
		return 0;
	if (data[0] == 'p')
		allocate(rest, arena);
	else
		convert(rest, arena);
	return 0;
}

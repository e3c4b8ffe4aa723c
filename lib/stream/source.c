/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/stream/source.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define PREFIX_BYTES 8 /* of IPv6: a /64 is one source */

static struct addr net_of(const struct endpoint *peer)
{
	struct addr net = peer->addr;

	assert(addr_is_set(&net));
	if (net.family == AF_INET6)
		memset(net.bytes + PREFIX_BYTES, 0, sizeof(net.bytes) - PREFIX_BYTES);
	return net;
}

static int compare(const void *a, const void *b)
{
	return addr_cmp(&((const struct stream__source *)a)->net,
			&((const struct stream__source *)b)->net);
}

struct stream__source *stream__source_find(void *const *tree, const struct endpoint *peer)
{
	const struct stream__source key = { .net = net_of(peer) };
	struct stream__source **node = tfind(&key, tree, compare);

	return node ? *node : NULL;
}

struct stream__source *stream__source_add(void **tree, const struct endpoint *peer, size_t size)
{
	struct stream__source *s = stream__source_find(tree, peer);

	if (!s) {
		const void *node;

		s = mem_zalloc(size);
		s->net = net_of(peer);
		node = tsearch(s, tree, compare);
		assert(node);
	}
	s->n++;
	return s;
}

void stream__source_remove(void **tree, struct stream__source *source)
{
	assert(source->n);
	if (--source->n)
		return;
	tdelete(source, tree, compare);
	free(source);
}

void stream__source_clear(void **tree)
{
	tdestroy(TAKE_PTR(*tree), free);
}

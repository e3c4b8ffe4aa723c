/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage: MESSAGE json|bytes. Converts a message of pb_test.proto from stdin to the other form on
 * stdout.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/pb/pb.h"
#include "lib/pb/pb_test.pb-c.h"

static const ProtobufCMessageDescriptor *const types[] = {
	&pbtest__tree__descriptor, &pbtest__scalars__descriptor, &pbtest__lists__descriptor,
	&pbtest__maps__descriptor, &pbtest__choice__descriptor,
};

static void read_all(struct buf *in)
{
	char part[4096];
	size_t n;

	while ((n = fread(part, 1, sizeof(part), stdin)) > 0)
		buf_add(in, part, n);
}

static int convert(const ProtobufCMessageDescriptor *type, bool from_json)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf in = { 0 }, out = { 0 };
	char reason[200] = "does not decode";
	ProtobufCMessage *m;
	struct str text;
	int r;

	read_all(&in);
	text = (struct str){ in.p, in.n };
	r = from_json ? pb_json_read(type, text, arena, &m, reason, sizeof(reason))
		      : pb_decode(type, text, NULL, arena, &m, NULL);
	if (r < 0) {
		fprintf(stderr, "%s\n", reason);
		return 1;
	}
	if (from_json)
		pb_encode(m, &out);
	else
		pb_json_write(m, PB_JSON_PRETTY, &out);
	return fwrite(out.p, 1, out.n, stdout) == out.n ? 0 : 1;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i]->short_name, argv[1]) == 0)
			return convert(types[i], strcmp(argv[2], "json") == 0);
	return 2;
}

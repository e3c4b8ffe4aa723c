/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acts: the actions of /admin/api/ as a table: the path, the form of the body, and the call to
 * maglevd, maglev-speaker or maglev-router that each becomes. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "lib/grpc/grpc.h"

struct act;

#define ACTS_WORDS_MAX 8 /* segments of the longest path */

enum acts_whose { ACTS_SERVER, ACTS_SPEAKER, ACTS_ROUTER };

/* The segments of the path after /admin/api/, percent-decoded. */
struct acts_words {
	size_t n;
	const char *items[ACTS_WORDS_MAX];
};

/*
 * Splits a path; the words are in the arena. -EINVAL if there are too many or a bad escape; *ret
 * is untouched then.
 */
int acts_split(struct str path, struct arena *arena, struct acts_words *ret);
/* Returns NULL if no act has this path. Whether the server exists is not checked. */
const struct act *acts_find(const struct acts_words *words);
const struct grpc_method *act_method(const struct act *act);
/* Which kind of server carries it out, and the name of that one. */
enum acts_whose act_whose(const struct act *act, const struct acts_words *words,
			  const char **ret_name);
int64_t act_timeout(const struct act *act); /* ns */
/*
 * Builds the request in the arena from the path and the JSON body. An empty body is the same as
 * {}. On failure returns -EINVAL with the key and the problem in reason, and *ret is untouched.
 */
int act_request(const struct act *act, const struct acts_words *words, struct str body,
		struct arena *arena, ProtobufCMessage **ret, struct buf *reason);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acts: what can be done through /admin/api/, as a table: the words of the path, the form of the
 * body, and the call to maglevd that it becomes. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "lib/grpc/grpc.h"

struct act;

#define ACTS_WORDS_MAX 8

/* The path behind /admin/api/, decoded. The first word is the name of a server. */
struct acts_words {
	size_t n;
	const char *items[ACTS_WORDS_MAX];
};

/* -EINVAL when there are too many words, or bad ones. */
int acts_split(struct str path, struct arena *arena, struct acts_words *ret);
/* NULL when there is no such act. */
const struct act *acts_find(const struct acts_words *words);
const struct grpc_method *act_method(const struct act *act);
int64_t act_timeout(const struct act *act); /* ns */
/*
 * The request, in the arena. An empty body is as good as {}. -EINVAL with the key and the trouble
 * in reason; *ret untouched then.
 */
int act_request(const struct act *act, const struct acts_words *words, struct str body,
		struct arena *arena, ProtobufCMessage **ret, struct buf *reason);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secure: TLS to the servers of a pool.
 *
 * Files are read once, when a document is read (secure_load()), so that what a generation uses does
 * not change with the file, and a rollback brings back what was used before. Contexts are known by
 * all that they are made of: generations share them, and connections stay, while nothing of that
 * changes. Made and released by the control thread; data threads use them as long as their
 * generation does.
 */
#pragma once

#include <stdint.h>

#include "core/l7/config.h"

struct secures;
struct tls_context;

struct secure {
	uint64_t id; /* of no other one ever; not 0 */
	struct tls_context *context;
	struct tls_context *probes; /* the same for HTTP/1.1, which probes speak */
	const char *name;	    /* NULL: the host of the server */
};

struct secures *secures_new(void);
/* All must have been released. NULL is allowed. */
void secures_free(struct secures *s);
/* NULL if no server of the pool has TLS. Never fails: secures_complain() tells what is wrong. */
struct secure *secures_take(struct secures *s, const struct l7_pool *pool);
/* -EINVAL, and why, if its certificates cannot be used. pool is its number in the document. */
int secures_complain(struct secure *secure, size_t pool, struct buf *why);
/* The same for all pools of a configuration, without a set. */
int secures_check(const struct l7_config *config, struct buf *why);
/* NULL is allowed. */
void secures_release(struct secure *secure);

/*
 * Reads the files that the pools of a configuration name into the arena of errors, which is that of
 * the configuration. -EINVAL if anything was added to errors. Used in the process that reads the
 * document, maybe a child: OpenSSL must not be used there, because a thread of the parent may have
 * had one of its locks.
 */
int secure_load(struct l7_config *config, const struct l7_doc *doc, struct errs *errors);

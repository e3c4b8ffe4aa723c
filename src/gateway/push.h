/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push: keeps every router at the document (document.h), over their admin API.
 *
 * Each router has at most one request under way. What a router gets is always the latest: changes
 * that come while a request is under way are sent together afterwards. Changes of servers alone are
 * sent pool by pool, everything else as a whole document.
 *
 *	UNKNOWN --GET /generation--> FOLLOWING <--> (a request is under way)
 *	   ^______________________________|  no answer, another process, or another configuration
 *
 * A router says which generation it has, which process it is, and the tag of the generation, which
 * is our digest of the document. It is asked every PUSH_POLL, so that one that has restarted is
 * filled again within a second, and one that another replica has already served is left alone.
 * Every change names the generation that it expects.
 *
 * A request that fails is repeated after 100 ms to 5 s; a router that does not answer at all is
 * asked every PUSH_POLL.
 *
 * A router that refuses an entry gets the others (document_refuse()). Nothing is sent before
 * push_open(). Logs what happens to routers.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/gateway/document.h"

#define PUSH_ROUTERS_MAX 256
#define PUSH_POLL INT64_C(250000000) /* ns */

struct push;

struct push_config {
	struct ev_loop *loop;
	struct document *document; /* borrowed */
	const char *token_file;	   /* of the bearer token; "": none */
	/* TLS to routers: authorities, and our certificate and key; "": none. ca "": plain HTTP. */
	const char *ca, *certificate, *key;
	const char *server_name; /* that the certificates of routers have; "": their address */
	/* A router got the whole document at a version, or refuses an address. May be NULL. */
	void (*applied)(uint64_t version, void *user);
	/* A router cannot listen on an address with a port. May be NULL. */
	void (*unusable)(const char *address, const char *why, void *user);
	/* An entry was left out. May be NULL. */
	void (*refused)(enum document_part part, const char *name, const char *why, void *user);
	void *user;
};

/* -EINVAL if certificates or the token cannot be read, which is logged. */
int push_new(const struct push_config *config, struct push **ret);
void push_free(struct push *p); /* NULL is allowed */

/* The document is complete: from now on routers get it. */
void push_open(struct push *p);
/* The document has changed. Cheap; routers get it from the loop. */
void push_changed(struct push *p);
/*
 * The routers: "address:port" or "name:port", each once. Those that are known stay as they are.
 * What is not an address, and more than PUSH_ROUTERS_MAX, is left out and logged.
 */
void push_set_routers(struct push *p, const char *const *addresses, size_t n);

/* A router as it is shown. */
struct push_view {
	const char *name;
	bool connected; /* it answers */
	bool current;	/* it has the latest document */
	uint64_t generation, pushes, small, failures;
	const char *error; /* the last one, while it lasts; "" */
};

size_t push_count(const struct push *p);
struct push_view push_at(const struct push *p, size_t i); /* by name */
/* How long routers took for whole documents and for servers: sums of ns, and numbers. */
struct push_stats {
	uint64_t whole, servers, polls, refused;
	int64_t whole_time, servers_time;
};
const struct push_stats *push_stats(const struct push *p);

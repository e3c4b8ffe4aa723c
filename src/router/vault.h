/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault: the TLS contexts of listeners, and the keys of session tickets.
 *
 * A context is found by what it is made of: the settings of its listener, the text of what is
 * written in the document, and for each file its inode, size and times. So generations share it
 * until one of these changes, and a change of routes reads no file. Session tickets outlive all of
 * them: their keys belong to the vault, and so to the process and its successor.
 *
 * For the control thread. Data threads read the context of an item that their generation holds, and
 * the door.
 */
#pragma once

#include "core/l7/config.h"
#include "lib/tls/tls.h"

struct vault;

struct vault_item {
	struct tls_context *context;
	/* the rest is private */
	char *made_of;
	unsigned users;
};

/* choose() of the door, see lib/tls/tls.h. NULL if OpenSSL's configuration is invalid. */
struct vault *vault_new(struct tls_context *(*choose)(void *user, struct str name));
void vault_free(struct vault *v);
/* The context with which every connection begins: choose() finds the one that it goes on with. */
struct tls_context *vault_door(const struct vault *v);
struct tls_tickets *vault_tickets(const struct vault *v);

/* Takes the context of those settings; made if there is none. As tls_context_new(). */
int vault_take(struct vault *v, const struct tls_config *config, struct vault_item **ret,
	       struct tls_refusal *why);
struct vault_item *vault_hold(struct vault_item *item);
/* NULL is allowed. Items without users stay until vault_sweep(). */
void vault_give(struct vault_item *item);
void vault_sweep(struct vault *v);

/*
 * Takes the items of all listeners into ret, by their number; NULL for those without certificates.
 * -EINVAL with the key and the reason in why; nothing is taken then.
 */
int vault_take_all(struct vault *v, const struct l7_config *c, struct vault_item **ret,
		   struct buf *why);
/* Whether that would succeed. */
int vault_check(struct vault *v, const struct l7_config *c, struct buf *why);

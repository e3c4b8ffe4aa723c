/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity: what shows the server who we are: a header and a TLS context, renewed when they change.
 *
 * Sources: texts of the configuration; files, which are looked at again when they changed, at most
 * once every IDENTITY_PERIOD and after a refusal; the answer of an exec plugin, until it expires.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "lib/k8s/config.h"
#include "lib/loop/loop.h"

struct k8s__identity;
struct tls_context;

struct k8s__identity *k8s__identity_new(struct ev_loop *loop, const struct k8s_config *config,
					void (*changed)(void *user), void *user);
void k8s__identity_free(struct k8s__identity *i);

/*
 * 0 if the identity can be used now; -EAGAIN if an exec plugin runs: changed() is called at its
 * end; -ENOKEY with the reason if it cannot be had.
 */
int k8s__identity_ready(struct k8s__identity *i);
const char *k8s__identity_reason(const struct k8s__identity *i);
/* The value of Authorization; NULL: none. */
const char *k8s__identity_header(const struct k8s__identity *i);
/* NULL: plain HTTP. Borrowed until k8s__identity_ready() is called again. */
struct tls_context *k8s__identity_tls(const struct k8s__identity *i);
/* The server has refused it (401): everything is read again before the next use. */
void k8s__identity_refused(struct k8s__identity *i);
uint64_t k8s__identity_renewals(const struct k8s__identity *i);

/* Pure: the answer of an exec plugin. Texts are in the arena; NULL if absent. */
struct k8s_credential {
	const char *token, *certificate, *key;
	int64_t expires; /* ns since the epoch; 0: never */
};
/* -EINVAL with complaints in errors; *ret is untouched then. */
int k8s_credential_parse(struct str text, const char *api_version, struct arena *arena,
			 struct k8s_credential *ret, struct errs *errors);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webhook: refuses resources that would make the configuration invalid, and converts BGPPeers.
 *
 * Every replica answers, whether it leads or not. The listener opens when there are certificates.
 */
#pragma once

#include "lib/loop/loop.h"

struct controller;
struct options;
struct webhook;

enum webhook_result {
	WEBHOOK_ALLOWED,
	WEBHOOK_DENIED,
	WEBHOOK_CONVERTED,
	WEBHOOK_FAILED, /* the request cannot be answered */
	WEBHOOK_RESULTS,
};

struct webhook *webhook_new(struct ev_loop *loop, const struct options *options,
			    const struct controller *controller);
void webhook_free(struct webhook *w); /* NULL is allowed */
/*
 * Serves with these certificates (PEM) from now on. A failure is logged; what was served before
 * goes on.
 */
void webhook_use(struct webhook *w, const char *certificate, const char *key);
/* Why nothing is served yet; NULL: it is. */
const char *webhook_unready(const struct webhook *w);
const char *webhook_result_name(enum webhook_result r);
uint64_t webhook_count(const struct webhook *w, enum webhook_result r);
/* When the certificate that is served ends, in seconds since the epoch; 0: none is served. */
int64_t webhook_certificate_ends(const struct webhook *w);

/* SPDX-License-Identifier: Apache-2.0 */
/* request: the bytes of a request, and what a bad answer says. Pure. */
#pragma once

#include "lib/k8s/client.h"

struct k8s__request {
	const char *method;
	const char *content_type; /* NULL: no body */
	struct buf target;	  /* path and query */
	struct buf body;
};

/* -EINVAL if the config makes no request. To be freed in both cases. */
int k8s__request_make(struct k8s__request *r, const char *prefix,
		      const struct k8s_call_config *config);
void k8s__request_free(struct k8s__request *r);

/*
 * What a bad answer says (a Status). Texts are "" if absent, printable, and cut if they are long.
 */
struct k8s_status {
	enum k8s_code code;
	char reason[64];
	char message[512];
};

void k8s_status_parse(unsigned http, struct str body, struct k8s_status *ret);

/* SPDX-License-Identifier: Apache-2.0 */
/* options: flags and environment of maglev-controller. */
#pragma once

#include "lib/daemon/daemon.h"
#include "lib/operator/options.h"

struct options {
	struct operator_options operator;
	const char *lb_class;	     /* "": services without a class */
	const char *webhook_addr;    /* "": no webhooks */
	const char *webhook_secret;  /* the Secret with the certificates */
	const char *webhook_service; /* whose name the certificate has */
	const char
		*webhook_config; /* the ValidatingWebhookConfiguration whose caBundle is written */
	const char *metrics_addr;
	struct daemon_log log;
};

/* Prints and exits if the command line is wrong, and for --help and --version. */
void options_parse(struct options *o, int argc, char *const argv[]);

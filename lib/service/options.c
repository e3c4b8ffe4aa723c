/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/service/options.h"

#include <stdio.h>
#include <stdlib.h>

static void require(const char *program, const char *flag, bool there, const char *other,
		    bool other_there)
{
	if (!there || other_there)
		return;
	fprintf(stderr, "%s: --%s needs --%s\n", program, flag, other);
	exit(CLI_STATUS_USAGE);
}

/* Half of a TLS setup would protect nothing. */
void service_options_check(const struct service_options *o, const char *program)
{
	require(program, "grpc-tls-cert", o->certificate, "grpc-tls-key", o->key);
	require(program, "grpc-tls-key", o->key, "grpc-tls-cert", o->certificate);
	require(program, "grpc-client-ca", o->client_ca, "grpc-tls-cert", o->certificate);
	require(program, "grpc-operators", o->operators.n, "grpc-client-ca", o->client_ca);
	require(program, "grpc-delegates", o->delegates.n, "grpc-client-ca", o->client_ca);
}

void service_options_free(struct service_options *o)
{
	cli_list_free(&o->operators);
	cli_list_free(&o->delegates);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* options: the flags of a program with a Kubernetes client, as rows of its table of flags. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cli/cli.h"

/* What has no row in the table of a program stays zero: no lease, no dry run. */
struct operator_options {
	const char *kubeconfig, *context; /* "": as kubectl chooses them */
	const char *namespace;		  /* of the lease; "": that of the configuration */
	size_t api_rate;		  /* requests a second, and twice as many at once */
	bool leader_elect;
	const char *lease_name;
	int64_t lease_duration; /* ns */
	bool dry_run;
};

/*
 * The rows. prefix is that of the environment variables, such as "MAGLEV_MUX_"; to is the struct
 * operator_options that gets the values.
 */
#define OPERATOR_CLIENT_OPTIONS(prefix, to)                                                        \
	{ .name = "kubeconfig",                                                                    \
	  .kind = CLI_STRING,                                                                      \
	  .env = prefix "KUBECONFIG",                                                              \
	  .fallback = "",                                                                          \
	  .argument = "FILE",                                                                      \
	  .help = "how the API server is reached; empty: as kubectl, or from within the pod",      \
	  .string = &(to).kubeconfig },                                                            \
		{ .name = "context",                                                               \
		  .kind = CLI_STRING,                                                              \
		  .env = prefix "CONTEXT",                                                         \
		  .fallback = "",                                                                  \
		  .argument = "NAME",                                                              \
		  .help = "context of the kubeconfig; empty: its current one",                     \
		  .string = &(to).context },                                                       \
		{ .name = "namespace",                                                             \
		  .kind = CLI_STRING,                                                              \
		  .env = prefix "NAMESPACE",                                                       \
		  .fallback = "",                                                                  \
		  .argument = "NAME",                                                              \
		  .help = "the program's own namespace; empty: that of the pod or context",        \
		  .string = &(to).namespace },                                                     \
	{                                                                                          \
		.name = "api-rate", .kind = CLI_COUNT, .env = prefix "API_RATE",                   \
		.fallback = "100",                                                                 \
		.help = "requests a second to the API server; twice as many at once",              \
		.count = &(to).api_rate                                                            \
	}

#define OPERATOR_LEADER_OPTIONS(prefix, to, lease)                                                 \
	{ .name = "leader-elect",                                                                  \
	  .kind = CLI_BOOL,                                                                        \
	  .env = prefix "LEADER_ELECT",                                                            \
	  .fallback = "true",                                                                      \
	  .help = "only one of several replicas acts: the one that holds the Lease",               \
	  .boolean = &(to).leader_elect },                                                         \
		{ .name = "lease-name",                                                            \
		  .kind = CLI_STRING,                                                              \
		  .env = prefix "LEASE_NAME",                                                      \
		  .fallback = lease,                                                               \
		  .argument = "NAME",                                                              \
		  .help = "name of that Lease, in the program's own namespace",                    \
		  .string = &(to).lease_name },                                                    \
	{                                                                                          \
		.name = "lease-duration", .kind = CLI_DURATION, .env = prefix "LEASE_DURATION",    \
		.fallback = "15s", .help = "after this time without a renewal another one leads",  \
		.duration = &(to).lease_duration                                                   \
	}

#define OPERATOR_DRY_RUN_OPTION(prefix, to)                                                        \
	{                                                                                          \
		.name = "dry-run", .kind = CLI_BOOL, .env = prefix "DRY_RUN", .fallback = "false", \
		.help = "write nothing to the cluster; tell what would be written",                \
		.boolean = &(to).dry_run                                                           \
	}

/* Prints and exits if a value makes no sense. */
void operator_options_check(const struct operator_options *o, const char *program);

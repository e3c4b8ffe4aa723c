/* SPDX-License-Identifier: Apache-2.0 */
/* options: the flags of a daemon that serves a gRPC API, as rows of its table of flags. */
#pragma once

#include <stdbool.h>

#include "lib/cli/cli.h"

struct service_options {
	const char *addr;			   /* empty: not served */
	const char *certificate, *key, *client_ca; /* NULL: none */
	struct cli_list operators, delegates;
	size_t max_per_client;
	bool reflection;
};

/*
 * The rows. prefix is that of the environment variables, such as "MAGLEV_"; to is the struct
 * service_options that gets the values; where is the default of --grpc-addr.
 */
#define SERVICE_OPTIONS(prefix, to, where)                                                         \
	{ .name = "grpc-addr",                                                                     \
	  .kind = CLI_STRING,                                                                      \
	  .env = prefix "GRPC_ADDR",                                                               \
	  .fallback = where,                                                                       \
	  .argument = "ADDR",                                                                      \
	  .help = "where the API is served; empty: nowhere",                                       \
	  .string = &(to).addr },                                                                  \
		{ .name = "grpc-tls-cert",                                                         \
		  .kind = CLI_STRING,                                                              \
		  .env = prefix "GRPC_TLS_CERT",                                                   \
		  .argument = "FILE",                                                              \
		  .help = "certificate of the API, PEM; without it the API is plaintext",          \
		  .string = &(to).certificate },                                                   \
		{ .name = "grpc-tls-key",                                                          \
		  .kind = CLI_STRING,                                                              \
		  .env = prefix "GRPC_TLS_KEY",                                                    \
		  .argument = "FILE",                                                              \
		  .help = "key of that certificate",                                               \
		  .string = &(to).key },                                                           \
		{ .name = "grpc-client-ca",                                                        \
		  .kind = CLI_STRING,                                                              \
		  .env = prefix "GRPC_CLIENT_CA",                                                  \
		  .argument = "FILE",                                                              \
		  .help = "clients of the API must show a certificate signed by one of these",     \
		  .string = &(to).client_ca },                                                     \
		{ .name = "grpc-operators",                                                        \
		  .kind = CLI_LIST,                                                                \
		  .env = prefix "GRPC_OPERATORS",                                                  \
		  .argument = "NAME,...",                                                          \
		  .help = "common names of client certificates that may change things; others "    \
			  "read",                                                                  \
		  .list = &(to).operators },                                                       \
		{ .name = "grpc-delegates",                                                        \
		  .kind = CLI_LIST,                                                                \
		  .env = prefix "GRPC_DELEGATES",                                                  \
		  .argument = "NAME,...",                                                          \
		  .help = "common names of client certificates that may name another operator: "   \
			  "those of dashboards",                                                   \
		  .list = &(to).delegates },                                                       \
		{ .name = "grpc-max-per-client",                                                   \
		  .kind = CLI_COUNT,                                                               \
		  .env = prefix "GRPC_MAX_PER_CLIENT",                                             \
		  .fallback = "1024",                                                              \
		  .help = "connections to the API from one IPv4 address or IPv6 /64, of 4096 in "  \
			  "all; clients on this machine have no such limit",                       \
		  .count = &(to).max_per_client },                                                 \
	{                                                                                          \
		.name = "reflection", .kind = CLI_BOOL, .env = prefix "REFLECTION",                \
		.fallback = "true", .help = "let clients of the API ask what it offers",           \
		.boolean = &(to).reflection                                                        \
	}

/* Prints and exits if flags are missing that are needed together. */
void service_options_check(const struct service_options *o, const char *program);
void service_options_free(struct service_options *o);

/* SPDX-License-Identifier: Apache-2.0 */
/* options: frr-reloader's flags and environment variables. */
#pragma once

#include "lib/cli/cli.h"
#include "lib/daemon/daemon.h"

struct options {
	const char *volume;	  /* folder of lock, pid and status files */
	const char *socket;	  /* of the requests; made from volume if it is not given */
	const char *config;	  /* the configuration that is wanted */
	const char *vty_dir;	  /* where FRR's sockets are */
	const char *reload;	  /* frr-reload.py */
	const char *vtysh;	  /* vtysh */
	const char *pathspace;	  /* FRR's -N; "": none */
	const char *metrics_addr; /* "": no TCP listener */
	int64_t timeout;	  /* ns for frr-reload.py, each of its two runs */
	int64_t vty_timeout;	  /* ns for each answer of a daemon */
	bool fast_path;
	struct daemon_log log;
	bool check;
	char *made_socket, *made_vty_dir; /* owned; where the fields above were not given */
};

/* Fills *o. For --help, --version and errors prints a text and ends the process. */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);

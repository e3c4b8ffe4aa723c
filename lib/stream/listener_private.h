/* SPDX-License-Identifier: Apache-2.0 */
/* listener: what listener.c needs of listener_socket.c. */
#pragma once

#include <sys/types.h>

#include "base/addr.h"
#include "lib/stream/listener.h"

#define STREAM__BACKLOG 1024

/* A socket that listens. */
struct stream__bound {
	int fd;
	struct endpoint at; /* TCP: with the real port */
	dev_t dev;	    /* Unix with a path: the file that was made */
	ino_t ino;
};

/* Both leave *ret untouched on failure; the errors are those of stream_listener_open(). */
int stream__listen_tcp(const struct stream_listener_config *c, struct stream__bound *ret);
int stream__listen_unix(const struct stream_listener_config *c, struct stream__bound *ret);
/*
 * What a descriptor from elsewhere is bound to. *ret_path is the name of a Unix socket ("@..."
 * abstract, "" none), to be freed, and NULL for TCP.
 */
int stream__inspect(int fd, struct endpoint *ret_at, char **ret_path);
/* Removes the file if it is still the one with this number. */
void stream__remove_file(const char *path, dev_t dev, ino_t ino);

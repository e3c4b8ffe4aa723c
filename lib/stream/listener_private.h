/* SPDX-License-Identifier: Apache-2.0 */
/* listener: functions of listener_socket.c for listener.c. */
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include "base/addr.h"
#include "lib/stream/listener.h"

#define STREAM__BACKLOG 1024

/* A listening socket. */
struct stream__bound {
	int fd;
	struct endpoint at; /* TCP: with the real port */
	dev_t dev;	    /* Unix with a path: the file that was created */
	ino_t ino;
};

/* Both leave *ret untouched on failure; the errors are those of stream_listener_open(). */
int stream__listen_tcp(const struct stream_listener_config *c, struct stream__bound *ret);
int stream__listen_unix(const struct stream_listener_config *c, struct stream__bound *ret);
/*
 * Checks an adopted descriptor and returns its address. *ret_path is NULL for TCP, else the name of
 * the Unix socket ("@..." if abstract, "" if unnamed), which the caller frees. -EINVAL if it is not
 * a listening stream socket.
 */
int stream__inspect(int fd, struct endpoint *ret_at, char **ret_path);
/*
 * Fills the address of a Unix socket, a path or "@name", and returns its length. -EINVAL for "",
 * -ENAMETOOLONG above 107 bytes.
 */
int stream__unix_address(const char *path, struct sockaddr_un *ret);
/* Removes the file if it still has this device and inode. */
void stream__remove_file(const char *path, dev_t dev, ino_t ino);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: a listening socket on a loop, TCP or Unix.
 *
 * Hands each connection to its owner as a non-blocking descriptor. Accepting is a task
 * (lib/loop/task.h): a flood of connections shares the turn's budget with everything else.
 *
 * Accepting pauses in two cases. When descriptors or memory run out, it pauses for a tenth of a
 * second, because the socket stays readable and asking again at once would only spin. When
 * max_open connections are open, it pauses until the owner releases one; those that come meanwhile
 * wait in the kernel's queue.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "lib/loop/task.h"

/* A callback may call any function of the listener and may free its memory after closing it. */
struct stream_listener_events {
	/* A connection; fd is the owner's from now on. The peer of a Unix socket is none. */
	void (*accepted)(int fd, struct endpoint peer, void *user);
	/* Out of descriptors or memory: closing something helps. */
	void (*starved)(int error, void *user);
	void *user;
	/* Accepting paused at max_open; stream_listener_release() resumes it. May be NULL. */
	void (*full)(void *user);
};

struct stream_listener_config {
	/*
	 * TCP. No address: any, both families (or IPv4 alone on a machine that has no IPv6); port
	 * 0: any free one.
	 */
	struct endpoint at;
	/*
	 * A Unix socket instead: a path, or "@name" for an abstract name, to which everybody in the
	 * network namespace can connect. A file that a dead process left is replaced.
	 */
	const char *path;
	mode_t mode;	   /* of the socket's file, whatever the umask is; 0: 0600 */
	unsigned backlog;  /* connections that wait to be accepted; 0: 1024 */
	unsigned max_open; /* connections not yet released; 0: no bound */
	/* Of one IPv4 address or IPv6 /64; further ones are closed. 0: no bound. */
	unsigned max_per_source;
	bool reuse_port; /* several listeners, one per thread, share the address */
};

/* Fields are the room's own, but fd, bound, path, open and refused may be read. */
struct stream_listener {
	struct task task;
	struct stream_listener_events events;
	ev_io acceptable;
	ev_timer pause;
	struct endpoint bound; /* where it listens, with the port that was found; Unix: none */
	char *path;	       /* Unix: as configured or, adopted, as bound; NULL: TCP */
	void *sources;	       /* with max_per_source: connections of each */
	uint64_t refused;      /* closed because of max_per_source, or of max_open in a drain */
	dev_t file_dev;	       /* the socket's file that is ours */
	ino_t file_ino;	       /* 0: none */
	bool *gone;	       /* set when the listener is closed in a callback */
	unsigned backlog, max_open, max_per_source;
	unsigned open; /* connections not yet released; counted only with one of the bounds */
	int fd;	       /* -1 when closed */
};

/*
 * *l must stay in place until closed. -errno of socket, bind or listen; *l untouched then. For
 * a path: -EADDRINUSE when a process listens there (or is just opening it), -EEXIST when the file
 * is not a socket, -ENAMETOOLONG above 107 bytes.
 */
int stream_listener_open(struct stream_listener *l, struct ev_loop *loop,
			 const struct stream_listener_config *config,
			 const struct stream_listener_events *events);
/*
 * The same with a listening socket that was opened elsewhere: by systemd, or by a former process.
 * at, path, mode and reuse_port of the config are not used. The file of a Unix socket stays at
 * close; its maker removes it. On success the descriptor is the listener's; it becomes non-blocking
 * and close-on-exec. -EINVAL when it is not a listening stream socket of TCP or Unix.
 */
int stream_listener_adopt(struct stream_listener *l, struct ev_loop *loop, int fd,
			  const struct stream_listener_config *config,
			  const struct stream_listener_events *events);
/* The other side: takes the socket away for another process. Its file stays. */
int stream_listener_give(struct stream_listener *l);
/*
 * A connection of that peer is over. With max_open or max_per_source the owner calls it once for
 * each accepted one, after closing it; without them it has no effect.
 */
void stream_listener_release(struct stream_listener *l, const struct endpoint *peer);
/*
 * Closes. Connections whose handshake is done are handed over first, at most as many as the
 * backlog: closing would reset them. Those above max_open are closed.
 */
void stream_listener_drain(struct stream_listener *l);
/*
 * Removes the file if it is still the one made here. Twice is fine. Connections can still be
 * released afterwards.
 */
void stream_listener_close(struct stream_listener *l);

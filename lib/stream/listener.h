/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: a listening socket on a loop, TCP or Unix.
 *
 * Passes each accepted connection to its owner as a non-blocking descriptor. Accepting is a task
 * (lib/loop/task.h), so a flood of connections shares the turn's time budget with everything else.
 *
 * Accepting pauses in two cases. If descriptors or memory run out, it pauses for 100 ms, because
 * the socket stays readable and trying again at once would spin. If max_open connections are open,
 * it pauses until the owner releases one; new connections wait in the kernel's queue meanwhile.
 *
 * A listener belongs to the thread of its loop. Several threads share a port with a listener each
 * and reuse_port; the kernel distributes the connections.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "lib/loop/task.h"

/* A callback may call any function of the listener and may free its memory after closing it. */
struct stream_listener_events {
	/* A new connection. The callback owns fd. peer is unset for a Unix socket. */
	void (*accepted)(int fd, struct endpoint peer, void *user);
	/* accept() has failed for lack of descriptors or memory; the owner may close something. */
	void (*starved)(int error, void *user);
	void *user;
	/* Accepting paused at max_open; stream_listener_release() resumes it. May be NULL. */
	void (*full)(void *user);
};

struct stream_listener_config {
	/*
	 * TCP. No address means any, both families (IPv4 only on a machine without IPv6); port 0
	 * means any free port.
	 */
	struct endpoint at;
	/*
	 * If not NULL, a Unix socket: a path, or "@name" for an abstract name, to which every
	 * process in the network namespace can connect. A stale socket file is replaced.
	 */
	const char *path;
	mode_t mode;	   /* of the socket's file, regardless of the umask; 0: 0600 */
	unsigned backlog;  /* of listen(); 0: 1024 */
	unsigned max_open; /* connections not yet released; 0: no bound */
	/* Open connections per IPv4 address or IPv6 /64; more are closed. 0: no bound. */
	unsigned max_per_source;
	bool reuse_port; /* SO_REUSEPORT: several listeners, one per thread, share the address */
};

/* Owners may read fd, bound, path, open and refused; all other members are private. */
struct stream_listener {
	struct task task;
	struct stream_listener_events events;
	ev_io acceptable;
	ev_timer pause;
	struct endpoint bound; /* the address with the real port; unset for Unix */
	char *path;	       /* Unix: as configured or, if adopted, as bound; NULL: TCP */
	void *sources;	       /* with max_per_source: a tree of struct stream__source */
	uint64_t refused;      /* closed because of max_per_source, or of max_open in a drain */
	dev_t file_dev;	       /* device and inode of the socket file that we created */
	ino_t file_ino;	       /* 0: none */
	bool leaving;	       /* see stream_listener_leave() */
	bool *gone;	       /* set to true if a callback closes the listener; NULL: none runs */
	unsigned backlog, max_open, max_per_source;
	unsigned open; /* connections not yet released; counted only with one of the bounds */
	int fd;	       /* -1 when closed */
};

/*
 * *l must stay in place until it is closed; config and events are copied. Returns -errno of socket,
 * bind or listen and leaves *l untouched. For a path: -EADDRINUSE if a process listens there or is
 * just opening it, -EEXIST if the file is not a socket, -ENAMETOOLONG above 107 bytes.
 */
int stream_listener_open(struct stream_listener *l, struct ev_loop *loop,
			 const struct stream_listener_config *config,
			 const struct stream_listener_events *events);
/*
 * The same with a listening socket that was opened elsewhere: by systemd, or by an earlier process.
 * at, path, mode and reuse_port of the config are ignored. The file of a Unix socket is not removed
 * at close, because we did not create it. On success the listener owns fd, which becomes
 * non-blocking and close-on-exec. -EINVAL if it is not a listening TCP or Unix stream socket.
 */
int stream_listener_adopt(struct stream_listener *l, struct ev_loop *loop, int fd,
			  const struct stream_listener_config *config,
			  const struct stream_listener_events *events);
/*
 * A listening TCP socket alone, for a listener on another thread (stream_listener_adopt()). Returns
 * the descriptor or -errno; *ret_at, which may be NULL, gets the address with the real port.
 */
int stream_listen(const struct stream_listener_config *config, struct endpoint *ret_at);
/*
 * Whether stream_listener_adopt() would take the socket, which stays as it is. *ret_at gets its
 * address, unset for a Unix socket. -EINVAL if not.
 */
int stream_listener_inspect(int fd, struct endpoint *ret_at);
/*
 * Closes the listener, because another process has a copy of its socket and goes on with it:
 * connections that wait, and the file of a Unix socket, are left to that process. The socket itself
 * is closed at the next turn of the loop, or by stream_listener_close(); until then *l must stay in
 * place.
 */
void stream_listener_leave(struct stream_listener *l);
/* Closes the listener but returns its socket, for another process. The file stays. -1: none. */
int stream_listener_give(struct stream_listener *l);
/*
 * A connection of that peer has been closed. With max_open or max_per_source the owner calls this
 * once for each accepted connection, after closing it; without them it has no effect.
 */
void stream_listener_release(struct stream_listener *l, const struct endpoint *peer);
/*
 * Closes the listener. Connections that wait to be accepted are accepted first, at most as many as
 * the backlog, because close() would reset them. Those above max_open are closed.
 */
void stream_listener_drain(struct stream_listener *l);
/*
 * Closes the listener, and removes the socket file if it is still the one created here. May be
 * called twice. Connections can still be released afterwards.
 */
void stream_listener_close(struct stream_listener *l);

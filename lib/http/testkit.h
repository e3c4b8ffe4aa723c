/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: clients of a server under test, on the same loop and in the same process.
 *
 * A test says what it waits for; the loop turns until that is so, and a test that waits for more
 * than KIT_PATIENCE fails. No sleeps.
 */
#pragma once

#include "lib/http/server.h"

#define KIT_PATIENCE 20.0 /* s */

struct kit {
	struct ev_loop *loop;
	struct http_server *server;
};

struct client {
	struct kit *kit;
	int fd;
	ev_io io;
	ev_timer sip;
	struct buf in; /* everything received */
	bool closed;   /* by the server; also when reset */
	bool reset;
};

/* Listens on 127.0.0.1, port 0, or where config says. */
void kit_start(struct kit *kit, struct http_server_config config);
void kit_stop(struct kit *kit);

/* Turns the loop until cond(arg); fails the test when that takes too long. */
void kit_wait(struct kit *kit, bool (*cond)(void *arg), void *arg);

struct client *client_new(struct kit *kit);
/* Connects to another address that reaches the server. NULL when there is no such address here. */
struct client *client_new_at(struct kit *kit, struct endpoint e);
struct client *client_new_unix(struct kit *kit, const char *path);
void client_free(struct client *c);
void client_send(struct client *c, const char *text);
/* Stops or resumes taking what the server sends. */
void client_set_reading(struct client *c, bool reading);
/* Takes a little every 10 ms from now on, through a small receive buffer. */
void client_set_slow(struct client *c);
/* Until that text has come, anywhere. */
void client_expect(struct client *c, const char *text);
/* Until the server has closed. */
void client_expect_close(struct client *c);
size_t client_count(struct client *c, const char *text);
const char *client_text(struct client *c);

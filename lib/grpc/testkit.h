/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: a server of grpc_test.Test, clients of it, and raw connections, all on one loop.
 *
 * A test waits for a condition: the loop runs until it is true, and the test fails after
 * KIT_PATIENCE. There are no sleeps.
 */
#pragma once

#include "lib/grpc/client.h"
#include "lib/grpc/grpc_test.pb-c.h"
#include "lib/grpc/server.h"

#define KIT_PATIENCE 20.0 /* s */

struct kit {
	struct ev_loop *loop;
	struct grpc_server *server;
	struct grpc_client *client;
	struct grpc_call *watcher; /* the last call of Watch or Hang; NULL after its cancellation */
	int handled, cancelled;
	int traced;
	enum grpc_status traced_status;
	char traced_path[64];
	int connected, disconnected;
	char why[128];
};

extern const struct grpc_method kit_echo, kit_who, kit_fail, kit_hang, kit_count, kit_watch;
extern const unsigned char kit_protoset[];
extern const size_t kit_protoset_size;

/* Listens on 127.0.0.1, port 0; the rest is as in config. The client connects when first used. */
void kit_start(struct kit *kit, struct grpc_server_config config);
void kit_stop(struct kit *kit);
/* A client of the kit's server; its state() updates the kit's counters. */
struct grpc_client *kit_client(struct kit *kit, struct grpc_client_config config);
/* Replaces the kit's own client. */
void kit_reconnect(struct kit *kit, struct grpc_client_config config);
void kit_wait(struct kit *kit, bool (*cond)(void *arg), void *arg);
/* Runs the loop until *number is at least n. */
void kit_wait_int(struct kit *kit, const int *number, int n);
/* Runs one turn of the loop, without waiting. */
void kit_turn(struct kit *kit);

/* One call and its result. To be zeroed before use. */
struct heard {
	struct grpc_client_call *call;
	int messages, done;
	enum grpc_status status;
	char text[256];	  /* of done */
	char note[256];	  /* of the last message */
	uint32_t n;	  /* of it */
	size_t data_size; /* of it */
	bool cancel_on_message;
	bool free_client_on_done;
	struct kit *kit;
};

void kit_call(struct kit *kit, struct heard *h, const struct grpc_method *method, const char *text,
	      uint32_t n, int64_t timeout);
void kit_call_with_data(struct kit *kit, struct heard *h, const struct grpc_method *method,
			size_t size);
void kit_wait_done(struct kit *kit, struct heard *h);
void kit_wait_messages(struct kit *kit, struct heard *h, int n);

/* Sends a message to the last watcher. */
int kit_send(struct kit *kit, const char *text, size_t data_size);

/* A plain TCP connection on which a test sends any bytes. */
struct raw {
	struct kit *kit;
	int fd;
	ev_io io;
	struct buf in;
	bool closed, paused;
};

struct raw *raw_new(struct kit *kit);
void raw_free(struct raw *r);
/* Sends all n bytes and runs the loop meanwhile. False if the server has closed. */
bool raw_send(struct raw *r, const void *p, size_t n);
void raw_preface(struct raw *r); /* with empty SETTINGS */
bool raw_frame(struct raw *r, unsigned type, unsigned flags, uint32_t stream, struct str payload);
/* Sends HEADERS of a call with END_HEADERS; extra is HPACK appended to the usual fields. */
bool raw_request(struct raw *r, uint32_t stream, const char *path, struct str extra, bool end);
void raw_wait_close(struct raw *r);
/* The error code of the received GOAWAY, or -1. */
int raw_goaway(const struct raw *r);
/* The number of received frames of a type, and the payload of the last one. */
size_t raw_count(const struct raw *r, unsigned type, uint32_t stream, struct str *ret_last);
/* Appends an HPACK literal field without indexing. */
void raw_field(struct buf *to, const char *name, const char *value);

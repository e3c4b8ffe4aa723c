/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask: makes HTTP requests, one per line of its input.
 *
 *	ask HOST PORT [SOCKET [SERVER-NAME]]
 *
 * PORT 0 with a SOCKET asks a Unix socket; a SERVER-NAME means TLS. Each line of the input is
 * "METHOD PATH" or "METHOD PATH BYTES", with a body of that many bytes in slices. Each answer is a
 * line "STATUS LENGTH" with the body after it, or "error REASON"; the last line has figures.
 *
 * Between two requests the program blocks. A kept connection that was closed meanwhile is noticed
 * only when the next request is sent, as in a busy program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/http/client.h"
#include "lib/tls/tls.h"

struct asker {
	struct ev_loop *loop;
	struct http_client *client;
	struct http_target target;
	size_t left; /* bytes of the body still to send */
	bool done;
};

static enum http_stream_state produce(struct buf *out, void *user)
{
	struct asker *a = user;

	for (size_t i = 0; a->left && i < HTTP_SLICE; i++, a->left--)
		buf_addc(out, (char)('a' + a->left % 23));
	return a->left ? HTTP_STREAM_MORE : HTTP_STREAM_END;
}

static void on_source_closed(bool whole, void *user)
{
}

static void on_done(const struct http_result *result, void *user)
{
	struct asker *a = user;

	if (result->error) {
		printf("error %s\n", result->reason);
	} else {
		printf("%u %zu\n", result->head->status, result->body.n);
		fwrite(result->body.p, 1, result->body.n, stdout);
	}
	fflush(stdout);
	a->done = true;
}

static void ask(struct asker *a, const char *method, const char *path)
{
	const struct http_stream source = { produce, on_source_closed, a, 0 };
	const struct http_call_config config = { .target = a->target,
						 .method = method,
						 .path = path,
						 .source = a->left ? &source : NULL,
						 .max_body = (size_t)64 * 1024 * 1024,
						 .done = on_done,
						 .user = a };
	struct http_call *call;

	a->done = false;
	if (http_call(a->client, &config, &call) < 0) {
		printf("error that cannot be asked\n");
		fflush(stdout);
		return;
	}
	while (!a->done)
		ev_run(a->loop, EVRUN_ONCE);
}

static void ask_lines(struct asker *a)
{
	char line[4096], method[32], path[4000];

	while (fgets(line, sizeof(line), stdin)) {
		a->left = 0;
		if (sscanf(line, "%31s %3999s %zu", method, path, &a->left) >= 2)
			ask(a, method, path);
	}
}

static const char *argument(int argc, char **argv, int i)
{
	return i < argc && *argv[i] ? argv[i] : NULL;
}

int main(int argc, char **argv)
{
	struct asker a = { .loop = ev_loop_new(EVFLAG_AUTO) };
	const struct http_client_stats *stats;
	struct tls_context *tls = NULL;

	if (argc < 3)
		return 2;
	a.client = http_client_new(a.loop, NULL);
	a.target = (struct http_target){ .host = argv[1],
					 .port = (uint16_t)strtoul(argv[2], NULL, 10),
					 .socket = argument(argc, argv, 3),
					 .server_name = argument(argc, argv, 4) };
	if (a.target.server_name &&
	    tls_context_new(&(struct tls_config){ .role = TLS_CLIENT, .protocols = "http/1.1" },
			    &tls, &(struct tls_refusal){ 0 }) < 0)
		return 1;
	a.target.tls = tls;
	ask_lines(&a);
	stats = http_client_stats(a.client);
	printf("connections %llu reused %llu retried %llu\n",
	       (unsigned long long)stats->connections, (unsigned long long)stats->reused,
	       (unsigned long long)stats->retried);
	http_client_free(a.client);
	tls_context_free(tls);
	ev_loop_destroy(a.loop);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as what a client sends to a server with TLS, in pieces that the first byte chooses; or, if
 * it is odd, as PEM: a certificate, a key, authorities.
 *
 * A handshake cannot succeed without the secrets of a client: it fails, or waits for more. What is
 * wrong with a PEM never has any of its text, which may be a key.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tls/tls.h"

static void check(bool fine)
{
	if (!fine)
		abort();
}

static const char certificate[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBmTCCAT6gAwIBAgIUNYSxUyWH1cExwQvdlQF0DLwC5EswCgYIKoZIzj0EAwIw\n"
	"DzENMAsGA1UEAwwEZnV6ejAgFw0yNjExMTcxMzE5NTdaGA8yMTI2MTAyNDEzMTk1\n"
	"N1owDzENMAsGA1UEAwwEZnV6ejBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOFZ\n"
	"f37SB0mXBn+gyuulIc2VK1YcXqnzrmMaKEkhzx8uhBt8uyVvxmxwXcoi7oNrxYKX\n"
	"YOMWVHlV12mrcau3+oujdjB0MB0GA1UdDgQWBBTx8Saa4EeR4G+Hvih6y1cY0pvv\n"
	"nzAfBgNVHSMEGDAWgBTx8Saa4EeR4G+Hvih6y1cY0pvvnzAPBgNVHRMBAf8EBTAD\n"
	"AQH/MCEGA1UdEQQaMBiCCWEuZXhhbXBsZYILKi5iLmV4YW1wbGUwCgYIKoZIzj0E\n"
	"AwIDSQAwRgIhAJP+puUP4UkY60hxgDdV5MAaxya3b0dBCmDBWnAKZpQ8AiEA2Ebv\n"
	"ypn7b2e/9ReoC6a1S4omWbjN3D904FDew0HoRH0=\n"
	"-----END CERTIFICATE-----\n";
static const char key[] = /* of nothing else */
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgit0c3cX5wFXTCOQz\n"
	"gmWJ6LBppLwJfSqtgqOV7E4VDNChRANCAAThWX9+0gdJlwZ/oMrrpSHNlStWHF6p\n"
	"865jGihJIc8fLoQbfLslb8ZscF3KIu6Da8WCl2DjFlR5Vddpq3Grt/qL\n"
	"-----END PRIVATE KEY-----\n";

static struct tls_context *inner;

static struct tls_context *on_choose(void *user, struct str name)
{
	check(user == &inner && name.n <= 255 && !memchr(name.p, 0, name.n));
	for (size_t i = 0; i < name.n; i++)
		check(name.p[i] < 'A' || name.p[i] > 'Z');
	return name.n && name.p[0] == 'x' ? NULL : inner;
}

static struct tls_context *make(const struct tls_config *config)
{
	struct tls_context *c = NULL;

	check(tls_context_new(config, &c, &(struct tls_refusal){ 0 }) == 0);
	return c;
}

/* Whether the handshake waits for more. */
static bool feed(struct tls *t, const uint8_t *data, size_t n)
{
	int r;

	tls_feed(t, data, n);
	do
		r = tls_handshake(t);
	while (r == -EAGAIN && tls_has_more(t));
	check(r < 0);
	return r == -EAGAIN;
}

static void shake(struct tls_context *door, const uint8_t *data, size_t n, size_t step)
{
	struct tls *t;
	int fds[2];

	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
	t = tls_accept(door, fds[0]);
	tls_set_user(t, &inner);
	for (size_t at = 0; at < n; at += step)
		if (!feed(t, data + at, step < n - at ? step : n - at))
			break;
	tls_peer(t);
	tls_free(t);
	close(fds[0]);
	close(fds[1]);
}

static void try_pem(const struct tls_config *config)
{
	struct tls_context *c = NULL;
	struct tls_refusal why;

	if (tls_context_new(config, &c, &why) == 0) {
		for (size_t i = 0; i < tls_context_count(c); i++)
			check(strlen(tls_context_certificate(c, i)->fingerprint) == 64);
		tls_context_free(c);
		return;
	}
	check(why.part != TLS_PART_NONE && why.reason[0] && !strstr(why.reason, "-----"));
}

static void read_pem(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 12);
	const struct tls_pair mine = { certificate, key, NULL };

	memcpy(text, "-----BEGIN ", 11);
	memcpy(text + 11, data, n);
	text[n + 11] = '\0';
	try_pem(&(struct tls_config){
		.role = TLS_SERVER, .pairs = &(struct tls_pair){ text, key, NULL }, .n_pairs = 1 });
	try_pem(&(struct tls_config){ .role = TLS_SERVER,
				      .pairs = &(struct tls_pair){ certificate, text, NULL },
				      .n_pairs = 1 });
	try_pem(&(struct tls_config){ .role = TLS_SERVER,
				      .pairs = &mine,
				      .n_pairs = 1,
				      .ca = text,
				      .clients = TLS_CLIENTS_OPTIONAL });
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct tls_context *door;

	if (!door) {
		inner = make(
			&(struct tls_config){ .role = TLS_SERVER,
					      .pairs = &(struct tls_pair){ certificate, key, NULL },
					      .n_pairs = 1,
					      .protocols = "h2,http/1.1" });
		door = make(&(struct tls_config){
			.role = TLS_SERVER, .tickets = tls_tickets_new(), .choose = on_choose });
	}
	if (!n)
		return 0;
	if (data[0] & 1)
		read_pem(data + 1, n - 1);
	else
		shake(door, data + 1, n - 1, 1 + data[0] / 2 * 8);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice: what a server does with a ClientHello, before OpenSSL decides anything from it.
 *
 * The server name selects the context (choose()) and then the set of its certificates. OpenSSL's
 * callback for server names would be too late for the lowest version and for the scope of sessions,
 * so the name is read here, from OpenSSL's callback for the whole message.
 */
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "lib/tls/tls_private.h"

#define HOST_NAME 0 /* the only type of a server name, RFC 6066, section 3 */

static size_t two_bytes(const unsigned char *p)
{
	return (size_t)p[0] << 8 | p[1];
}

/*
 * A list of names, which has one: length of the list, type, length, name. False if it is not of
 * that form. A dot at the end is left out, and a name that is an address or longer than a name may
 * be counts as none.
 */
static bool parse_names(const unsigned char *p, size_t n, struct str *ret)
{
	struct str name;

	if (n < 5 || two_bytes(p) != n - 2 || p[2] != HOST_NAME || two_bytes(p + 3) != n - 5)
		return false;
	name = (struct str){ (const char *)p + 5, n - 5 };
	if (!name.n || name.n > TLS__NAME_MAX || memchr(name.p, 0, name.n))
		return false;
	if (name.p[name.n - 1] == '.')
		name.n--;
	*ret = name;
	return true;
}

static bool is_address(struct str name)
{
	char text[TLS__NAME_MAX + 1];
	struct addr a;

	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return addr_parse(text, &a) == 0;
}

/* False for a malformed extension. */
static bool read_name(SSL *ssl, struct str *ret)
{
	const unsigned char *p;
	size_t n;

	*ret = STR("");
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &p, &n) != 1)
		return true;
	if (!parse_names(p, n, ret))
		return false;
	if (is_address(*ret))
		*ret = STR("");
	return true;
}

/* The exact name, a wildcard for its first label, or the first set. */
static SSL_CTX *set_for(SSL_CTX *ctx, struct str name)
{
	const struct tls__extra *x = tls__extra(ctx);
	char text[TLS__NAME_MAX + 2];
	SSL_CTX *set = NULL;
	char *dot;

	if (!x->set_of_name.n || !name.n)
		return ctx;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	set = map_get(&x->set_of_name, text);
	dot = strchr(text, '.');
	if (!set && dot && dot > text) {
		dot[-1] = '*';
		set = map_get(&x->set_of_name, dot - 1);
	}
	return set ? set : ctx;
}

/* SSL_set_SSL_CTX() moves certificates, authorities and callbacks, but none of these. */
static void move_to(SSL *ssl, SSL_CTX *ctx)
{
	if (ctx == SSL_get_SSL_CTX(ssl))
		return;
	SSL_set_SSL_CTX(ssl, ctx);
	SSL_clear_options(ssl, SSL_OP_NO_TICKET);
	SSL_set_options(ssl, SSL_CTX_get_options(ctx));
	SSL_set_min_proto_version(ssl, (int)SSL_CTX_get_min_proto_version(ctx));
	SSL_set_num_tickets(ssl, SSL_CTX_get_num_tickets(ctx));
	SSL_set_verify(ssl, SSL_CTX_get_verify_mode(ctx), SSL_CTX_get_verify_callback(ctx));
}

int tls__on_hello(SSL *ssl, int *alert, void *unused)
{
	SSL_CTX *ctx = SSL_get_SSL_CTX(ssl);
	const struct tls__extra *x = tls__extra(ctx);
	struct str name;

	(void)unused;
	if (!read_name(ssl, &name)) {
		*alert = SSL_AD_DECODE_ERROR;
		return SSL_CLIENT_HELLO_ERROR;
	}
	name = tls__keep_name(ssl, name);
	if (x->choose)
		ctx = tls__ctx(x->choose(tls__user(ssl), name));
	if (!ctx) {
		*alert = SSL_AD_UNRECOGNIZED_NAME;
		return SSL_CLIENT_HELLO_ERROR;
	}
	move_to(ssl, set_for(ctx, name));
	return SSL_CLIENT_HELLO_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tls/testkit.h"

#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

void pki_make(struct pki *pki)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(pki->folder, sizeof(pki->folder), "%.40s/maglev-pki-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(pki->folder));
}

void pki_remove(struct pki *pki)
{
	DIR *dir = opendir(pki->folder);
	struct dirent *entry;

	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(pki->folder);
}

const char *pki_file(const struct pki *pki, const char *file)
{
	static char paths[4][128];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", pki->folder, file);
	return path;
}

static FILE *open_file(const struct pki *pki, const char *name, const char *ending,
		       const char *mode)
{
	char file[64];
	FILE *f;

	snprintf(file, sizeof(file), "%s.%s", name, ending);
	f = fopen(pki_file(pki, file), mode);
	assert_non_null(f);
	return f;
}

static void add_extension(X509 *cert, int kind, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

	assert_non_null(e);
	X509_add_ext(cert, e, -1);
	X509_EXTENSION_free(e);
}

static void read_issuer(const struct pki *pki, const char *name, X509 **cert, EVP_PKEY **key)
{
	FILE *f = open_file(pki, name, "pem", "r");

	*cert = PEM_read_X509(f, NULL, NULL, NULL);
	fclose(f);
	f = open_file(pki, name, "key", "r");
	*key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
	fclose(f);
	assert_true(*cert && *key);
}

static void save(const struct pki *pki, const char *name, X509 *cert, EVP_PKEY *key)
{
	FILE *f = open_file(pki, name, "pem", "w");

	PEM_write_X509(f, cert);
	fclose(f);
	f = open_file(pki, name, "key", "w");
	PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
	fclose(f);
}

static void fill(X509 *cert, const struct pki_request *r, long serial)
{
	X509_NAME *subject = X509_get_subject_name(cert);

	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), r->seconds ? r->seconds : 3600);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)r->name, -1,
				   -1, 0);
	add_extension(cert, NID_basic_constraints,
		      r->issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
	if (r->alternatives)
		add_extension(cert, NID_subject_alt_name, r->alternatives);
}

void pki_issue_for(struct pki *pki, const struct pki_request *r)
{
	static long serial = 1;
	EVP_PKEY *key = r->rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"), *issuer_key = key;
	X509 *cert = X509_new(), *issuer_cert = cert;

	if (r->issuer)
		read_issuer(pki, r->issuer, &issuer_cert, &issuer_key);
	fill(cert, r, serial++);
	X509_set_issuer_name(cert, X509_get_subject_name(issuer_cert));
	X509_set_pubkey(cert, key);
	assert_true(X509_sign(cert, issuer_key, EVP_sha256()) > 0);
	save(pki, r->name, cert, key);
	if (r->issuer) {
		X509_free(issuer_cert);
		EVP_PKEY_free(issuer_key);
	}
	X509_free(cert);
	EVP_PKEY_free(key);
}

void pki_issue(struct pki *pki, const char *issuer, const char *name)
{
	pki_issue_for(pki, &(struct pki_request){
				   .issuer = issuer,
				   .name = name,
				   .alternatives = issuer ? "DNS:localhost,IP:127.0.0.1" : NULL });
}

static struct tls_context *context(const struct pki *pki, const char *name, const char *ca,
				   struct tls_config config)
{
	char pem[64], key[64];
	struct tls_context *c = NULL;
	struct tls_refusal why;
	struct tls_pair pair = { 0 };

	if (name) {
		snprintf(pem, sizeof(pem), "%s.pem", name);
		snprintf(key, sizeof(key), "%s.key", name);
		pair = (struct tls_pair){ pki_file(pki, pem), pki_file(pki, key), NULL };
	}
	config.pairs = &pair;
	config.n_pairs = 1;
	config.ca = ca ? pki_file(pki, ca) : NULL;
	if (tls_context_new(&config, &c, &why) < 0)
		fail_msg("%s", why.reason);
	return c;
}

struct tls_context *pki_server(const struct pki *pki, const char *name, const char *ca,
			       const char *protocols)
{
	return context(pki, name, ca,
		       (struct tls_config){ .role = TLS_SERVER,
					    .clients = ca ? TLS_CLIENTS_REQUIRED : TLS_CLIENTS_OFF,
					    .protocols = protocols });
}

struct tls_context *pki_client(const struct pki *pki, const char *name, const char *ca,
			       const char *protocols)
{
	return context(pki, name, ca,
		       (struct tls_config){ .role = TLS_CLIENT,
					    .insecure = !ca,
					    .resume = true,
					    .protocols = protocols });
}

/* The contexts are freed at once: connections hold their own references. */
void ends_join(struct ends *e, struct tls_context *server, struct tls_context *client,
	       const char *name)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, e->fds),
			 0);
	assert_int_equal(tls_connect(client, e->fds[0], name, NULL, &e->client), 0);
	e->server = tls_accept(server, e->fds[1]);
	tls_context_free(server);
	tls_context_free(client);
}

void ends_part(struct ends *e)
{
	tls_free(e->client);
	tls_free(e->server);
	close(e->fds[0]);
	close(e->fds[1]);
}

/* Runs both handshakes until neither waits for the other; returns their last results. */
void ends_shake(struct ends *e, int *ret_client, int *ret_server)
{
	*ret_client = *ret_server = -EAGAIN;
	for (int i = 0; i < 10; i++) {
		if (*ret_client == -EAGAIN)
			*ret_client = tls_handshake(e->client);
		if (*ret_server == -EAGAIN)
			*ret_server = tls_handshake(e->server);
	}
}

/* The files of a certificate; the caller frees their names with pki_free_pairs(). */
struct tls_pair pki_pair(const struct pki *pki, const char *name)
{
	char pem[64], key[64];

	snprintf(pem, sizeof(pem), "%s.pem", name);
	snprintf(key, sizeof(key), "%s.key", name);
	return (struct tls_pair){ strdup(pki_file(pki, pem)), strdup(pki_file(pki, key)), NULL };
}

void pki_free_pairs(struct tls_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free((void *)(uintptr_t)pairs[i].certificate);
		free((void *)(uintptr_t)pairs[i].key);
	}
}

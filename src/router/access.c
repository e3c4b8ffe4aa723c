/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"
#include "lib/tls/digest.h"

/* Of the token only a digest is kept: it is compared in constant time, whatever a client sends. */
struct access {
	struct access_config config;
	uint8_t token[TLS_SHA256];
	struct tls_context *tls;
};

/* ---- the token ---- */

/* The bytes of the file. Returns NULL, or what is wrong. */
static const char *read_file(int fd, struct buf *text)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "is not a file";
	if (st.st_mode & (S_IROTH | S_IWOTH))
		return "must not be readable or writable by others";
	if (st.st_size > ACCESS_TOKEN_MAX)
		return "is too large for a token";
	buf_reserve(text, ACCESS_TOKEN_MAX);
	while ((n = read(fd, text->p + text->n, ACCESS_TOKEN_MAX - text->n)) > 0)
		text->n += (size_t)n;
	return n < 0 ? strerror(errno) : NULL;
}

static const char *check_token(struct str token)
{
	if (token.n < ACCESS_TOKEN_MIN)
		return "the token must have at least 16 bytes";
	for (size_t i = 0; i < token.n; i++)
		if (token.p[i] <= ' ' || token.p[i] > '~')
			return "the token must be one word of printable characters";
	return NULL;
}

static int read_token(struct access *a)
{
	const char *path = a->config.token_file, *why;
	_cleanup_(buf_free) struct buf text = { 0 };
	struct str token;
	int fd;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	why = fd < 0 ? strerror(errno) : read_file(fd, &text);
	if (fd >= 0)
		close(fd);
	token = (struct str){ text.p, text.n };
	while (token.n && strchr(" \t\r\n", token.p[token.n - 1]))
		token.n--;
	if (!why)
		why = check_token(token);
	if (why) {
		log_error("token-failed", LOG_S("file", path), LOG_S("error", why));
		return -EINVAL;
	}
	tls_sha256(token.p, token.n, a->token);
	return 0;
}

bool access_has_token(const struct access *a)
{
	return a->config.token_file != NULL;
}

bool access_allows(const struct access *a, const struct http_head *head)
{
	const struct str scheme = STR("bearer ");
	struct str value = http_header(head, STR("authorization"));
	uint8_t digest[TLS_SHA256];

	if (value.n < scheme.n || !str_ieq((struct str){ value.p, scheme.n }, scheme))
		return false;
	value = str_trim((struct str){ value.p + scheme.n, value.n - scheme.n });
	tls_sha256(value.p, value.n, digest);
	return tls_same(digest, a->token, sizeof(digest));
}

/* ---- certificates ---- */

static int read_certificates(struct access *a)
{
	const struct tls_files *files = &a->config.tls;
	const struct tls_config config = {
		.role = TLS_SERVER,
		.pairs = &(struct tls_pair){ files->certificate, files->key, NULL },
		.n_pairs = 1,
		.ca = files->ca,
		.clients = files->ca ? TLS_CLIENTS_REQUIRED : TLS_CLIENTS_OFF,
		.protocols = "http/1.1,http/1.0",
	};
	struct tls_context *fresh;
	struct tls_refusal why;
	int r;

	if (!files->certificate)
		return 0;
	r = tls_context_new(&config, &fresh, &why);
	if (r < 0) {
		log_error("tls-failed", LOG_S("for", "admin"), LOG_S("error", why.reason));
		return r;
	}
	a->tls = fresh;
	return 0;
}

struct tls_context *access_tls(const struct access *a)
{
	return a->tls;
}

bool access_is_closed(const struct access *a)
{
	return a->config.token_file || a->config.tls.ca;
}

/* ---- the door ---- */

int access_new(const struct access_config *config, struct access **ret)
{
	struct access *a = mem_zalloc(sizeof(*a));
	int r;

	a->config = *config;
	r = read_token(a);
	if (r == 0)
		r = read_certificates(a);
	if (r < 0) {
		access_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

void access_free(struct access *a)
{
	if (!a)
		return;
	if (a->tls)
		tls_context_free(a->tls);
	free(a);
}

void access_reload(struct access *a, struct http_server *server)
{
	struct tls_context *before = a->tls;

	if (a->config.token_file && read_token(a) == 0)
		log_info("token-reloaded", LOG_S("file", a->config.token_file));
	if (read_certificates(a) < 0 || a->tls == before)
		return;
	http_server_set_tls(server, a->tls);
	tls_context_free(before);
	log_info("tls-reloaded", LOG_S("for", "admin"));
}

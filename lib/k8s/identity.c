/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity: credentials and certificates, and when they are renewed.
 *
 * Files are stamped (inode, size, time of change). Kubernetes replaces a token by a rename of a
 * symbolic link, so the stamp is that of the file that it names. A new context is made only if a
 * stamp of a certificate has changed or a plugin has given another certificate.
 *
 * A plugin runs in a child process that leads its own process group, with a deadline. While it
 * runs, all calls wait; its answer is used until CREDENTIAL_EARLY before it expires, or until the
 * server refuses it. A plugin that fails is asked again with growing delays, and meanwhile calls
 * fail at once with its reason.
 */
#include "lib/k8s/identity.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/loop/backoff.h"
#include "lib/loop/job.h"
#include "lib/tls/tls.h"
#include "lib/yaml/yaml_file.h"

#define IDENTITY_PERIOD (10 * NSEC_PER_SEC)
#define CREDENTIAL_EARLY (10 * NSEC_PER_SEC)
#define CREDENTIAL_SHORTEST NSEC_PER_SEC /* an answer is used for that long, even if it is old */
#define PLUGIN_TIMEOUT (60 * NSEC_PER_SEC)
#define PLUGIN_OUTPUT ((size_t)1 << 20)
#define TOKEN_MAX ((size_t)64 << 10)

static const struct backoff_policy plugin_retry = { .first = NSEC_PER_SEC,
						    .last = 60 * NSEC_PER_SEC,
						    .jitter = 20 };

struct stamp {
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct k8s__identity {
	struct ev_loop *loop;
	const struct k8s_config *config;
	void (*changed)(void *user);
	void *user;

	struct buf header;
	struct tls_context *tls;
	struct stamp token_stamp, tls_stamps[3]; /* ca, certificate, key */
	int64_t looked; /* monotonic ns of the last look at files; 0: never */
	char reason[512];
	uint64_t renewals;

	struct job *job;
	struct arena *answer; /* of the plugin, with credential; NULL: none */
	struct k8s_credential credential;
	int64_t given; /* monotonic ns of the answer */
	unsigned failures;
	int64_t again; /* monotonic ns: not before that after a failure */
	uint64_t random;
};

static int refuse(struct k8s__identity *i, const char *what, const char *why)
{
	snprintf(i->reason, sizeof(i->reason), "%s: %s", what, why);
	return -ENOKEY;
}

/* ---- files ---- */

static bool is_path(const char *value)
{
	return value && strncmp(value, "-----BEGIN", 10) != 0;
}

/* True if the file of that path is another one than last time. */
static bool restamp(const char *path, struct stamp *stamp)
{
	struct stamp now = { 0 };
	struct stat st;

	if (!is_path(path))
		return false;
	if (stat(path, &st) == 0)
		now = (struct stamp){ st.st_ino, st.st_size, st.st_mtim };
	if (now.inode == stamp->inode && now.size == stamp->size &&
	    now.changed.tv_sec == stamp->changed.tv_sec &&
	    now.changed.tv_nsec == stamp->changed.tv_nsec)
		return false;
	*stamp = now;
	return true;
}

static bool is_token(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] <= ' ' || text.p[i] > '~')
			return false;
	return text.n > 0 && text.n <= TOKEN_MAX;
}

static int set_bearer(struct k8s__identity *i, struct str token, const char *from)
{
	if (!is_token(token))
		return refuse(i, from, "that is not a token");
	i->header.n = 0;
	buf_adds(&i->header, "Bearer ");
	buf_add(&i->header, token.p, token.n);
	return 0;
}

static struct str trim_lines(struct str text)
{
	while (text.n && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
		text.n--;
	return str_trim(text);
}

static int read_token(struct k8s__identity *i)
{
	const char *path = i->config->token_file;
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct errs errors = { .arena = arena };
	int r = yaml_read_file(path, &text, &errors);

	if (r < 0)
		return refuse(i, path, errors.n ? errors.items[0].text : "cannot be read");
	return set_bearer(i, trim_lines((struct str){ text.p, text.n }), path);
}

/* ---- the header ---- */

static int set_header(struct k8s__identity *i)
{
	const struct k8s_config *c = i->config;

	if (c->token_file)
		return read_token(i);
	if (i->credential.token)
		return set_bearer(i, str_of(i->credential.token), c->exec.command);
	if (c->token)
		return set_bearer(i, str_of(c->token), "token");
	if (c->basic) {
		i->header.n = 0;
		buf_adds(&i->header, "Basic ");
		base64_encode(&i->header, str_of(c->basic));
	}
	return 0;
}

/* ---- TLS ---- */

static int set_tls(struct k8s__identity *i)
{
	const struct k8s_config *c = i->config;
	bool plugin = i->credential.certificate != NULL;
	struct tls_pair pair = { .certificate = plugin ? i->credential.certificate : c->certificate,
				 .key = plugin ? i->credential.key : c->key };
	struct tls_config config = { .role = TLS_CLIENT,
				     .pairs = &pair,
				     .n_pairs = pair.certificate ? 1 : 0,
				     .protocols = "http/1.1",
				     .ca = c->ca,
				     .insecure = c->insecure };
	struct tls_context *made;
	struct tls_refusal why;

	if (!c->tls)
		return 0;
	if (tls_context_new(&config, &made, &why) < 0)
		return refuse(i, "TLS", why.reason);
	tls_context_free(i->tls); /* connections and calls hold their own references */
	i->tls = made;
	return 0;
}

/* ---- the plugin ---- */

static void add_member(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, "%s\"%s\":", b->p[b->n - 1] == '{' ? "" : ",", key);
	json_write_string(b, value, strlen(value));
}

static void add_ca(struct buf *b, const char *ca)
{
	struct buf data = { 0 };

	if (!ca || is_path(ca))
		return;
	base64_encode(&data, str_of(ca));
	add_member(b, "certificate-authority-data", buf_cstr(&data));
	buf_free(&data);
}

/* KUBERNETES_EXEC_INFO */
static void write_info(struct buf *b, const struct k8s_config *c)
{
	buf_addc(b, '{');
	add_member(b, "apiVersion", c->exec.api_version);
	add_member(b, "kind", "ExecCredential");
	buf_adds(b, ",\"spec\":{\"interactive\":false");
	if (c->exec.with_cluster) {
		buf_adds(b, ",\"cluster\":{");
		add_member(b, "server", c->server);
		if (c->server_name)
			add_member(b, "tls-server-name", c->server_name);
		if (c->insecure)
			buf_adds(b, ",\"insecure-skip-tls-verify\":true");
		add_ca(b, c->ca);
		buf_adds(b, "}");
	}
	buf_adds(b, "}}");
}

/* In the child. */
static int work(int out, void *user)
{
	const struct k8s_config *c = ((struct k8s__identity *)user)->config;
	const struct k8s_exec *e = &c->exec;
	char **argv = mem_zalloc((e->n_args + 2) * sizeof(*argv));
	struct buf info = { 0 };

	argv[0] = mem_strdup(e->command);
	for (size_t i = 0; i < e->n_args; i++)
		argv[i + 1] = mem_strdup(e->args[i]);
	for (size_t i = 0; i < e->n_env; i++)
		setenv(e->env[i].name, e->env[i].value, 1);
	write_info(&info, c);
	setenv("KUBERNETES_EXEC_INFO", buf_cstr(&info), 1);
	if (dup2(out, STDOUT_FILENO) < 0)
		return 126;
	execvp(argv[0], argv);
	return 127;
}

static void plan_again(struct k8s__identity *i)
{
	i->failures++;
	i->again = loop_monotonic() + backoff_delay(&plugin_retry, i->failures, &i->random);
}

static void take_answer(struct k8s__identity *i, struct str text)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct k8s_credential credential;

	if (k8s_credential_parse(text, i->config->exec.api_version, arena, &credential, &errors) <
	    0) {
		refuse(i, i->config->exec.command, errors.n ? errors.items[0].text : "malformed");
		plan_again(i);
		arena_free(arena);
		return;
	}
	arena_free(i->answer);
	i->answer = arena;
	i->credential = credential;
	i->given = loop_monotonic();
	i->failures = 0;
	i->looked = 0; /* header and context are set before the next call */
}

static void on_done(const struct job_result *result, void *user)
{
	struct k8s__identity *i = user;
	const struct k8s_exec *e = &i->config->exec;
	char words[160];

	i->job = NULL;
	if (result->end == JOB_DONE) {
		take_answer(i, (struct str){ result->bytes, result->n });
	} else {
		snprintf(words, sizeof(words), "%s%s%s",
			 result->end == JOB_EXIT && result->number == 127 ? "cannot be run"
									  : result->reason,
			 e->hint[0] ? "; " : "", e->hint);
		refuse(i, e->command, words);
		plan_again(i);
	}
	i->changed(i->user);
}

static int run_plugin(struct k8s__identity *i)
{
	const struct job_spec spec = { .work = work,
				       .done = on_done,
				       .user = i,
				       .result_max = PLUGIN_OUTPUT,
				       .timeout = PLUGIN_TIMEOUT,
				       .group = true };
	int r;

	if (i->job)
		return -EAGAIN;
	if (loop_monotonic() < i->again)
		return -ENOKEY; /* the reason is that of the last failure */
	r = job_start(i->loop, &spec, &i->job);
	return r < 0 ? refuse(i, i->config->exec.command, strerrordesc_np(-r)) : -EAGAIN;
}

static bool is_expired(const struct k8s__identity *i)
{
	int64_t expires = i->credential.expires;

	return expires && loop_realtime() >= expires - CREDENTIAL_EARLY &&
	       loop_monotonic() - i->given >= CREDENTIAL_SHORTEST;
}

/* ---- the identity ---- */

static int renew(struct k8s__identity *i, bool first)
{
	const struct k8s_config *c = i->config;
	const char *files[] = { c->ca, c->certificate, c->key };
	bool tls = first, header = first;
	int r = 0;

	for (size_t j = 0; j < ARRAY_SIZE(files); j++)
		tls |= restamp(files[j], &i->tls_stamps[j]);
	header |= restamp(c->token_file, &i->token_stamp);
	if (tls)
		r = set_tls(i);
	if (r == 0 && header)
		r = set_header(i);
	if (r < 0)
		i->looked = 0;
	else if (tls || header)
		i->renewals++;
	return r;
}

int k8s__identity_ready(struct k8s__identity *i)
{
	int64_t now = loop_monotonic();
	bool first = i->looked == 0;

	if (i->config->exec.command && (!i->answer || is_expired(i)))
		return run_plugin(i);
	if (!first && now - i->looked < IDENTITY_PERIOD)
		return 0;
	i->looked = now;
	return renew(i, first);
}

void k8s__identity_refused(struct k8s__identity *i)
{
	i->looked = 0;
	if (!i->answer)
		return;
	arena_free(TAKE_PTR(i->answer));
	i->credential = (struct k8s_credential){ 0 };
}

struct k8s__identity *k8s__identity_new(struct ev_loop *loop, const struct k8s_config *config,
					void (*changed)(void *user), void *user)
{
	struct k8s__identity *i = mem_zalloc(sizeof(*i));

	i->loop = loop;
	i->config = config;
	i->changed = changed;
	i->user = user;
	i->random = (uint64_t)loop_realtime();
	return i;
}

void k8s__identity_free(struct k8s__identity *i)
{
	if (!i)
		return;
	job_cancel(i->job);
	tls_context_free(i->tls);
	arena_free(i->answer);
	buf_free(&i->header);
	free(i);
}

const char *k8s__identity_reason(const struct k8s__identity *i)
{
	return i->reason;
}

const char *k8s__identity_header(const struct k8s__identity *i)
{
	return i->header.n ? buf_cstr((struct buf *)(uintptr_t)&i->header) : NULL;
}

struct tls_context *k8s__identity_tls(const struct k8s__identity *i)
{
	return i->tls;
}

uint64_t k8s__identity_renewals(const struct k8s__identity *i)
{
	return i->renewals;
}

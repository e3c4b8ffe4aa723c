/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: kubeconfig files to one struct.
 *
 * The files are trees of YAML (JSON is YAML, too). A name is looked up in all of them, in order; a
 * context names a cluster and a user, and a table says which key of these goes to which member.
 */
#include "lib/k8s/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/k8s/url.h"
#include "lib/yaml/yaml.h"
#include "lib/yaml/yaml_file.h"

#define FILES_MAX 16
#define POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

/* ---- trees ---- */

struct file {
	const struct yaml_node *root;
	const char *folder;
};

/* A parse under way. */
struct parse {
	struct k8s_config *config;
	const struct file *file; /* of the node that is being read */
	struct errs *errors;
};

static const struct yaml_node *find(const struct yaml_node *node, const char *key)
{
	for (size_t i = 0; node && node->kind == YAML_MAPPING && i < node->n; i++)
		if (strcmp(node->pairs[i].key->text, key) == 0)
			return node->pairs[i].value;
	return NULL;
}

/* The text of a scalar; NULL if it is absent, empty or null. */
static const char *text_of(const struct yaml_node *node, const char *key)
{
	const struct yaml_node *v = find(node, key);

	if (!v || v->kind != YAML_SCALAR || v->type == YAML_NULL || !v->text[0])
		return NULL;
	return v->text;
}

static bool flag_of(const struct yaml_node *node, const char *key)
{
	const char *text = text_of(node, key);

	return text && strcmp(text, "true") == 0;
}

/* In all files: the entry of that name in a list, such as `users`, and what it is about. */
static const struct yaml_node *entry(const struct file *files, size_t n, const char *list,
				     const char *name, const struct file **ret_file)
{
	for (size_t i = 0; i < n; i++) {
		const struct yaml_node *entries = find(files[i].root, list);

		for (size_t j = 0; entries && entries->kind == YAML_SEQUENCE && j < entries->n; j++)
			if (cstr_eq(text_of(entries->items[j], "name"), name)) {
				*ret_file = &files[i];
				return entries->items[j];
			}
	}
	return NULL;
}

/* ---- members ---- */

static const char *resolve(const struct parse *p, const char *path)
{
	if (path[0] == '/' || !p->file->folder[0])
		return arena_strdup(p->config->arena, path);
	return arena_printf(p->config->arena, "%s/%s", p->file->folder, path);
}

/* The bytes of a base64 value as text. */
static int decode(struct parse *p, const struct yaml_node *node, const char *key, const char **ret)
{
	struct str text = str_of(text_of(node, key));
	char *out = arena_alloc(p->config->arena, text.n + 1);
	ssize_t n = base64_decode(text, out);

	if (n < 0 || memchr(out, '\0', (size_t)n)) {
		errs_add(p->errors, find(node, key)->at, key, "is not base64 of a text");
		return -EINVAL;
	}
	out[n] = '\0';
	*ret = out;
	return 0;
}

enum value { TEXT, PATH, DATA };

struct member {
	const char *key;
	size_t offset;
	enum value value;
};

#define MEMBER(name) offsetof(struct k8s_config, name)

/* Data follows its path, so that it wins. */
static const struct member of_cluster[] = {
	{ "certificate-authority", MEMBER(ca), PATH },
	{ "certificate-authority-data", MEMBER(ca), DATA },
	{ "tls-server-name", MEMBER(server_name), TEXT },
};

static const struct member of_user[] = {
	{ "client-certificate", MEMBER(certificate), PATH },
	{ "client-certificate-data", MEMBER(certificate), DATA },
	{ "client-key", MEMBER(key), PATH },
	{ "client-key-data", MEMBER(key), DATA },
	{ "token", MEMBER(token), TEXT },
	{ "tokenFile", MEMBER(token_file), PATH },
	{ "as", MEMBER(as), TEXT },
};

static int take_members(struct parse *p, const struct yaml_node *node, const struct member *members,
			size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const char **to = (const char **)(void *)((char *)p->config + members[i].offset);
		const char *text = text_of(node, members[i].key);

		if (!text)
			continue;
		if (members[i].value == DATA)
			r = decode(p, node, members[i].key, to);
		else
			*to = members[i].value == PATH ? resolve(p, text)
						       : arena_strdup(p->config->arena, text);
	}
	return r;
}

static int complain(struct parse *p, const struct yaml_node *at, const char *key, const char *text)
{
	errs_add(p->errors, at ? at->at : (struct place){ 0 }, key, "%s", text);
	return -EINVAL;
}

static int take_cluster(struct parse *p, const struct yaml_node *node)
{
	const char *server = text_of(node, "server"), *proxy = text_of(node, "proxy-url");

	if (!server)
		return complain(p, node, "server", "is missing");
	if (k8s__config_server(p->config, server) < 0)
		return complain(p, find(node, "server"), "server",
				"is not a URL with http or https, a host and a port");
	if (proxy && k8s__config_proxy(p->config, proxy) < 0)
		return complain(
			p, find(node, "proxy-url"), "proxy-url",
			"is not the URL of an HTTP proxy (http://[USER:PASSWORD@]HOST:PORT)");
	p->config->insecure = flag_of(node, "insecure-skip-tls-verify");
	return take_members(p, node, of_cluster, ARRAY_SIZE(of_cluster));
}

/* ---- exec ---- */

static int take_args(struct parse *p, const struct yaml_node *args, struct k8s_exec *e)
{
	const char **all;

	if (!args || (args->kind == YAML_SCALAR && args->type == YAML_NULL))
		return 0;
	if (args->kind != YAML_SEQUENCE)
		return complain(p, args, "exec.args", "is not a list");
	all = arena_array(p->config->arena, args->n + 1, sizeof(*all));
	for (size_t i = 0; i < args->n; i++) {
		if (args->items[i]->kind != YAML_SCALAR)
			return complain(p, args->items[i], "exec.args",
					"has an item that is not text");
		all[i] = arena_strdup(p->config->arena, args->items[i]->text);
	}
	e->args = all;
	e->n_args = args->n;
	return 0;
}

static int take_env(struct parse *p, const struct yaml_node *env, struct k8s_exec *e)
{
	struct k8s_variable *all;

	if (!env || (env->kind == YAML_SCALAR && env->type == YAML_NULL))
		return 0;
	if (env->kind != YAML_SEQUENCE)
		return complain(p, env, "exec.env", "is not a list");
	all = arena_array(p->config->arena, env->n + 1, sizeof(*all));
	for (size_t i = 0; i < env->n; i++) {
		const char *name = text_of(env->items[i], "name");
		const char *value = text_of(env->items[i], "value");

		if (!name || strchr(name, '='))
			return complain(p, env->items[i], "exec.env", "has an item without a name");
		all[i].name = arena_strdup(p->config->arena, name);
		all[i].value = arena_strdup(p->config->arena, value ? value : "");
	}
	e->env = all;
	e->n_env = env->n;
	return 0;
}

static int take_exec(struct parse *p, const struct yaml_node *node)
{
	struct k8s_exec *e = &p->config->exec;
	const char *command = text_of(node, "command"), *version = text_of(node, "apiVersion");
	const char *hint = text_of(node, "installHint");
	int r;

	if (!command)
		return complain(p, node, "exec.command", "is missing");
	if (!version || (strcmp(version, "client.authentication.k8s.io/v1") != 0 &&
			 strcmp(version, "client.authentication.k8s.io/v1beta1") != 0))
		return complain(p, node, "exec.apiVersion",
				"must be client.authentication.k8s.io/v1 or v1beta1");
	if (cstr_eq(text_of(node, "interactiveMode"), "Always"))
		return complain(p, node, "exec.interactiveMode", "Always: there is no terminal");
	r = take_args(p, find(node, "args"), e);
	if (r == 0)
		r = take_env(p, find(node, "env"), e);
	if (r < 0)
		return r;
	/* only a path with a slash is relative to the file, as client-go has it */
	e->command = strchr(command, '/') ? resolve(p, command)
					  : arena_strdup(p->config->arena, command);
	e->api_version = arena_strdup(p->config->arena, version);
	e->hint = arena_strdup(p->config->arena, hint ? hint : "");
	e->with_cluster = flag_of(node, "provideClusterInfo");
	return 0;
}

static int take_user(struct parse *p, const struct yaml_node *node)
{
	const struct yaml_node *exec = find(node, "exec");
	const char *user = text_of(node, "username"), *password = text_of(node, "password");
	int r = take_members(p, node, of_user, ARRAY_SIZE(of_user));

	if (r == 0 && exec && exec->kind == YAML_MAPPING)
		r = take_exec(p, exec);
	if (r < 0)
		return r;
	if (find(node, "auth-provider"))
		return complain(p, find(node, "auth-provider"), "auth-provider",
				"is not supported any more; use exec");
	if (!p->config->certificate != !p->config->key)
		return complain(p, node, "", "client certificate and client key come together");
	if (user)
		p->config->basic =
			arena_printf(p->config->arena, "%s:%s", user, password ? password : "");
	return 0;
}

/* ---- contexts ---- */

struct reference {
	const char *key, *list, *member;
	int (*take)(struct parse *p, const struct yaml_node *node);
	bool needed;
};

static const struct reference references[] = {
	{ "cluster", "clusters", "cluster", take_cluster, true },
	{ "user", "users", "user", take_user, false },
};

static int follow(struct parse *p, const struct file *files, size_t n,
		  const struct yaml_node *context, const struct reference *ref)
{
	const char *name = text_of(context, ref->key);
	const struct yaml_node *found;

	if (!name)
		return ref->needed ? complain(p, context, ref->key, "is missing in the context")
				   : 0;
	found = entry(files, n, ref->list, name, &p->file);
	if (!found) {
		errs_add(p->errors, find(context, ref->key)->at, ref->key, "there is no %s %s",
			 ref->key, err_shown(name, p->errors->arena));
		return -EINVAL;
	}
	return ref->take(p, find(found, ref->member));
}

static const char *current(const struct file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_of(files[i].root, "current-context"))
			return text_of(files[i].root, "current-context");
	return NULL;
}

static int take_context(struct parse *p, const struct file *files, size_t n, const char *name)
{
	const struct yaml_node *found, *context;
	const char *namespace;
	int r = 0;

	if (!name)
		name = current(files, n);
	if (!name)
		return complain(p, NULL, "current-context", "is missing");
	found = entry(files, n, "contexts", name, &p->file);
	if (!found) {
		errs_add(p->errors, (struct place){ 0 }, "contexts", "there is no context %s",
			 err_shown(name, p->errors->arena));
		return -EINVAL;
	}
	context = find(found, "context");
	namespace = text_of(context, "namespace");
	p->config->context = arena_strdup(p->config->arena, name);
	if (namespace)
		p->config->namespace = arena_strdup(p->config->arena, namespace);
	for (size_t i = 0; i < ARRAY_SIZE(references) && r == 0; i++)
		r = follow(p, files, n, context, &references[i]);
	return r;
}

static struct k8s_config *config_new(void)
{
	struct arena *arena = arena_new();
	struct k8s_config *c = arena_alloc(arena, sizeof(*c));

	c->arena = arena;
	c->context = c->prefix = "";
	c->namespace = "default";
	return c;
}

void k8s_config_free(struct k8s_config *c)
{
	if (c)
		arena_free(c->arena);
}

static int parse_files(const struct k8s_config_text *texts, size_t n, struct arena *arena,
		       struct file *files, struct errs *errors)
{
	for (size_t i = 0; i < n; i++) {
		int r = yaml_parse(texts[i].text.p, texts[i].text.n, arena, &files[i].root, errors);

		if (r < 0)
			return r;
		files[i].folder = texts[i].folder;
	}
	return 0;
}

int k8s_config_parse(const struct k8s_config_text *texts, size_t n, const char *context,
		     struct k8s_config **ret, struct errs *errors)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct file files[FILES_MAX];
	struct parse p = { .errors = errors };
	int r;

	assert(texts && ret && errors && n <= FILES_MAX);
	r = parse_files(texts, n, arena, files, errors);
	if (r < 0)
		return r;
	p.config = config_new();
	r = take_context(&p, files, n, context);
	if (r < 0)
		k8s_config_free(p.config);
	else
		*ret = p.config;
	return r;
}

/* ---- URLs ---- */

int k8s__config_server(struct k8s_config *c, const char *text)
{
	struct k8s_url url;
	int r = k8s_url_parse(text, c->arena, &url);

	if (r < 0 || url.userinfo)
		return -EINVAL;
	c->server = arena_strdup(c->arena, text);
	c->host = url.host;
	c->port = url.port;
	c->tls = url.tls;
	c->prefix = url.path;
	return 0;
}

int k8s__config_proxy(struct k8s_config *c, const char *text)
{
	struct k8s_url url;
	int r = k8s_url_parse(text, c->arena, &url);

	if (r < 0 || url.tls || url.path[0])
		return -EINVAL;
	c->proxy_host = url.host;
	c->proxy_port = url.port;
	c->proxy_user = url.userinfo;
	return 0;
}

/* ---- files ---- */

/* The folder of a path, in the arena; "." for a name without one. */
static const char *folder_of(const char *path, struct arena *arena)
{
	const char *slash = strrchr(path, '/');

	return slash ? arena_strndup(arena, path, (size_t)(slash - path)) : ".";
}

/*
 * Programs show one sentence, so the complaints from `since` on become whole ones:
 * "file:line:column: key: text".
 */
static void say_where(struct errs *e, size_t since, const char *file)
{
	for (size_t i = since; i < e->n; i++) {
		_cleanup_(buf_free) struct buf text = { 0 };

		errs_print(&(struct errs){ .items = &e->items[i], .n = 1 }, file, &text);
		e->items[i] = (struct err){ .key = "",
					    .text = arena_strndup(e->arena, text.p, text.n - 1),
					    .code = e->items[i].code };
	}
}

static int read_file(const char *path, struct buf *ret, struct errs *errors)
{
	size_t before = errors->n;
	int r = yaml_read_file(path, ret, errors);

	say_where(errors, before, path);
	return r;
}

/* Texts of files, freed together. */
struct texts {
	struct k8s_config_text items[FILES_MAX];
	const char *name; /* of the file; KUBECONFIG if there may be several */
	struct buf bytes[FILES_MAX];
	size_t n;
};

static void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		buf_free(&t->bytes[i]);
}

static int read_text(struct texts *t, const char *path, struct errs *errors)
{
	int r;

	if (t->n == FILES_MAX) {
		errs_add(errors, (struct place){ 0 }, "KUBECONFIG", "names more than %d files",
			 FILES_MAX);
		return -E2BIG;
	}
	r = read_file(path, &t->bytes[t->n], errors);
	if (r < 0)
		return r;
	t->items[t->n].text = (struct str){ t->bytes[t->n].p, t->bytes[t->n].n };
	t->items[t->n].folder = folder_of(path, errors->arena);
	t->n++;
	return 0;
}

/* The files of KUBECONFIG; one that does not exist is left out, as kubectl does. */
static int read_list(struct texts *t, const char *list, struct errs *errors)
{
	struct str rest = str_of(list), part;
	int r = 0;

	t->name = "KUBECONFIG";
	while (r == 0 && str_cut(&rest, ':', &part)) {
		const char *path = arena_strndup(errors->arena, part.p, part.n);

		if (path[0] && access(path, F_OK) == 0)
			r = read_text(t, path, errors);
	}
	if (r == 0 && t->n == 0) {
		errs_add(errors, (struct place){ 0 }, "KUBECONFIG", "no file of %s exists",
			 err_shown(list, errors->arena));
		r = -ENOENT;
	}
	return r;
}

static int read_home(struct texts *t, struct errs *errors)
{
	const char *home = getenv("HOME");

	t->name = arena_printf(errors->arena, "%s/.kube/config", home ? home : "");
	return read_text(t, t->name, errors);
}

int k8s_config_load(const char *path, const char *context, struct k8s_config **ret,
		    struct errs *errors)
{
	_cleanup_(texts_free) struct texts texts = { .name = path };
	const char *list = getenv("KUBECONFIG");
	size_t before;
	int r;

	if (path)
		r = read_text(&texts, path, errors);
	else if (list && list[0])
		r = read_list(&texts, list, errors);
	else if (getenv("KUBERNETES_SERVICE_HOST"))
		return k8s_config_in_pod(NULL, ret, errors);
	else
		r = read_home(&texts, errors);
	if (r < 0)
		return r;
	before = errors->n;
	r = k8s_config_parse(texts.items, texts.n, context, ret, errors);
	say_where(errors, before, texts.name);
	return r;
}

/* ---- pods ---- */

static int take_pod(struct k8s_config *c, const char *folder, struct errs *errors)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	_cleanup_(buf_free) struct buf namespace = { 0 };
	uint64_t number;
	struct str trimmed;
	int r;

	if (!host || !port || str_to_u64(str_of(port), UINT16_MAX, &number) < 0) {
		errs_add(errors, (struct place){ 0 }, "",
			 "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is "
			 "not a pod");
		return -ENOENT;
	}
	c->host = arena_strdup(c->arena, host);
	c->port = (uint16_t)number;
	c->tls = true;
	c->server = arena_printf(c->arena, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s",
				 host, port);
	c->ca = arena_printf(c->arena, "%s/ca.crt", folder);
	c->token_file = arena_printf(c->arena, "%s/token", folder);
	r = read_file(arena_printf(c->arena, "%s/namespace", folder), &namespace, errors);
	if (r < 0)
		return r;
	trimmed = str_trim((struct str){ namespace.p, namespace.n });
	while (trimmed.n && trimmed.p[trimmed.n - 1] == '\n')
		trimmed.n--;
	c->namespace = arena_strndup(c->arena, trimmed.p, trimmed.n);
	return 0;
}

int k8s_config_in_pod(const char *folder, struct k8s_config **ret, struct errs *errors)
{
	struct k8s_config *c = config_new();
	int r = take_pod(c, folder ? folder : POD_FOLDER, errors);

	if (r < 0)
		k8s_config_free(c);
	else
		*ret = c;
	return r;
}

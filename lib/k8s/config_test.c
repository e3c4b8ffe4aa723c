/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/k8s/config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"

#define CLUSTER "clusters: [{name: c, cluster: {server: 'https://api.example:6443/x/'}}]\n"
#define CONTEXT "contexts: [{name: k, context: {cluster: c, user: u}}]\ncurrent-context: k\n"

static int parse(const char *first, const char *second, const char *context,
		 struct k8s_config **ret, struct errs *errors)
{
	const struct k8s_config_text files[] = { { str_of(first), "/etc/k" },
						 { str_of(second ? second : ""), "/other" } };

	return k8s_config_parse(files, second ? 2 : 1, context, ret, errors);
}

static struct k8s_config *good(const char *first, const char *second, const char *context)
{
	struct errs errors = { .arena = arena_new() };
	struct k8s_config *c = NULL;
	struct buf text = { 0 };
	int r = parse(first, second, context, &c, &errors);

	errs_print(&errors, "", &text);
	if (r < 0)
		fail_msg("%s", buf_cstr(&text));
	buf_free(&text);
	arena_free(errors.arena);
	return c;
}

static void certificates_and_paths(void **state)
{
	struct k8s_config *c = good("clusters: [{name: c, cluster: {server: "
				    "'https://[fd00::1]:6443', certificate-authority: ca.crt,"
				    " tls-server-name: kubernetes, insecure-skip-tls-verify: true, "
				    "proxy-url: 'http://u%40x:p@proxy.example:3128/'}}]\n"
				    "users: [{name: u, user: {client-certificate-data: aGVsbG8=, "
				    "client-key: /abs/key.pem}}]\n"
				    "contexts: [{name: k, context: {cluster: c, user: u, "
				    "namespace: here}}]\ncurrent-context: k\n",
				    NULL, NULL);

	(void)state;
	assert_string_equal(c->host, "fd00::1");
	assert_int_equal(c->port, 6443);
	assert_true(c->tls);
	assert_true(c->insecure);
	assert_string_equal(c->prefix, "");
	assert_string_equal(c->ca, "/etc/k/ca.crt");
	assert_string_equal(c->server_name, "kubernetes");
	assert_string_equal(c->proxy_host, "proxy.example");
	assert_int_equal(c->proxy_port, 3128);
	assert_string_equal(c->proxy_user, "u@x:p");
	assert_string_equal(c->certificate, "hello");
	assert_string_equal(c->key, "/abs/key.pem");
	assert_string_equal(c->namespace, "here");
	assert_string_equal(c->context, "k");
	k8s_config_free(c);
}

static void tokens_passwords_and_plugins(void **state)
{
	struct k8s_config *c =
		good(CLUSTER "users:\n- name: u\n  user:\n    token: abc\n    tokenFile: tok\n    "
			     "username: me\n    password: 'p:w'\n    as: other\n"
			     "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      "
			     "command: ./plugin\n      args: [a, 1]\n"
			     "      env: [{name: X, value: y}]\n      provideClusterInfo: true\n   "
			     "   interactiveMode: IfAvailable\n"
			     "      installHint: get it\n" CONTEXT,
		     NULL, NULL);

	(void)state;
	assert_string_equal(c->prefix, "/x");
	assert_string_equal(c->namespace, "default");
	assert_string_equal(c->token, "abc");
	assert_string_equal(c->token_file, "/etc/k/tok");
	assert_string_equal(c->basic, "me:p:w");
	assert_string_equal(c->as, "other");
	assert_string_equal(c->exec.command, "/etc/k/./plugin");
	assert_int_equal(c->exec.n_args, 2);
	assert_string_equal(c->exec.args[1], "1");
	assert_string_equal(c->exec.env[0].name, "X");
	assert_true(c->exec.with_cluster);
	assert_string_equal(c->exec.hint, "get it");
	k8s_config_free(c);
}

/* As kubectl merges the files of KUBECONFIG: the first that has a name wins. */
static void several_files_are_one(void **state)
{
	struct k8s_config *c =
		good("current-context: k\nusers: [{name: u, user: {token: first}}]\n",
		     CLUSTER "users: [{name: u, user: {token: second}}]\n"
			     "contexts: [{name: k, context: {cluster: c, user: u}}, {name: l, "
			     "context: {cluster: c}}]\n"
			     "current-context: l\n",
		     NULL);

	(void)state;
	assert_string_equal(c->token, "first");
	assert_string_equal(c->host, "api.example");
	k8s_config_free(c);
	c = good("current-context: k\n", CLUSTER "contexts: [{name: l, context: {cluster: c}}]\n",
		 "l");
	assert_null(c->token);
	k8s_config_free(c);
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *text, *context, *complaint;
	} bad[] = {
		{ "{", NULL, NULL },
		{ "kind: Config", NULL, "current-context: is missing" },
		{ CONTEXT, NULL, "cluster: there is no cluster c" },
		{ CLUSTER CONTEXT, NULL, "user: there is no user u" },
		{ CLUSTER CONTEXT, "z", "contexts: there is no context z" },
		{ "contexts: [{name: k, context: {}}]\ncurrent-context: k", NULL,
		  "cluster: is missing in the context" },
		{ "clusters: [{name: c}]\n" CONTEXT, NULL, "server: is missing" },
		{ "clusters: [{name: c, cluster: {server: 'ftp://x'}}]\n" CONTEXT, NULL,
		  "server: is not a URL" },
		{ "clusters: [{name: c, cluster: {server: 'https://a:0'}}]\n" CONTEXT, NULL,
		  "server: is not a URL" },
		{ "clusters: [{name: c, cluster: {server: 'https://a', proxy-url: "
		  "'socks5://x'}}]\n" CONTEXT,
		  NULL, "proxy-url: is not the URL of an HTTP proxy" },
		{ "clusters: [{name: c, cluster: {server: 'https://a', certificate-authority-data: "
		  "'!'}}]\n" CONTEXT,
		  NULL, "certificate-authority-data: is not base64" },
		{ CLUSTER "users: [{name: u, user: {client-key: x}}]\n" CONTEXT, NULL,
		  "client certificate and client key come together" },
		{ CLUSTER "users: [{name: u, user: {auth-provider: {name: gcp}}}]\n" CONTEXT, NULL,
		  "auth-provider: is not supported" },
		{ CLUSTER "users: [{name: u, user: {exec: {command: x}}}]\n" CONTEXT, NULL,
		  "exec.apiVersion: must be" },
		{ CLUSTER "users: [{name: u, user: {exec: {apiVersion: "
			  "client.authentication.k8s.io/v1}}}]\n" CONTEXT,
		  NULL, "exec.command: is missing" },
		{ CLUSTER "users: [{name: u, user: {exec: {apiVersion: "
			  "client.authentication.k8s.io/v1, command: x, args: y}}}]\n" CONTEXT,
		  NULL, "exec.args: is not a list" },
		{ CLUSTER
		  "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
		  "command: x, interactiveMode: Always}}}]\n" CONTEXT,
		  NULL, "exec.interactiveMode: Always" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct errs errors = { .arena = arena_new() };
		struct k8s_config *c = NULL;
		struct buf text = { 0 };

		assert_true(parse(bad[i].text, NULL, bad[i].context, &c, &errors) < 0);
		assert_null(c);
		errs_print(&errors, "", &text);
		assert_true(errors.n > 0);
		if (bad[i].complaint && !strstr(buf_cstr(&text), bad[i].complaint))
			fail_msg("%s is not in %s", bad[i].complaint, buf_cstr(&text));
		buf_free(&text);
		arena_free(errors.arena);
	}
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Checks the only complaint about a file: its text is whole. */
static void expect_refused(const char *path, const char *context, const char *place,
			   const char *complaint)
{
	struct errs errors = { .arena = arena_new() };
	struct k8s_config *c = NULL;
	struct buf wanted = { 0 };

	buf_printf(&wanted, "%s%s", place, complaint);
	assert_true(k8s_config_load(path, context, &c, &errors) < 0);
	assert_null(c);
	assert_int_equal(errors.n, 1);
	assert_string_equal(errors.items[0].text, buf_cstr(&wanted));
	buf_free(&wanted);
	arena_free(errors.arena);
}

static void a_complaint_names_its_file(void **state)
{
	char folder[] = "/tmp/maglev-k8s.XXXXXX", path[256];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/config", folder);
	expect_refused(path, NULL, path, ": cannot be opened: No such file or directory");
	setenv("KUBECONFIG", path, 1);
	write_file(folder, "config", CLUSTER CONTEXT);
	expect_refused(path, "other", path, ": contexts: there is no context other");
	expect_refused(NULL, "other", "KUBECONFIG", ": contexts: there is no context other");
	write_file(folder, "config", "a: b\n]\n");
	expect_refused(path, NULL, path,
		       ":2:1: did not find expected key while parsing a block mapping that began "
		       "at line 1");
	unsetenv("KUBECONFIG");
	unlink(path);
	rmdir(folder);
}

static void a_pod_knows_its_server_and_namespace(void **state)
{
	struct errs errors = { .arena = arena_new() };
	char folder[] = "/tmp/maglev-k8s.XXXXXX", path[256];
	struct k8s_config *c = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	unsetenv("KUBERNETES_SERVICE_HOST");
	assert_int_equal(k8s_config_in_pod(folder, &c, &errors), -ENOENT);
	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	assert_true(k8s_config_in_pod(folder, &c, &errors) < 0); /* no namespace */
	write_file(folder, "namespace", "mine\n");
	assert_int_equal(k8s_config_in_pod(folder, &c, &errors), 0);
	assert_string_equal(c->host, "fd00::1");
	assert_string_equal(c->server, "https://[fd00::1]:443");
	assert_string_equal(c->namespace, "mine");
	assert_true(strstr(c->token_file, "/token") && strstr(c->ca, "/ca.crt"));
	k8s_config_free(c);
	snprintf(path, sizeof(path), "%s/namespace", folder);
	unlink(path);
	rmdir(folder);
	arena_free(errors.arena);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificates_and_paths),
		cmocka_unit_test(tokens_passwords_and_plugins),
		cmocka_unit_test(several_files_are_one),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(a_complaint_names_its_file),
		cmocka_unit_test(a_pod_knows_its_server_and_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

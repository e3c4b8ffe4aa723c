/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: where the API server is and who we are: from kubeconfig files, or from within a pod.
 *
 * Of a kubeconfig (client-go's format) is supported: clusters with server,
 * certificate-authority(-data), insecure-skip-tls-verify, tls-server-name and proxy-url (http
 * only); users with client-certificate(-data), client-key(-data), token, tokenFile, username and
 * password, exec, and as; contexts with cluster, user and namespace; several files in KUBECONFIG,
 * of which the first that has a name wins. Unknown keys are ignored, as kubectl does.
 * auth-provider, which client-go has removed, is an error.
 *
 * A config is immutable. Files that it names (certificates, keys, tokens) are read by the client,
 * again when they change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct k8s_variable {
	const char *name, *value;
};

/* A program that prints credentials (client.authentication.k8s.io/v1 or v1beta1). */
struct k8s_exec {
	const char *command; /* NULL: none; a path, or a name for PATH */
	const char *const *args;
	size_t n_args;
	const struct k8s_variable *env;
	size_t n_env;
	const char *api_version;
	const char *hint;  /* installHint: shown if the command cannot be run; "" */
	bool with_cluster; /* provideClusterInfo */
};

struct k8s_config {
	/* cluster */
	const char *server; /* the URL, for messages */
	const char *host;   /* name or address without brackets */
	uint16_t port;
	const char *prefix; /* path before all others, without a slash at its end; "" */
	bool tls;
	bool insecure;		 /* the server's certificate is not verified */
	const char *server_name; /* for SNI and verification; NULL: host */
	const char *ca;		 /* PEM text or path; NULL: the system's */
	const char *proxy_host;	 /* HTTP proxy; NULL: none */
	uint16_t proxy_port;
	const char *proxy_user; /* "user:password"; NULL: none */
	/* user */
	const char *certificate, *key; /* PEM text or path; NULL: none */
	const char *token;
	const char *token_file; /* read again when it changes; wins over token */
	const char *basic;	/* "user:password"; NULL: none */
	const char *as;		/* impersonated user; NULL: none */
	struct k8s_exec exec;
	/* context */
	const char *context;   /* its name; "" in a pod */
	const char *namespace; /* "default" if none is given */
	struct arena *arena;
};

/* One file of KUBECONFIG. */
struct k8s_config_text {
	struct str text;
	const char *folder; /* relative paths in it start there; "" for those of the process */
};

/*
 * Pure: from the bytes of files. context: NULL for the current one. -EINVAL with complaints in
 * errors; *ret is untouched then.
 */
int k8s_config_parse(const struct k8s_config_text *files, size_t n, const char *context,
		     struct k8s_config **ret, struct errs *errors);
/*
 * The one of kubectl: `path` if not NULL, else the files of KUBECONFIG, else the pod's own if
 * KUBERNETES_SERVICE_HOST is set, else ~/.kube/config. Errors as above, or those of reading; the
 * text of a complaint is whole: it has the name of the file, the place and the key.
 */
int k8s_config_load(const char *path, const char *context, struct k8s_config **ret,
		    struct errs *errors);
/*
 * In a pod: the address from the environment; token, ca.crt and namespace in folder (NULL: where
 * Kubernetes puts them). -ENOENT, with a complaint, if this is not a pod.
 */
int k8s_config_in_pod(const char *folder, struct k8s_config **ret, struct errs *errors);
void k8s_config_free(struct k8s_config *c); /* NULL is allowed */

/*
 * Splits "https://host:port/prefix". -EINVAL; the members of *c are untouched then. Texts in
 * c->arena.
 */
int k8s__config_server(struct k8s_config *c, const char *url);
int k8s__config_proxy(struct k8s_config *c, const char *url);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery: which of the kinds that a program can use are installed, and in which version.
 *
 * Each wanted kind has the versions that the program understands, the best one first. The server is
 * asked for their lists of resources (/apis/GROUP/VERSION) at the start, every `period`, and soon
 * after a CustomResourceDefinition has changed, as far as the program may watch these.
 *
 * A failure changes nothing: a kind is gone only when the server says so.
 */
#pragma once

#include "lib/k8s/client.h"

struct k8s_discovery;

#define K8S_DISCOVERY_VERSIONS 4

struct k8s_wanted {
	const char *group, *plural;
	const char *versions[K8S_DISCOVERY_VERSIONS]; /* the best first, then NULL */
};

/* Zero means the default. wanted is borrowed. */
struct k8s_discovery_config {
	struct k8s_client *client;
	const struct k8s_wanted *wanted;
	size_t n_wanted;
	int64_t period; /* 30 s */
	/*
	 * The version of a kind has changed; NULL: it is not installed. Called for each kind when
	 * it is known for the first time.
	 */
	void (*changed)(size_t kind, const char *version, void *user);
	/* All kinds are known for the first time. May be NULL. */
	void (*synced)(void *user);
	void *user;
};

struct k8s_discovery *k8s_discovery_new(const struct k8s_discovery_config *config);
void k8s_discovery_free(struct k8s_discovery *d); /* NULL is allowed; not within callbacks */
/* Asks now. */
void k8s_discovery_poke(struct k8s_discovery *d);
/* NULL: not installed, or not known yet. */
const char *k8s_discovery_version(const struct k8s_discovery *d, size_t kind);

/*
 * Pure: whether the text, an APIResourceList, has a resource of that name. -EINVAL: it is not one.
 */
int k8s_discovery_parse(struct str text, const char *plural);

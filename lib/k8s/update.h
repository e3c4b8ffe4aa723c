/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update: reads an object, changes it, and begins again if another writer was first.
 *
 * The change is a JSON merge patch with the resourceVersion of what was read, so that it applies to
 * exactly that and leaves fields alone that the program does not know.
 */
#pragma once

#include "lib/json/tree.h"
#include "lib/k8s/client.h"

struct k8s_update;

struct k8s_update_config {
	struct k8s_client *client;
	const struct k8s_resource *resource;
	const char *namespace, *name, *subresource; /* as of a call */
	const char *manager;
	/*
	 * Appends the patch, a JSON object that has "metadata":{"resourceVersion":version,...} in
	 * it. False: nothing is to be changed, and done() gets K8S_OK. May be called several times.
	 */
	bool (*change)(const struct json_node *current, const char *version, struct buf *patch,
		       void *user);
	/* The update is freed when this returns. K8S_CONFLICT after K8S_UPDATE_TRIES. */
	void (*done)(const struct k8s_result *result, void *user);
	void *user;
};

#define K8S_UPDATE_TRIES 6

/* Errors as of k8s_call(). Everything is copied. */
int k8s_update(const struct k8s_update_config *config, struct k8s_update **ret);
/* Ends it without done(). NULL is allowed. */
void k8s_update_cancel(struct k8s_update *u);

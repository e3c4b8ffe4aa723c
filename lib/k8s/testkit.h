/* SPDX-License-Identifier: Apache-2.0 */
/* testkit: a kind for tests that has a field of every type. */
#pragma once

#include "lib/k8s/kind.h"

struct test_port {
	const char *name, *target;
	int64_t port;
};

struct test_thing {
	struct k8s_object object;
	const char *class, *title, *raw, *scale;
	int64_t weight;
	uint8_t ready, has_tls;
	const char *tls_mode;
	struct k8s_list labels, annotations, ips, ports;
};

static const struct k8s_field test_port_fields[] = {
	K8S_FIELD("name", K8S_STRING, struct test_port, name),
	K8S_FIELD("targetPort", K8S_TEXT, struct test_port, target),
	K8S_FIELD("port", K8S_INT, struct test_port, port, .absent = -1),
};
static const struct k8s_layout test_port_layout = K8S_LAYOUT(struct test_port, test_port_fields);

static const char *const test_annotations[] = { "one", "test.example/*", NULL };

static const struct k8s_field test_thing_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct test_thing, labels),
	K8S_FIELD("metadata.annotations", K8S_MAP, struct test_thing, annotations,
		  .keep = test_annotations),
	K8S_FIELD("spec.class", K8S_NAME, struct test_thing, class),
	K8S_FIELD("spec.title", K8S_STRING, struct test_thing, title),
	K8S_FIELD("spec.raw", K8S_JSON, struct test_thing, raw),
	K8S_FIELD("spec.scale", K8S_TEXT, struct test_thing, scale),
	K8S_FIELD("spec.weight", K8S_INT, struct test_thing, weight, .absent = 1),
	K8S_FIELD("spec.tls", K8S_PRESENT, struct test_thing, has_tls),
	K8S_FIELD("spec.tls.mode", K8S_STRING, struct test_thing, tls_mode),
	K8S_FIELD("spec.ips", K8S_STRINGS, struct test_thing, ips),
	K8S_FIELD("spec.ports", K8S_LIST, struct test_thing, ports, .of = &test_port_layout),
	K8S_FIELD("status.ready", K8S_BOOL, struct test_thing, ready),
};
static const struct k8s_layout test_thing_layout = K8S_LAYOUT(struct test_thing, test_thing_fields);

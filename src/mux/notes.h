/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes: the annotations that users write. Pure.
 *
 * Each parser returns 0, or -EINVAL with a sentence for people in the arena; the output is
 * untouched then. Lists are separated by commas; blanks around items and empty items are ignored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* One item of <prefix>/external-ports. */
struct mux_override {
	const char *name;
	uint16_t port; /* 0: auto */
};

#define MUX_OVERRIDES_MAX 1000
#define MUX_ADMITS_MAX 256

struct mux_overrides {
	const struct mux_override *items; /* the last one of a name counts */
	size_t n;
};

/* "http:8080,grpc:auto"; text may be NULL. */
int mux_parse_external_ports(const char *prefix, const char *text, struct arena *arena,
			     struct mux_overrides *ret, const char **ret_why);
/* NULL: not mentioned. */
const struct mux_override *mux_override_of(const struct mux_overrides *o, const char *name);

#define MUX_RANGES_MAX 256

struct mux_range {
	uint16_t first, last;
};

/* Searched in the order of the text. */
struct mux_ranges {
	const struct mux_range *items;
	size_t n;
};

/* "20000-20099, 21000"; text may be NULL. */
int mux_parse_port_range(const char *prefix, const char *text, struct arena *arena,
			 struct mux_ranges *ret, const char **ret_why);
bool mux_ranges_have(const struct mux_ranges *r, unsigned port);
/* "20000-20099,21000", in the arena. */
const char *mux_ranges_show(const struct mux_ranges *r, struct arena *arena);

/* 0 in *ret for NULL and "": no limit. */
int mux_parse_max_ports(const char *prefix, const char *text, struct arena *arena, unsigned *ret,
			const char **ret_why);
/* A duration of Go, "10m"; 0 in *ret for NULL and "". */
int mux_parse_release_grace(const char *prefix, const char *text, struct arena *arena, int64_t *ret,
			    const char **ret_why);

enum mux_admit_kind { MUX_ADMIT_NAME, MUX_ADMIT_START, MUX_ADMIT_LABEL };

/* One item of <prefix>/allowed-namespaces: "app", "team-*", "label=value". */
struct mux_admit {
	enum mux_admit_kind kind;
	const char *text;  /* name, beginning or key */
	const char *value; /* of a label */
};

struct mux_admits {
	const struct mux_admit *items;
	size_t n;
	bool all; /* there is no such annotation */
};

int mux_parse_allowed_namespaces(const char *prefix, const char *text, struct arena *arena,
				 struct mux_admits *ret, const char **ret_why);

/* The mux port of a port in <prefix>/ports ("http:80->8080, grpc:9090->20001"); 0: none. */
uint16_t mux_mapped_port(const char *text, const char *port_name);

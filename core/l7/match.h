/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match: what a request must be like for a rule to apply, and which of two rules goes first.
 *
 * The order is that of the Gateway API. Of the rules of one host name: an exact path, then a
 * regular expression, then a prefix; the longer path; one that names a method; more conditions on
 * headers; more on the query; and the lower `order`, which is the caller's and has no ties. (The
 * Gateway API leaves the place of regular expressions open.)
 *
 * The path of a gRPC request is "/service/method", so a rule for a service and a method is an exact
 * path, and one for a service alone is a prefix. A rule for a method of any service goes after all
 * rules with a service, and before those for everything. Of two regular expressions for gRPC the
 * one with the longer service goes first, then the one with the longer method.
 *
 * A prefix matches whole segments: "/a" and "/a/" match "/a", "/a/" and "/a/b", but not "/ab".
 * Names of headers have no case; everything else has. Of several headers or parameters with one
 * name the first counts. Parameters are compared after percent-decoding.
 *
 * Pure: nothing is allocated, and all strings are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/field.h"
#include "base/str.h"

#define L7_PATH_MAX 1024 /* bytes of the path of a rule */

enum l7_kind {
	L7_EXACT,
	L7_REGEX,
	L7_PREFIX,
	L7_METHOD, /* of gRPC, of any service: the second of two segments */
};

/* A compiled regular expression, as the caller has it. */
struct l7_regex;

/* Whether the whole text matches. Must be callable from several threads at once. */
typedef bool (*l7_regex_fn)(const struct l7_regex *regex, struct str text);

/* A condition on a header or a parameter of the query. */
struct l7_condition {
	struct str name;
	enum l7_kind kind; /* L7_EXACT or L7_REGEX */
	struct str value;
	const struct l7_regex *regex; /* with L7_REGEX */
};

/* The calls of gRPC that a rule is for; what is empty may be anything. */
struct l7_grpc_match {
	struct str service, method;
	const struct l7_regex *service_regex, *method_regex; /* with L7_REGEX */
};

struct l7_match {
	enum l7_kind kind; /* of the path */
	struct str path;   /* starts with '/', unless it is a regular expression */
	const struct l7_regex *regex;
	const struct l7_grpc_match *grpc; /* NULL: a rule for HTTP; else kind and path follow it */
	struct str method;		  /* empty: any */
	const struct l7_condition *headers, *queries;
	size_t n_headers, n_queries;
	uint32_t order; /* among equals the lower goes first; no two are equal */
};

/* A request, as far as rules look at it. */
struct l7_request {
	struct str host;  /* as sent, with or without a port */
	struct str path;  /* up to the '?' */
	struct str query; /* after it; empty: none */
	struct str method;
	const struct field *headers;
	size_t n_headers;
};

/* A path without the slash at its end, which a prefix may have or not. */
struct str l7_prefix(struct str path);
/* Whether a rule is for a method of gRPC, but not for one service. */
bool l7_match_is_method(const struct l7_match *m);
/* Compares two rules of one host: below 0 if a goes first; 0 only for a rule and itself. */
int l7_match_cmp(const struct l7_match *a, const struct l7_match *b);
/* Whether the conditions other than the path hold. */
bool l7_match_rest(const struct l7_match *m, const struct l7_request *r, l7_regex_fn regex);
/* Whether the whole rule applies to the request, whatever its host. */
bool l7_match_all(const struct l7_match *m, const struct l7_request *r, l7_regex_fn regex);

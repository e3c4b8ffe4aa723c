/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate_build: shared by the files of the semantic phase (private to core/l4/validate*.c).
 *
 * A struct l4__build lives for one l4_config_build(). Each section has one function that reads
 * its part of the document and fills its part of the configuration, with the rules of
 * base/rule.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/rule.h"
#include "core/l4/schema.h"
#include "core/l4/validate.h"

/* Properties of frontend i beyond its struct, for the rules that compare frontends. */
struct l4__vip {
	int family;   /* of its backends; AF_UNSPEC: none, or mixed */
	bool has_key; /* protocol and port are valid */
};

struct l4__build {
	const struct l4_doc *doc;
	const struct l4_rules *rules;
	struct arena *arena; /* for the result; temporary data is in sink.scratch */
	struct rule_sink sink;
	struct l4_config *config;
	const struct doc_lb *lb; /* the section lb or vpp.lb */
	const struct rule_spot *lb_spot;
	bool dataplane_known; /* false: the value is invalid, nothing may be concluded from it */

	struct l4_check *checks;
	struct l4_backend *backends;
	struct l4_frontend *frontends;
	/* entries[i] is where config->checks[i] (backends, frontends) came from */
	const struct rule_entry *check_entries, *backend_entries, *frontend_entries;
	struct l4__vip *vips; /* one per frontend */
};

extern const struct rule_spot l4__root; /* "maglev" */
extern const struct rule_spot l4__checks_spot, l4__backends_spot, l4__frontends_spot;

/* `; did you mean "a" or "b"?` from the entries whose names are similar, or "". */
const char *l4__near(struct l4__build *b, const char *name, const struct rule_entry *entries,
		     size_t n);

/*
 * The address of a VIP or a server: as rule_address(), and not one that the data plane would
 * misinterpret. Returns false if it was reported.
 */
bool l4__host(struct l4__build *b, const struct rule_spot *in, const char *word,
	      const struct doc_text *d, struct addr *ret);
static inline const char *l4__family_name(int family)
{
	return family == AF_INET6 ? "IPv6" : "IPv4";
}

/* A pattern that compiles, or NULL if there is none; one that does not was reported. */
const char *l4__regexp(struct l4__build *b, const struct rule_spot *spot, const char *word,
		       const struct doc_text *d);
/* The parameters that a check of this type does not have are errors. */
void l4__refuse_params(struct l4__build *b, const struct rule_spot *spot,
		       const struct rule_spot *params, const struct doc_check *d,
		       enum l4_check_type type);
/* The parameters of tcp, tls and udp, and those of dns. */
void l4__build_talk(struct l4__build *b, const struct rule_spot *spot, const struct doc_check *d,
		    struct l4_check *c);
void l4__build_dns(struct l4__build *b, const struct rule_spot *spot, const struct doc_check *d,
		   struct l4_check *c);

/* The sections, in the order in which they are built. */
void l4__build_dataplane(struct l4__build *b);
void l4__build_checks(struct l4__build *b);
void l4__build_backends(struct l4__build *b);
void l4__build_frontends(struct l4__build *b);
void l4__compare_vips(struct l4__build *b);
void l4__build_lb(struct l4__build *b);
void l4__build_xdp(struct l4__build *b);
/* The ports of `ports: vip`; after the references of all backends are known. */
void l4__find_ports(struct l4__build *b);
/* Warnings about checks of ports that no frontend has. */
void l4__doubt_ports(struct l4__build *b);
/* Only for a configuration without errors. */
void l4__find_doubts(struct l4__build *b);

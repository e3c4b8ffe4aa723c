/* SPDX-License-Identifier: Apache-2.0 */
/* schema: the tables of maglev.yaml, generated from the rows of keys.h (see base/schema.h). */
#pragma once

#include "base/schema.h"

/* The mapping that is the whole document; it fills a struct l4_doc. */
extern const struct schema_section l4_schema;
/* Its only key, "maglev"; the values of the mappings in it are in struct l4_config. */
extern const struct schema_section l4_schema_maglev;
/* Entries: struct doc_check and l4_check, doc_backend and l4_backend, and so on. */
extern const struct schema_section l4_schema_check, l4_schema_params, l4_schema_backend,
	l4_schema_frontend, l4_schema_pool, l4_schema_member;

/* Kinds of values that only this configuration has. */
extern const struct schema_kind l4_kind_check_type;   /* enum l4_check_type */
extern const struct schema_kind l4_kind_check_ports;  /* enum l4_check_ports */
extern const struct schema_kind l4_kind_dns_type;     /* enum l4_dns_type */
extern const struct schema_kind l4_kind_dns_rcode;    /* enum l4_dns_rcode */
extern const struct schema_kind l4_kind_ca;	      /* struct l4_ca */
extern const struct schema_kind l4_kind_codes;	      /* struct l4_codes */
extern const struct schema_kind l4_kind_check;	      /* const struct l4_check *: a reference */
extern const struct schema_kind l4_kind_protocol;     /* uint8_t */
extern const struct schema_kind l4_kind_dataplane;    /* enum l4_dataplane */
extern const struct schema_kind l4_kind_xdp_mode;     /* enum l4_xdp_mode */
extern const struct schema_kind l4_kind_xdp_transmit; /* enum l4_xdp_transmit */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_message: questions for the records of a name and their answers, as bytes (RFC 1035, 3596,
 * 2308). Only addresses are taken from answers. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define DNS_QUERY_MAX 271 /* bytes: header, name, type and class */
#define DNS_WIRE_NAME 255 /* bytes of a name: labels with their lengths */
#define DNS_ADDRESSES 64  /* that are taken from one answer; further ones are dropped */
#define DNS_CHAIN 16	  /* aliases that are followed */

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_SOA = 6, DNS_AAAA = 28 };

/* A name as in messages, in lower case. */
struct dns_name {
	uint8_t bytes[DNS_WIRE_NAME];
	uint8_t n;
};

struct dns_question {
	uint16_t id;
	/* DNS_A or DNS_AAAA; for any other type no answer is DNS_FOUND, and its code counts */
	uint16_t type;
	struct dns_name name;
};

enum dns_verdict {
	DNS_FOUND,     /* at least one address */
	DNS_NO_DATA,   /* the name exists, without addresses of that type */
	DNS_NO_NAME,   /* it does not exist */
	DNS_TRUNCATED, /* ask again over TCP */
	DNS_FAILED,    /* the server cannot answer: ask another one */
};

struct dns_answer {
	enum dns_verdict verdict;
	unsigned code; /* the server's */
	uint32_t ttl;  /* s, with the first three; 0 also if nothing was said */
	struct addr found[DNS_ADDRESSES];
	size_t n;
};

/*
 * "www.example.com", with or without a dot at its end. -EINVAL for what cannot be a name: an empty
 * label, one of more than 63 bytes, or too much in all.
 */
int dns_name_parse(const char *text, struct dns_name *ret);

/* Returns the length. */
size_t dns_write_query(const struct dns_question *q, uint8_t out[static DNS_QUERY_MAX]);
/* 0; -EBADMSG for bytes that are no answer to this question, *ret is not valid then. */
int dns_read_answer(const uint8_t *p, size_t n, const struct dns_question *q,
		    struct dns_answer *ret);

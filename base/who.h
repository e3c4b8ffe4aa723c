/* SPDX-License-Identifier: Apache-2.0 */
/*
 * who: the operator of an act, as far as a server can know it.
 *
 * A name is believed if the client proved it with a certificate. A client may also name the person
 * that it acts for: a dashboard serves many people over one connection. What it says is believed
 * only if its own certificate is that of a delegate. What a client without a certificate says is
 * kept, because it helps people, but it always begins with "unverified:". A client with a
 * certificate is called by that name, whatever it says. The address is that of the connection,
 * unless a delegate names another one.
 *
 *	certificate	delegate	says	name
 *	none		-		-	""
 *	none		-		alice	"unverified:alice"
 *	bob		no		alice	"bob"
 *	dash		yes		alice	"alice via dash"
 *	dash		yes		-	"dash"
 *
 * Pure. A name never has control characters, and it is valid UTF-8.
 */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/str.h"

/* The metadata of a gRPC call with which a client names the operator, and that one's address. */
#define WHO_METADATA "maglev-operator"
#define WHO_METADATA_ADDRESS "maglev-operator-address"

#define WHO_PART_MAX 64 /* bytes of a name that is proved or said; the rest is cut */
#define WHO_NAME_SIZE (2 * WHO_PART_MAX + 8)

struct who {
	char name[WHO_NAME_SIZE]; /* for people; "": nobody said one */
	struct addr address;	  /* not set: not known */
};

struct who_evidence {
	const char *certificate;  /* the name that it proves; NULL: none */
	bool delegate;		  /* that name may speak for others */
	const char *says;	  /* the name that the client gives; NULL or "": none */
	const char *says_address; /* the address that it gives; NULL or "": none */
	struct addr peer;	  /* of the connection */
};

struct who who_judge(const struct who_evidence *e);
/* Appends " by alice from 192.0.2.7", as much of it as is known; nothing for NULL. */
void who_print(const struct who *w, struct buf *out);
/* A copy on the heap; NULL for NULL. */
struct who *who_dup(const struct who *w);

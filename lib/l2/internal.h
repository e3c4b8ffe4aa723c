/* SPDX-License-Identifier: Apache-2.0 */
/* internal: what the two halves of the responder share. */
#pragma once

#include "lib/l2/responder.h"

/* A socket of the family, or a negative errno. */
int l2__arp_open(struct l2_responder *r);
int l2__ndp_open(struct l2_responder *r);
/* Sends one announcement of the claim. */
void l2__arp_announce(struct l2_responder *r, struct l2_claim *c);
void l2__ndp_announce(struct l2_responder *r, struct l2_claim *c);
/* Reads one packet; false if there was none. */
bool l2__arp_receive(struct l2_responder *r);
bool l2__ndp_receive(struct l2_responder *r);
/* The group of an IPv6 address, which several claims may share; errors as of setsockopt(). */
int l2__ndp_join(struct l2_responder *r, const struct addr *vip);
void l2__ndp_leave(struct l2_responder *r, const struct addr *vip);

struct l2_claim *l2__find(const struct l2_responder *r, const struct addr *vip);

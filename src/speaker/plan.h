/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: the configuration of FRR that a configuration of the speaker and the states of its VIPs
 * mean. Pure: the same input gives the same bytes.
 *
 * Each advertisement has several classes (core/frr/model.h): one for normal announcements, one for
 * draining, and one for each way in which its VIPs are announced worse. All of them are always
 * there, so that a change of a VIP's state changes one network and no route map. The number of a
 * class is derived from what it is for and not from its position, so that the classes of other
 * advertisements keep theirs when one is added or removed.
 */
#pragma once

#include "core/announce/announce.h"
#include "core/bgp/config.h"

/*
 * Appends the text. states has one entry per VIP of the configuration. If several VIPs have one
 * prefix, the best state counts: announced, then worse, then draining.
 */
void plan_text(const struct bgp_config *c, const enum announce_state *states, struct buf *out);
/* Whether the peer is sent the prefix of this VIP while it is announced. */
bool plan_reaches(const struct bgp_config *c, const struct bgp_vip *v, const struct bgp_peer *p);

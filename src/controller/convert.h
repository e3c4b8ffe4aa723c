/* SPDX-License-Identifier: Apache-2.0 */
/* convert: a BGPPeer in another version. Pure. */
#pragma once

#include "base/str.h"
#include "lib/json/tree.h"

/*
 * Appends the object in the version ("metallb.io/v1beta1" or "metallb.io/v1beta2"). Everything that
 * both versions have stays as it is. A timer of v1beta1 that is zero was not set, since that
 * version cannot tell the two apart; it is left out of v1beta2, where zero would switch it off.
 * -EINVAL, with nothing appended, if that is not a BGPPeer, or the version is another one.
 */
int convert_peer(const struct json_node *peer, const char *version, struct buf *out);

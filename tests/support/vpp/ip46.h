/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ip46: addresses as VPP keeps them, both families in sixteen bytes.
 *
 * An IPv4 address is the last four bytes after twelve zeros, and a prefix length of IPv4 is
 * counted from the first of the sixteen: /32 is 128. So an IPv6 address inside ::/96 is an IPv4
 * address to VPP. Clients must cope with that, so we do the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct ip46 {
	uint8_t b[16];
};

#define IP46_WIRE_LEN 17 /* family, sixteen bytes; IPv4 in the first four of them */

struct ip46 ip46_decode(const uint8_t wire[static IP46_WIRE_LEN]);
void ip46_encode(const struct ip46 *a, uint8_t wire[static IP46_WIRE_LEN]);
struct ip46 ip46_of(const struct addr *a);

bool ip46_is4(const struct ip46 *a);
bool ip46_prefix_is4(const struct ip46 *a, uint8_t plen);
int ip46_cmp(const struct ip46 *a, const struct ip46 *b);
/* Clears the host bits. Lengths above 128 give what the shift instruction gives in VPP. */
void ip46_mask(struct ip46 *a, uint8_t plen);
bool ip46_covers(const struct ip46 *prefix, uint8_t plen, const struct ip46 *a);

#define IP46_STRLEN (ADDR_STRLEN + 4)
/* Formats an address as VPP prints it. Returns buf. */
const char *ip46_format(const struct ip46 *a, char buf[static IP46_STRLEN]);
const char *ip46_format_prefix(const struct ip46 *a, uint8_t plen, char buf[static IP46_STRLEN]);
/* Parses "192.0.2.0/24" or "2001:db8::/32"; -EINVAL for anything else. */
int ip46_parse_prefix(const char *text, struct ip46 *ret, uint8_t *ret_plen);

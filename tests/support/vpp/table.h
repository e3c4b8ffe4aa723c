/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: the messages of a VPP version, by name and by number.
 *
 * Numbers depend on the plugins that are loaded: a missing message moves all numbers after it. The
 * table has as many entries as that of the VPP from which it was recorded; messages that we do not
 * answer have invented names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum msg {
	MSG_API_VERSIONS,
	MSG_API_VERSIONS_REPLY,
	MSG_SOCKCLNT_CREATE,
	MSG_SOCKCLNT_CREATE_REPLY,
	MSG_SOCKCLNT_DELETE,
	MSG_SOCKCLNT_DELETE_REPLY,
	MSG_MEMCLNT_KEEPALIVE,
	MSG_MEMCLNT_KEEPALIVE_REPLY,
	MSG_CONTROL_PING,
	MSG_CONTROL_PING_REPLY,
	MSG_LB_CONF,
	MSG_LB_CONF_REPLY,
	MSG_LB_CONF_GET,
	MSG_LB_CONF_GET_REPLY,
	MSG_LB_ADD_DEL_VIP,
	MSG_LB_ADD_DEL_VIP_REPLY,
	MSG_LB_ADD_DEL_VIP_V2,
	MSG_LB_ADD_DEL_VIP_V2_REPLY,
	MSG_LB_ADD_DEL_AS,
	MSG_LB_ADD_DEL_AS_REPLY,
	MSG_LB_ADD_DEL_AS_V2,
	MSG_LB_ADD_DEL_AS_V2_REPLY,
	MSG_LB_AS_SET_WEIGHT,
	MSG_LB_AS_SET_WEIGHT_REPLY,
	MSG_LB_FLUSH_VIP,
	MSG_LB_FLUSH_VIP_REPLY,
	MSG_LB_VIP_DUMP,
	MSG_LB_VIP_DETAILS,
	MSG_LB_AS_DUMP,
	MSG_LB_AS_DETAILS,
	MSG_LB_AS_V2_DUMP,
	MSG_LB_AS_V2_DETAILS,
	MSG_LB_ADD_DEL_INTF_NAT4,
	MSG_LB_ADD_DEL_INTF_NAT4_REPLY,
	MSG_LB_ADD_DEL_INTF_NAT6,
	MSG_LB_ADD_DEL_INTF_NAT6_REPLY,
	MSG_CLI_INBAND,
	MSG_CLI_INBAND_REPLY,
	MSG_IP_ROUTE_LOOKUP,
	MSG_IP_ROUTE_LOOKUP_REPLY,
	MSG_MPLS_IP_BIND_UNBIND,
	MSG_SHOW_VERSION,
	MSG_SHOW_VERSION_REPLY,
	MSG_KNOWN, /* number of the kinds above; also stands for any other message */
};

enum personality {
	PERSONALITY_NEW,       /* the 26.10 line */
	PERSONALITY_OLD,       /* 26.06 and before: the same CRCs with other meanings */
	PERSONALITY_NO_PLUGIN, /* lb is not loaded */
	PERSONALITY_OTHER_CRC, /* a draft of the weight message, with another layout */
};

#define TABLE_NAME_LEN 64

struct table_entry {
	uint16_t id;
	char name[TABLE_NAME_LEN]; /* with the CRC; cut at 63 characters, as in VPP */
	enum msg msg;		   /* MSG_KNOWN: not answered */
};

struct table {
	VEC(struct table_entry) entries; /* in the order in which clients receive them */
	uint16_t ids[MSG_KNOWN];	 /* 0: this VPP does not have it */
};

void table_build(struct table *t, enum personality who);
void table_free(struct table *t);
/* Returns MSG_KNOWN if there is no such number or the message is not answered. */
enum msg table_find(const struct table *t, uint16_t id);
/* The name of a message without its CRC. */
const char *table_msg_name(enum msg msg);
/* Finds a message by its name without CRC; MSG_KNOWN if there is none. */
enum msg table_msg_of(const char *name);

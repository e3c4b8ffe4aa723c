/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vpp/table.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define RECORDED_ENTRIES 865
#define LONG_NAME_ID 700
#define STRIDE 367 /* coprime to the length of every table, so that it reaches all entries */

enum since { ALWAYS, PLUGIN, PLUGIN_1_2 };

static const struct {
	const char *name, *crc;
	uint16_t id; /* if all plugins are loaded */
	enum since since;
} known[MSG_KNOWN] = {
	[MSG_API_VERSIONS] = { "api_versions", "51077d14", 12, ALWAYS },
	[MSG_API_VERSIONS_REPLY] = { "api_versions_reply", "5f0d99d6", 13, ALWAYS },
	[MSG_SOCKCLNT_CREATE] = { "sockclnt_create", "455fb9c4", 15, ALWAYS },
	[MSG_SOCKCLNT_CREATE_REPLY] = { "sockclnt_create_reply", "35166268", 16, ALWAYS },
	[MSG_SOCKCLNT_DELETE] = { "sockclnt_delete", "8ac76db6", 17, ALWAYS },
	[MSG_SOCKCLNT_DELETE_REPLY] = { "sockclnt_delete_reply", "8f38b1ee", 18, ALWAYS },
	[MSG_MEMCLNT_KEEPALIVE] = { "memclnt_keepalive", "51077d14", 21, ALWAYS },
	[MSG_MEMCLNT_KEEPALIVE_REPLY] = { "memclnt_keepalive_reply", "e8d4e804", 22, ALWAYS },
	[MSG_CONTROL_PING] = { "control_ping", "51077d14", 23, ALWAYS },
	[MSG_CONTROL_PING_REPLY] = { "control_ping_reply", "f6b0b8ca", 24, ALWAYS },
	[MSG_LB_CONF] = { "lb_conf", "56cd3261", 89, PLUGIN },
	[MSG_LB_CONF_REPLY] = { "lb_conf_reply", "e8d4e804", 90, PLUGIN },
	[MSG_LB_CONF_GET] = { "lb_conf_get", "51077d14", 91, PLUGIN_1_2 },
	[MSG_LB_CONF_GET_REPLY] = { "lb_conf_get_reply", "923427ac", 92, PLUGIN_1_2 },
	[MSG_LB_ADD_DEL_VIP] = { "lb_add_del_vip", "6fa569c7", 93, PLUGIN },
	[MSG_LB_ADD_DEL_VIP_REPLY] = { "lb_add_del_vip_reply", "e8d4e804", 94, PLUGIN },
	[MSG_LB_ADD_DEL_VIP_V2] = { "lb_add_del_vip_v2", "7c520e0f", 95, PLUGIN },
	[MSG_LB_ADD_DEL_VIP_V2_REPLY] = { "lb_add_del_vip_v2_reply", "e8d4e804", 96, PLUGIN },
	[MSG_LB_ADD_DEL_AS] = { "lb_add_del_as", "35d72500", 97, PLUGIN },
	[MSG_LB_ADD_DEL_AS_REPLY] = { "lb_add_del_as_reply", "e8d4e804", 98, PLUGIN },
	[MSG_LB_ADD_DEL_AS_V2] = { "lb_add_del_as_v2", "2f1d3b0e", 99, PLUGIN_1_2 },
	[MSG_LB_ADD_DEL_AS_V2_REPLY] = { "lb_add_del_as_v2_reply", "e8d4e804", 100, PLUGIN_1_2 },
	[MSG_LB_AS_SET_WEIGHT] = { "lb_as_set_weight", "2d89bdbd", 101, PLUGIN_1_2 },
	[MSG_LB_AS_SET_WEIGHT_REPLY] = { "lb_as_set_weight_reply", "e8d4e804", 102, PLUGIN_1_2 },
	[MSG_LB_FLUSH_VIP] = { "lb_flush_vip", "1063f819", 103, PLUGIN },
	[MSG_LB_FLUSH_VIP_REPLY] = { "lb_flush_vip_reply", "e8d4e804", 104, PLUGIN },
	[MSG_LB_VIP_DUMP] = { "lb_vip_dump", "56110cb7", 105, PLUGIN },
	[MSG_LB_VIP_DETAILS] = { "lb_vip_details", "1329ec9b", 106, PLUGIN },
	[MSG_LB_AS_DUMP] = { "lb_as_dump", "1063f819", 107, PLUGIN },
	[MSG_LB_AS_DETAILS] = { "lb_as_details", "8d24c29e", 108, PLUGIN },
	[MSG_LB_AS_V2_DUMP] = { "lb_as_v2_dump", "1063f819", 109, PLUGIN_1_2 },
	[MSG_LB_AS_V2_DETAILS] = { "lb_as_v2_details", "90064aae", 110, PLUGIN_1_2 },
	[MSG_LB_ADD_DEL_INTF_NAT4] = { "lb_add_del_intf_nat4", "47d6e753", 111, PLUGIN },
	[MSG_LB_ADD_DEL_INTF_NAT4_REPLY] = { "lb_add_del_intf_nat4_reply", "e8d4e804", 112,
					     PLUGIN },
	[MSG_LB_ADD_DEL_INTF_NAT6] = { "lb_add_del_intf_nat6", "47d6e753", 113, PLUGIN },
	[MSG_LB_ADD_DEL_INTF_NAT6_REPLY] = { "lb_add_del_intf_nat6_reply", "e8d4e804", 114,
					     PLUGIN },
	[MSG_CLI_INBAND] = { "cli_inband", "f8377302", 119, ALWAYS },
	[MSG_CLI_INBAND_REPLY] = { "cli_inband_reply", "05879051", 121, ALWAYS },
	[MSG_IP_ROUTE_LOOKUP] = { "ip_route_lookup", "710d6471", 402, ALWAYS },
	[MSG_IP_ROUTE_LOOKUP_REPLY] = { "ip_route_lookup_reply", "5d8febcb", 404, ALWAYS },
	[MSG_MPLS_IP_BIND_UNBIND] = { "mpls_ip_bind_unbind", "c7533b32", 618, ALWAYS },
	[MSG_SHOW_VERSION] = { "show_version", "51077d14", 848, ALWAYS },
	[MSG_SHOW_VERSION_REPLY] = { "show_version_reply", "c919bde1", 849, ALWAYS },
};

static bool has(enum personality who, enum since since)
{
	switch (who) {
	case PERSONALITY_NEW:
	case PERSONALITY_OTHER_CRC:
		return true;
	case PERSONALITY_OLD:
		return since != PLUGIN_1_2;
	case PERSONALITY_NO_PLUGIN:
		return since == ALWAYS;
	}
	return false;
}

static enum msg known_at(uint16_t id)
{
	for (enum msg m = 0; m < MSG_KNOWN; m++)
		if (known[m].id == id)
			return m;
	return MSG_KNOWN;
}

static struct table_entry name_entry(uint16_t recorded_id, enum msg m, enum personality who)
{
	struct table_entry e = { .msg = m };
	const char *crc = "2c72979e";

	if (m == MSG_KNOWN && recorded_id == LONG_NAME_ID)
		memset(e.name, 'x', sizeof(e.name) - 1);
	else if (m == MSG_KNOWN)
		snprintf(e.name, sizeof(e.name), "nobodys_%u_%08x", recorded_id,
			 recorded_id * 2654435761u);
	else
		snprintf(e.name, sizeof(e.name), "%s_%s", known[m].name,
			 m == MSG_LB_AS_SET_WEIGHT && who == PERSONALITY_OTHER_CRC ? crc
										   : known[m].crc);
	return e;
}

/*
 * Reorders the entries like a hash table would: always the same order, but not one that clients
 * may rely on.
 */
static void shuffle(struct table *t)
{
	VEC(struct table_entry) mixed = { 0 };
	size_t at = 0;

	while (t->entries.items[at].msg != MSG_MPLS_IP_BIND_UNBIND)
		at++;
	for (size_t i = 0; i < t->entries.n; i++, at = (at + STRIDE) % t->entries.n)
		vec_push(&mixed, t->entries.items[at]);
	vec_free(&t->entries);
	t->entries.items = mixed.items;
	t->entries.n = mixed.n;
	t->entries.cap = mixed.cap;
}

void table_build(struct table *t, enum personality who)
{
	uint16_t next = 1;

	*t = (struct table){ 0 };
	for (uint16_t id = 1; id <= RECORDED_ENTRIES; id++) {
		enum msg m = known_at(id);
		struct table_entry e = name_entry(id, m, who);

		if (m != MSG_KNOWN && !has(who, known[m].since))
			continue;
		e.id = next++;
		if (m != MSG_KNOWN)
			t->ids[m] = e.id;
		vec_push(&t->entries, e);
	}
	shuffle(t);
}

void table_free(struct table *t)
{
	vec_free(&t->entries);
}

enum msg table_find(const struct table *t, uint16_t id)
{
	for (enum msg m = 0; m < MSG_KNOWN; m++)
		if (id && t->ids[m] == id)
			return m;
	return MSG_KNOWN;
}

const char *table_msg_name(enum msg msg)
{
	return msg == MSG_KNOWN ? "?" : known[msg].name;
}

enum msg table_msg_of(const char *name)
{
	enum msg m = 0;

	while (m < MSG_KNOWN && strcmp(known[m].name, name) != 0)
		m++;
	return m;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers for tests of the plugin: prefixes and addresses as text, and a clock that is moved by
 * hand.
 */
#pragma once

#include "tests/support/vpp/plugin.h"

#define KIT_CASE(name) cmocka_unit_test_setup_teardown(name, kit_set_up, kit_tear_down)

#define VIP "192.0.2.1/32"
#define TO "192.0.2.1"
#define A "10.0.0.1"
#define B "10.0.0.2"
#define C "10.0.0.3"
#define SLOTS 1024
#define TCP 6
#define UDP 17
#define NOBODY "-"

extern struct plugin kit_plugin;
extern uint32_t kit_now;

int kit_set_up(void **state);
int kit_tear_down(void **state);
struct ip46 kit_ip(const char *text);
struct plugin_key kit_key(const char *prefix, uint8_t protocol, uint16_t port);
int kit_add_vip_as(const char *prefix, uint8_t protocol, uint16_t port, uint32_t encap,
		   uint32_t slots);
int kit_add_vip(const char *prefix, uint16_t port);
int kit_del_vip(const char *prefix, uint16_t port);
struct plugin_as_args kit_as_args(const char *vip, const char *address, uint8_t weight, bool flush);
int kit_add_as(const char *vip, const char *address, uint8_t weight);
int kit_add_as_flush(const char *vip, const char *address, uint8_t weight);
int kit_del_as(const char *vip, const char *address, bool flush);
int kit_set_weight(const char *vip, const char *address, uint8_t weight, bool flush);
uint32_t kit_index_of(const char *prefix, uint8_t protocol, uint16_t port);
/* Number of records of that AS in a dump: in use, or removed and not yet collected. */
unsigned kit_listed(const char *address, uint8_t flags);
uint8_t kit_weight_of(const char *vip, const char *address);
uint32_t kit_buckets_of(const char *vip, const char *address);
bool kit_has_route(const char *prefix);
/* Sends one packet of a flow. Returns the server that got it, NOBODY if it was dropped. */
const char *kit_packet_to_port(const char *to, uint8_t protocol, uint16_t port, uint32_t flow);
const char *kit_packet_to(const char *to, uint32_t flow);
uint64_t kit_counted(enum plugin_counter kind, uint32_t vip);
/* Finds a flow that the VIP sends to that server. */
uint32_t kit_flow_to(const char *vip, const char *address);
/* Moves the clock forward, including VPP's timer. */
void kit_wait_seconds(uint32_t seconds);
/* Sets up VIP with the servers A and B, both of weight 100. */
void kit_have_two(void);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys: every key of speaker.yaml that has a value, one row each.
 *
 *	X(key, shape, member of the document)
 *
 * The rows become the members of the document's structs (doc.h) and the tables of schema.c. A new
 * key needs a row here, a rule in validate_*.c, and a row in docs/reference/speaker.md.
 */
#pragma once

#include "base/schema.h"

#define BGP_SPEAKER_KEYS(X) X("name", WORD, name)

#define BGP_ROUTER_KEYS(X)                                                                         \
	X("asn", INT, asn)                                                                         \
	X("router-id", TEXT, router_id)

#define BGP_BFD_KEYS(X)                                                                            \
	X("receive-interval", DURATION, receive)                                                   \
	X("transmit-interval", DURATION, transmit)                                                 \
	X("detect-multiplier", INT, multiplier)                                                    \
	X("echo-mode", BOOL, echo_mode)                                                            \
	X("echo-interval", DURATION, echo)                                                         \
	X("passive-mode", BOOL, passive)                                                           \
	X("minimum-ttl", INT, minimum_ttl)

#define BGP_PEER_KEYS(X)                                                                           \
	X("address", TEXT, address)                                                                \
	X("interface", WORD, interface)                                                            \
	X("asn", WORD, asn)                                                                        \
	X("local-asn", INT, local_asn)                                                             \
	X("port", INT, port)                                                                       \
	X("source", TEXT, source)                                                                  \
	X("password", WORD, password)                                                              \
	X("hold-time", DURATION, hold)                                                             \
	X("keepalive-time", DURATION, keepalive)                                                   \
	X("connect-time", DURATION, connect)                                                       \
	X("ebgp-multihop", BOOL, ebgp_multihop)                                                    \
	X("graceful-restart", BOOL, graceful_restart)                                              \
	X("bfd", WORD, bfd)                                                                        \
	X("families", WORDS, families)                                                             \
	X("vrf", WORD, vrf)

#define BGP_ADVERTISEMENT_KEYS(X)                                                                  \
	X("communities", WORDS, communities)                                                       \
	X("local-preference", INT, local_preference)                                               \
	X("med", INT, med)                                                                         \
	X("aggregation-length", INT, length4)                                                      \
	X("aggregation-length-v6", INT, length6)                                                   \
	X("peers", WORDS, peers)

#define BGP_MAGLEVD_KEYS(X)                                                                        \
	X("address", WORD, address)                                                                \
	X("tls", BOOL, tls)                                                                        \
	X("ca", WORD, ca)                                                                          \
	X("certificate", WORD, certificate)                                                        \
	X("key", WORD, key)

#define BGP_L2_KEYS(X)                                                                             \
	X("interface", WORD, interface)                                                            \
	X("key-file", WORD, key_file)                                                              \
	X("group", INT, group)                                                                     \
	X("priority", INT, priority)                                                               \
	X("preempt", BOOL, preempt)                                                                \
	X("heartbeat", DURATION, heartbeat)                                                        \
	X("losses", INT, losses)                                                                   \
	X("family", TEXT, family)                                                                  \
	X("port", INT, port)

#define BGP_WORSE_KEYS(X)                                                                          \
	X("med", INT, med)                                                                         \
	X("prepend", INT, prepend)

#define BGP_VIP_KEYS(X)                                                                            \
	X("address", TEXT, address)                                                                \
	X("frontends", WORDS, frontends)                                                           \
	X("advertisement", WORD, advertisement)                                                    \
	X("l2", WORD, l2)                                                                          \
	X("l2-priority", INT, l2_priority)                                                         \
	X("min-up", DURATION, min_up)                                                              \
	X("min-servers", INT, min_servers)                                                         \
	X("when-down", TEXT, when_down)                                                            \
	X("hold", DURATION, hold)                                                                  \
	X("drain-time", DURATION, drain_time)

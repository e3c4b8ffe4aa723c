/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames as a real VPP (26.10-rc0) exchanged them, including the header. What is encoded must be
 * the same byte by byte; number and context are the recorded ones. Two exchanges have no row: a
 * VIP of /24 (all-port VIPs are shown with one address) and a table of 1000, which is never sent.
 */
#include "src/maglevd/dataplane/vpp/messages.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/vpp/segment.h"

#define CLIENT_INDEX 0x80000001
#define FIELDS_AT 26 /* in the frame of a request: after header, number, client, context */
#define ANSWER_AT 22 /* in the frame of an answer: after header, number, context */

struct exchange {
	const char *what;
	enum lb_op_kind kind;
	const char *vip, *as;
	uint8_t protocol;
	uint16_t port;
	uint8_t weight, old_weight;
	uint32_t table_length;
	enum lb_encap encap;
	bool sticky, flush;
	int outcome;
	const char *request, *answer;
};

static const struct exchange exchanges[] = {
	{ .what = "a VIP of IPv4",
	  .kind = LB_OP_VIP_ADD,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .table_length = 16384,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
		     "00 5f 80 00 00 01 00 00 01 06 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 00 00 00 40 00 "
		     "00 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 60 00 00 01 06 00 00 00 00 " },
	{ .what = "that is there",
	  .kind = LB_OP_VIP_ADD,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .table_length = 16384,
	  .outcome = -EEXIST,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
		     "00 5f 80 00 00 01 00 00 01 07 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 00 00 00 40 00 "
		     "00 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 60 00 00 01 07 ff ff ff af " },
	{ .what = "of IPv6, sticky",
	  .kind = LB_OP_VIP_ADD,
	  .vip = "2001:db8::1",
	  .protocol = IPPROTO_UDP,
	  .port = 53,
	  .table_length = 1024,
	  .encap = LB_ENCAP_GRE6,
	  .sticky = true,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
		     "00 5f 80 00 00 01 00 00 01 08 01 20 01 0d b8 00 "
		     "00 00 00 00 00 00 00 00 00 00 01 80 11 00 35 00 "
		     "00 00 01 00 00 00 00 00 00 00 00 00 00 00 04 00 "
		     "01 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 60 00 00 01 08 00 00 00 00 " },
	{ .what = "deleted",
	  .kind = LB_OP_VIP_DEL,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
		     "00 5f 80 00 00 01 00 00 01 1f 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 00 00 00 04 00 "
		     "00 01 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 60 00 00 01 1f 00 00 00 00 " },
	{ .what = "deleted again",
	  .kind = LB_OP_VIP_DEL,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
		     "00 5f 80 00 00 01 00 00 01 20 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 00 00 00 04 00 "
		     "00 01 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 60 00 00 01 20 ff ff ff fa " },
	{ .what = "a server",
	  .kind = LB_OP_AS_ADD,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .as = "10.0.0.1",
	  .weight = 100,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 33 00 00 00 00 "
		     "00 63 80 00 00 01 00 00 01 0a 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "0a 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 "
		     "64 00 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 64 00 00 01 0a 00 00 00 00 " },
	{ .what = "another",
	  .kind = LB_OP_AS_ADD,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .as = "10.0.0.2",
	  .weight = 50,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 33 00 00 00 00 "
		     "00 63 80 00 00 01 00 00 01 0b 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "0a 00 00 02 00 00 00 00 00 00 00 00 00 00 00 00 "
		     "32 00 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 64 00 00 01 0b 00 00 00 00 " },
	{ .what = "that is there",
	  .kind = LB_OP_AS_ADD,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .as = "10.0.0.2",
	  .weight = 50,
	  .outcome = -EEXIST,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 33 00 00 00 00 "
		     "00 63 80 00 00 01 00 00 01 0c 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "0a 00 00 02 00 00 00 00 00 00 00 00 00 00 00 00 "
		     "32 00 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 64 00 00 01 0c ff ff ff af " },
	{ .what = "of IPv6",
	  .kind = LB_OP_AS_ADD,
	  .vip = "2001:db8::1",
	  .protocol = IPPROTO_UDP,
	  .port = 53,
	  .as = "2001:db8:a::1",
	  .weight = 1,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 33 00 00 00 00 "
		     "00 63 80 00 00 01 00 00 01 0d 01 20 01 0d b8 00 "
		     "00 00 00 00 00 00 00 00 00 00 01 80 11 00 35 01 "
		     "20 01 0d b8 00 0a 00 00 00 00 00 00 00 00 00 01 "
		     "01 00 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 64 00 00 01 0d 00 00 00 00 " },
	{ .what = "of the wrong family",
	  .kind = LB_OP_AS_ADD,
	  .vip = "192.0.2.2",
	  .protocol = IPPROTO_TCP,
	  .port = 80,
	  .as = "2001:db8:a::2",
	  .weight = 100,
	  .outcome = -EAFNOSUPPORT,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 33 00 00 00 00 "
		     "00 63 80 00 00 01 00 00 01 24 00 c0 00 02 02 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 00 50 01 "
		     "20 01 0d b8 00 0a 00 00 00 00 00 00 00 00 00 02 "
		     "64 00 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 64 00 00 01 24 ff ff ff 9f " },
	{ .what = "deleted with its flows",
	  .kind = LB_OP_AS_DEL,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .as = "10.0.0.2",
	  .old_weight = 25,
	  .flush = true,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 33 00 00 00 00 "
		     "00 63 80 00 00 01 00 00 01 16 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "0a 00 00 02 00 00 00 00 00 00 00 00 00 00 00 00 "
		     "00 01 01 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 64 00 00 01 16 00 00 00 00 " },
	{ .what = "drained",
	  .kind = LB_OP_AS_WEIGHT,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .as = "10.0.0.2",
	  .old_weight = 50,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
		     "00 65 80 00 00 01 00 00 01 0f 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "0a 00 00 02 00 00 00 00 00 00 00 00 00 00 00 00 "
		     "00 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 66 00 00 01 0f 00 00 00 00 " },
	{ .what = "weighed again, with a flush",
	  .kind = LB_OP_AS_WEIGHT,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .as = "10.0.0.2",
	  .weight = 25,
	  .flush = true,
	  .outcome = 0,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
		     "00 65 80 00 00 01 00 00 01 10 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "0a 00 00 02 00 00 00 00 00 00 00 00 00 00 00 00 "
		     "19 01 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 66 00 00 01 10 00 00 00 00 " },
	{ .what = "not there",
	  .kind = LB_OP_AS_WEIGHT,
	  .vip = "192.0.2.1",
	  .protocol = IPPROTO_TCP,
	  .port = 443,
	  .as = "10.0.0.9",
	  .weight = 25,
	  .outcome = -ENOENT,
	  .request = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
		     "00 65 80 00 00 01 00 00 01 11 00 c0 00 02 01 00 "
		     "00 00 00 00 00 00 00 00 00 00 00 20 06 01 bb 00 "
		     "0a 00 00 09 00 00 00 00 00 00 00 00 00 00 00 00 "
		     "19 00 ",
	  .answer = "c0 e4 04 30 01 00 00 00 00 00 00 0a 00 00 00 00 "
		    "00 66 00 00 01 11 ff ff ff fa " },
};

static const char conf_request[] = "00 00 00 00 00 00 00 00 00 00 00 26 00 00 00 00 "
				   "00 59 80 00 00 01 00 00 01 04 0a 63 00 02 20 01 "
				   "0d b8 00 99 00 00 00 00 00 00 00 00 00 02 ff ff "
				   "ff ff 00 00 00 3c ";
static const char conf_fresh[] = "c0 e4 04 30 01 00 00 00 00 00 00 26 00 00 00 00 "
				 "00 5c 00 00 01 03 00 00 00 00 ff ff ff ff ff ff "
				 "ff ff ff ff ff ff ff ff ff ff ff ff ff ff 00 00 "
				 "04 00 00 00 00 28 ";
static const char conf_answer[] = "c0 e4 04 30 01 00 00 00 00 00 00 26 00 00 00 00 "
				  "00 5c 00 00 01 05 00 00 00 00 0a 63 00 02 20 01 "
				  "0d b8 00 99 00 00 00 00 00 00 00 00 00 02 00 00 "
				  "04 00 00 00 00 3c ";
static const char version_answer[] = "80 d2 06 30 01 00 00 00 00 00 01 6a 00 00 00 00 "
				     "03 51 00 00 01 02 00 00 00 00 76 70 65 00 00 00 "
				     "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
				     "00 00 00 00 00 00 00 00 00 00 32 36 2e 31 30 2d "
				     "72 63 30 7e 33 37 34 2d 67 62 35 37 35 65 63 32 "
				     "63 35 36 64 00 00 00 00 00 00 32 30 32 36 2d 31 "
				     "31 2d 31 35 54 31 38 3a 31 33 3a 31 35 00 00 00 ";
static const char ping_answer[] = "c0 e4 04 30 01 00 00 00 00 00 00 12 00 00 00 00 "
				  "00 18 00 00 01 01 00 00 00 00 80 00 00 01 00 00 "
				  "08 5c ";
static const char vip_dump[] = "00 00 00 00 00 00 00 00 00 00 00 21 00 00 00 00 "
			       "00 69 80 00 00 01 00 00 01 12 01 00 00 00 00 00 "
			       "00 00 00 00 00 00 00 00 00 00 00 00 ff ff ff 00 "
			       "00 ";
static const char as_dump[] = "00 00 00 00 00 00 00 00 00 00 00 1f 00 00 00 00 "
			      "00 6d 80 00 00 01 00 00 01 14 01 00 00 00 00 00 "
			      "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ";
static const char *const vip_details[] = {
	"c0 e4 04 30 01 00 00 00 00 00 00 28 00 00 00 00 "
	"00 6a 00 00 01 12 00 c0 00 02 01 00 00 00 00 00 "
	"00 00 00 00 00 00 00 20 06 01 bb 00 00 00 00 00 "
	"00 00 00 00 00 00 40 00 ",
	"c0 e4 04 30 01 00 00 00 00 00 00 28 00 00 00 00 "
	"00 6a 00 00 01 12 01 20 01 0d b8 00 00 00 00 00 "
	"00 00 00 00 00 00 01 80 11 00 35 00 00 00 01 00 "
	"00 00 00 00 00 00 04 00 ",
	"c0 e4 04 30 01 00 00 00 00 00 00 28 00 00 00 00 "
	"00 6a 00 00 01 12 00 c6 33 64 00 00 00 00 00 00 "
	"00 00 00 00 00 00 00 18 ff 00 00 00 00 00 01 00 "
	"00 00 00 00 00 00 04 00 ",
};
static const char *const as_details[] = {
	"c0 e4 04 30 01 00 00 00 00 00 00 36 00 00 00 00 "
	"00 6e 00 00 01 14 00 c0 00 02 01 00 00 00 00 00 "
	"00 00 00 00 00 00 00 20 06 01 bb 00 0a 00 00 01 "
	"00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 "
	"00 64 00 00 33 31 ",
	"c0 e4 04 30 01 00 00 00 00 00 00 36 00 00 00 00 "
	"00 6e 00 00 01 14 00 c0 00 02 01 00 00 00 00 00 "
	"00 00 00 00 00 00 00 20 06 01 bb 00 0a 00 00 02 "
	"00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 "
	"00 19 00 00 0c cf ",
	"c0 e4 04 30 01 00 00 00 00 00 00 36 00 00 00 00 "
	"00 6e 00 00 01 14 01 20 01 0d b8 00 00 00 00 00 "
	"00 00 00 00 00 00 01 80 11 00 35 01 20 01 0d b8 "
	"00 0a 00 00 00 00 00 00 00 00 00 01 01 00 00 00 "
	"00 01 00 00 04 00 ",
	"c0 e4 04 30 01 00 00 00 00 00 00 36 00 00 00 00 "
	"00 6e 00 00 01 14 00 c6 33 64 00 00 00 00 00 00 "
	"00 00 00 00 00 00 00 18 ff 00 00 01 20 01 0d b8 "
	"00 0a 00 00 00 00 00 00 00 00 00 02 01 00 00 00 "
	"00 64 00 00 04 00 ",
	"c0 e4 04 30 01 00 00 00 00 00 00 36 00 00 00 00 "
	"00 6e 00 00 01 17 00 c0 00 02 01 00 00 00 00 00 "
	"00 00 00 00 00 00 00 20 06 01 bb 00 0a 00 00 02 "
	"00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
	"00 19 00 00 00 00 ",
};
static const char route_request[] = "00 00 00 00 00 00 00 00 00 00 00 21 00 00 00 00 "
				    "01 92 80 00 00 01 00 00 01 1d 00 00 00 00 01 00 "
				    "0a 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 "
				    "20 ";
static const char route_answer[] = "c0 45 06 30 01 00 00 00 00 00 00 cc 00 00 00 00 "
				   "01 94 00 00 01 1d 00 00 00 00 00 00 00 00 00 00 "
				   "00 0b 00 0a 00 00 01 00 00 00 00 00 00 00 00 00 "
				   "00 00 00 20 01 ff ff ff ff 00 00 00 00 00 00 00 "
				   "00 01 00 00 00 00 02 00 00 00 00 00 00 00 00 00 "
				   "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ";
static const char route_absent[] = "c0 e4 04 30 01 00 00 00 00 00 00 25 00 00 00 00 "
				   "01 94 00 00 01 1e ff ff ff fa 00 00 00 00 00 00 "
				   "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
				   "00 00 00 00 00 ";
static const char cli_request[] = "00 00 00 00 00 00 00 00 00 00 00 15 00 00 00 00 "
				  "00 77 80 00 00 01 00 00 01 25 00 00 00 07 73 68 "
				  "6f 77 20 6c 62 ";
static const char cli_answer[] = "c0 45 06 30 01 00 00 00 00 00 00 67 00 00 00 00 "
				 "00 79 00 00 01 25 00 00 00 00 00 00 00 59 6c 62 "
				 "5f 6d 61 69 6e 20 69 70 34 2d 73 72 63 2d 61 64 "
				 "64 72 65 73 73 3a 20 31 30 2e 39 39 2e 30 2e 32 "
				 "20 0a 20 69 70 36 2d 73 72 63 2d 61 64 64 72 65 "
				 "73 73 3a 20 32 30 30 31 3a 64 62 38 3a 39 39 3a "
				 "3a 32 20 0a 20 23 76 69 70 73 3a 20 35 0a 20 23 "
				 "61 73 73 3a 20 35 0a ";
static const char all_ports_request[] = "00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 "
					"00 5f 80 00 00 01 00 00 01 09 00 c6 33 64 00 00 "
					"00 00 00 00 00 00 00 00 00 00 00 18 ff 00 00 00 "
					"00 00 01 00 00 00 00 00 00 00 00 00 00 00 04 00 "
					"00 00 ";

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static struct buf unhex(const char *text)
{
	struct buf b = { 0 };
	unsigned value;
	int used;

	for (; sscanf(text, "%2x%n", &value, &used) == 1; text += used)
		buf_addc(&b, (char)value);
	assert_true(b.n >= ANSWER_AT);
	return b;
}

/* The recorded frame has exactly these fields. */
static void assert_request(const char *recorded, struct buf *fields)
{
	struct buf expected = unhex(recorded), got = { 0 };
	struct vpp_reader r = vpp_reader_of(expected.p + VPP_HEADER_SIZE, expected.n);
	uint16_t id = vpp_get_u16(&r);
	uint32_t index = vpp_get_u32(&r), context = vpp_get_u32(&r);
	size_t begin = vpp_frame_begin(&got);

	assert_int_equal(index, CLIENT_INDEX);
	vpp_put_u16(&got, id);
	vpp_put_u32(&got, index);
	vpp_put_u32(&got, context);
	buf_add(&got, fields->p, fields->n);
	vpp_frame_end(&got, begin);
	assert_int_equal(got.n, expected.n);
	assert_memory_equal(got.p, expected.p, got.n);
	buf_free(&expected);
	buf_free(&got);
	buf_free(fields);
}

/* An answer from the end of its context on; valid until the next call. */
static struct vpp_reader answer(const char *recorded)
{
	static struct buf frame;

	buf_free(&frame);
	if (!recorded)
		return (struct vpp_reader){ 0 };
	frame = unhex(recorded);
	return vpp_reader_of(frame.p + ANSWER_AT, frame.n - ANSWER_AT);
}

static struct lb_op op_of(const struct exchange *e)
{
	return (struct lb_op){ .kind = e->kind,
			       .vip = { address(e->vip), e->protocol, e->port },
			       .as = e->as ? address(e->as) : (struct addr){ 0 },
			       .weight = e->weight,
			       .old_weight = e->old_weight,
			       .encap = e->encap,
			       .src_ip_sticky = e->sticky,
			       .table_length = e->table_length,
			       .flush = e->flush };
}

static void operations_are_the_recorded_bytes(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(exchanges); i++) {
		const struct exchange *e = &exchanges[i];
		struct lb_op op = op_of(e);
		struct buf fields = { 0 };
		struct vpp_reader r;

		assert_int_equal(vpplb_check(&op), 0);
		vpplb_encode(&op, &fields);
		assert_request(e->request, &fields);
		r = answer(e->answer);
		assert_int_equal(vpplb_outcome(&op, vpp_get_i32(&r)), e->outcome);
		assert_int_equal(r.n, 0);
	}
	answer(NULL);
}

static void every_operation_has_its_message(void **state)
{
	static const enum vpplb_message expected[LB_OP_KINDS] = {
		[LB_OP_CONF] = VPPLB_CONF,   [LB_OP_VIP_ADD] = VPPLB_VIP,
		[LB_OP_VIP_DEL] = VPPLB_VIP, [LB_OP_AS_ADD] = VPPLB_AS,
		[LB_OP_AS_DEL] = VPPLB_AS,   [LB_OP_AS_WEIGHT] = VPPLB_SET_WEIGHT,
	};
	struct lb_op op = { .vip = { address("192.0.2.1"), IPPROTO_TCP, 443 },
			    .as = address("10.0.0.1"),
			    .table_length = 1024,
			    .conf = { address("10.99.0.2"), address("2001:db8:99::2"), 1024, 60 } };

	for (size_t kind = 0; kind < LB_OP_KINDS; kind++) {
		struct buf fields = { 0 };

		op.kind = (enum lb_op_kind)kind;
		assert_int_equal(vpplb_encode(&op, &fields), expected[kind]);
		buf_free(&fields);
	}
}

/* recorded with "keep the buckets", which maglevd never sends: the number is put in its place */
static void the_configuration_is_the_recorded_bytes(void **state)
{
	struct lb_op op = { .kind = LB_OP_CONF,
			    .conf = { address("10.99.0.2"), address("2001:db8:99::2"), 1024, 60 } };
	struct buf fields = { 0 };

	assert_int_equal(vpplb_check(&op), 0);
	vpplb_encode(&op, &fields);
	assert_int_equal(fields.n, 28);
	assert_memory_equal(fields.p + 20, "\0\0\4\0", 4);
	memset(fields.p + 20, 0xff, 4);
	assert_request(conf_request, &fields);
}

static void the_configuration_is_read_back(void **state)
{
	struct lb_conf conf,
		expected = { address("10.99.0.2"), address("2001:db8:99::2"), 1024, 60 };
	struct vpp_reader r = answer(conf_answer);

	assert_int_equal(vpplb_decode_conf(&r, &conf), 0);
	assert_false(r.bad);
	assert_true(lb_conf_equal(&conf, &expected));

	r = answer(conf_fresh);
	assert_int_equal(vpplb_decode_conf(&r, &conf), 0);
	expected = (struct lb_conf){ address("255.255.255.255"),
				     address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 1024, 40 };
	assert_true(lb_conf_equal(&conf, &expected));
	answer(NULL);
}

/* one address of the recorded /24: the rest of the message is the same */
static void an_all_port_vip_has_protocol_255(void **state)
{
	struct buf expected = unhex(all_ports_request), fields = { 0 };
	struct lb_op op = { .kind = LB_OP_VIP_ADD,
			    .vip.address = address("198.51.100.0"),
			    .encap = LB_ENCAP_GRE6,
			    .table_length = 1024 };

	assert_int_equal(vpplb_check(&op), 0);
	vpplb_encode(&op, &fields);
	assert_int_equal(fields.n, expected.n - FIELDS_AT);
	fields.p[17] = 24;
	assert_memory_equal(fields.p, expected.p + FIELDS_AT, fields.n);
	buf_free(&expected);
	buf_free(&fields);
}

static void dumps_ask_for_everything(void **state)
{
	struct buf fields = { 0 };

	vpplb_encode_vip_dump(&fields);
	assert_request(vip_dump, &fields);
	vpplb_encode_as_dump(&fields);
	assert_request(as_dump, &fields);
}

static void vips_are_read(void **state)
{
	struct vpplb_vip v;
	struct vpp_reader r = answer(vip_details[0]);
	struct lb_vip_key expected = { address("192.0.2.1"), IPPROTO_TCP, 443 };

	vpplb_decode_vip(&r, &v);
	assert_false(r.bad);
	assert_int_equal(r.n, 0);
	assert_true(v.host);
	assert_int_equal(lb_vip_key_cmp(&v.key, &expected), 0);
	assert_int_equal(v.encap, LB_ENCAP_GRE4);
	assert_int_equal(v.table_length, 16384);

	r = answer(vip_details[1]);
	vpplb_decode_vip(&r, &v);
	expected = (struct lb_vip_key){ address("2001:db8::1"), IPPROTO_UDP, 53 };
	assert_int_equal(lb_vip_key_cmp(&v.key, &expected), 0);
	assert_int_equal(v.encap, LB_ENCAP_GRE6);
	assert_int_equal(v.table_length, 1024);

	r = answer(vip_details[2]);
	vpplb_decode_vip(&r, &v);
	assert_false(v.host); /* a /24 */
	assert_int_equal(v.key.protocol, 0);
	assert_int_equal(v.key.port, 0);
	answer(NULL);
}

static void a_vip_of_nat_is_of_another_kind(void **state)
{
	struct buf frame = unhex(vip_details[0]);
	struct vpp_reader r;
	struct vpplb_vip v;

	frame.p[VPP_HEADER_SIZE + 30] = 3;
	r = vpp_reader_of(frame.p + ANSWER_AT, frame.n - ANSWER_AT);
	vpplb_decode_vip(&r, &v);
	assert_int_equal(v.encap, LB_ENCAP_OTHER);
	buf_free(&frame);
}

static void servers_are_read(void **state)
{
	static const struct {
		const char *vip, *as;
		bool host, used;
		uint8_t weight;
		uint32_t buckets;
	} expected[] = {
		{ "192.0.2.1", "10.0.0.1", true, true, 100, 13105 },
		{ "192.0.2.1", "10.0.0.2", true, true, 25, 3279 },
		{ "2001:db8::1", "2001:db8:a::1", true, true, 1, 1024 },
		{ "198.51.100.0", "2001:db8:a::2", false, true, 100, 1024 },
		/* deleted, waiting for garbage collection */
		{ "192.0.2.1", "10.0.0.2", true, false, 25, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct addr vip = address(expected[i].vip), as = address(expected[i].as);
		struct vpp_reader r = answer(as_details[i]);
		struct vpplb_as a;

		vpplb_decode_as(&r, &a);
		assert_false(r.bad);
		assert_int_equal(r.n, 0);
		assert_int_equal(addr_cmp(&a.vip.address, &vip), 0);
		assert_int_equal(addr_cmp(&a.address, &as), 0);
		assert_int_equal(a.host, expected[i].host);
		assert_int_equal(a.used, expected[i].used);
		assert_int_equal(a.weight, expected[i].weight);
		assert_int_equal(a.buckets, expected[i].buckets);
	}
	answer(NULL);
}

static void who_vpp_is_is_read(void **state)
{
	struct buf frame = unhex(version_answer);
	struct vpplb_version v;
	struct vpp_reader r;
	uint32_t pid;

	buf_reserve(&frame, 378);
	memset(frame.p + frame.n, 0, 378 - frame.n); /* the rest was zeros */
	r = vpp_reader_of(frame.p + ANSWER_AT, 378 - ANSWER_AT);
	assert_int_equal(vpplb_decode_version(&r, &v), 0);
	assert_false(r.bad);
	assert_true(str_eq(v.version, STR("26.10-rc0~374-gb575ec2c56d")));
	assert_true(str_eq(v.build_date, STR("2026-11-15T18:13:15")));
	assert_int_equal(v.build_directory.n, 0);
	buf_free(&frame);

	r = answer(ping_answer);
	assert_int_equal(vpplb_decode_pid(&r, &pid), 0);
	assert_int_equal(pid, 2140);
	answer(NULL);
}

static void a_route_leads_to_its_counters(void **state)
{
	struct addr host = address("10.0.0.1");
	struct buf fields = { 0 };
	struct vpp_reader r;

	vpplb_encode_route(&host, &fields);
	assert_request(route_request, &fields);
	r = answer(route_answer);
	assert_int_equal(vpplb_decode_route(&r), 11);
	r = answer(route_absent);
	assert_int_equal(vpplb_decode_route(&r), VPP_NO_COLUMN);
	assert_false(r.bad);
	answer(NULL);
}

static void the_command_line_is_asked_and_read(void **state)
{
	struct buf fields = { 0 };
	struct vpp_reader r = answer(cli_answer);
	struct vpplb_cli said = vpplb_decode_cli(&r);

	vpplb_encode_cli("show lb", &fields);
	assert_request(cli_request, &fields);
	assert_int_equal(said.retval, 0);
	assert_true(
		str_eq(said.text, STR("lb_main ip4-src-address: 10.99.0.2 \n"
				      " ip6-src-address: 2001:db8:99::2 \n #vips: 5\n #ass: 5\n")));
	answer(NULL);
}

static void short_answers_are_bad(void **state)
{
	struct buf frame = unhex(as_details[0]);
	struct vpplb_version version;
	struct lb_conf conf;
	struct vpplb_vip vip;
	struct vpplb_as as;

	for (size_t n = 0; n < 33; n++) {
		struct vpp_reader r = vpp_reader_of(frame.p + ANSWER_AT, n);

		vpplb_decode_as(&r, &as);
		assert_true(r.bad);
		r = vpp_reader_of(frame.p + ANSWER_AT, n);
		vpplb_decode_vip(&r, &vip);
		assert_true(r.bad);
		r = vpp_reader_of(frame.p + ANSWER_AT, n < 32 ? n : 31);
		vpplb_decode_conf(&r, &conf);
		assert_true(r.bad);
		r = vpp_reader_of(frame.p + ANSWER_AT, n);
		vpplb_decode_version(&r, &version);
		assert_true(r.bad);
	}
	buf_free(&frame);
}

/* facts 0.5: each of these crashes VPP, or is misinterpreted */
static void what_vpp_would_not_survive_is_not_said(void **state)
{
	const struct lb_vip_key key = { address("192.0.2.1"), IPPROTO_TCP, 443 };
	const struct lb_conf conf = { address("10.99.0.2"), address("2001:db8:99::2"), 1024, 60 };
	const struct addr as = address("10.0.0.1");
	struct lb_op good[] = {
		{ .kind = LB_OP_CONF, .conf = conf },
		{ .kind = LB_OP_VIP_ADD, .vip = key, .table_length = 16384 },
		{ .kind = LB_OP_AS_ADD, .vip = key, .as = as, .weight = 100 },
	};
	struct lb_op bad[] = {
		good[0], good[0], good[0], good[0], good[0], good[1], good[1], good[1], good[1],
		good[1], good[1], good[1], good[1], good[2], good[2], good[2], good[2],
	};
	struct lb_op *b = bad;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(vpplb_check(&good[i]), 0);
	b++->conf.sticky_buckets_per_core = 0;
	b++->conf.sticky_buckets_per_core = 1000;
	b++->conf.src4 = (struct addr){ 0 };
	b++->conf.src6 = address("10.0.0.1");
	b++->conf.flow_timeout_s = 0;
	b++->table_length = 0;
	b++->table_length = 1000;
	b++->table_length = 1 << 28;
	b++->vip.address = address("::192.0.2.1");
	b++->vip.address = (struct addr){ 0 };
	b++->vip.port = 0;
	b++->vip.protocol = 0;
	b++->encap = LB_ENCAP_OTHER;
	b++->weight = 101;
	b++->as = address("::1");
	b++->as = (struct addr){ 0 };
	b++->vip.protocol = 0; /* irrelevant for a server: the VIP exists or not */
	assert_ptr_equal(b, bad + ARRAY_SIZE(bad));
	for (size_t i = 0; i + 1 < ARRAY_SIZE(bad); i++)
		assert_int_equal(vpplb_check(&bad[i]), -EINVAL);
	assert_int_equal(vpplb_check(&bad[ARRAY_SIZE(bad) - 1]), 0);
}

static void return_codes_have_their_own_errors(void **state)
{
	const struct lb_op add = { .kind = LB_OP_AS_ADD }, del = { .kind = LB_OP_AS_DEL };

	assert_int_equal(vpplb_outcome(&add, 0), 0);
	assert_int_equal(vpplb_outcome(&add, -6), -ENOENT);
	assert_int_equal(vpplb_outcome(&del, -6), 0); /* it does not exist, as desired */
	assert_int_equal(vpplb_outcome(&add, -70), -EINVAL);
	assert_int_equal(vpplb_outcome(&add, -73), -EINVAL);
	assert_int_equal(vpplb_outcome(&add, -81), -EEXIST);
	assert_int_equal(vpplb_outcome(&add, -97), -EAFNOSUPPORT);
	assert_int_equal(vpplb_outcome(&add, -1), -EREMOTEIO);
	assert_int_equal(vpplb_outcome(&del, -30), -EREMOTEIO);
}

/* ---- which VPP ---- */

/* Every message, except one name that is left out or replaced. */
static struct vpp_table table_with(const char *leave_out, const char *instead)
{
	struct vpp_table t = { 0 };
	struct buf b = { 0 };
	struct vpp_reader r;
	size_t n = 0;

	for (size_t i = 0; i < (size_t)2 * VPPLB_MESSAGES; i++) {
		const char *name =
			i % 2 ? vpplb_messages[i / 2].answer : vpplb_messages[i / 2].request;

		if (strncmp(name, leave_out, strlen(leave_out)) == 0)
			continue;
		vpp_put_u16(&b, (uint16_t)++n);
		vpp_put_name(&b, name, VPP_NAME_SIZE);
	}
	if (instead) {
		vpp_put_u16(&b, (uint16_t)++n);
		vpp_put_name(&b, instead, VPP_NAME_SIZE);
	}
	r = vpp_reader_of(b.p, b.n);
	assert_true(vpp_table_read(&t, &r, n));
	buf_free(&b);
	return t;
}

static void a_vpp_is_told_by_its_messages(void **state)
{
	static const struct {
		const char *leave_out, *instead, *problem; /* NULL: none */
	} rows[] = {
		{ "nothing", NULL, NULL },
		{ "cli_inband", NULL, NULL },
		{ "ip_route_lookup", NULL, NULL },
		{ "show_version", NULL, NULL },
		{ "lb_", NULL, "the lb plugin is not loaded in VPP" },
		{ "lb_as_set_weight", NULL,
		  "VPP has no lb_as_set_weight: it is too old, 26.10 or newer is needed" },
		{ "lb_as_set_weight_2d89bdbd", "lb_as_set_weight_2c72979e",
		  "VPP has lb_as_set_weight_2c72979e where lb_as_set_weight_2d89bdbd is needed: "
		  "its version is not supported" },
		{ "lb_as_v2_details", "lb_as_v2_details_01234567",
		  "VPP has lb_as_v2_details_01234567 where lb_as_v2_details_90064aae is needed: "
		  "its version is not supported" },
		{ "lb_conf_get", NULL,
		  "VPP has no lb_conf_get: it is too old, 26.10 or newer is needed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct vpp_table t = table_with(rows[i].leave_out, rows[i].instead);
		struct buf problem = { 0 };

		assert_int_equal(vpplb_supported(&t, &problem), rows[i].problem == NULL);
		assert_string_equal(buf_cstr(&problem), rows[i].problem ? rows[i].problem : "");
		buf_free(&problem);
		vpp_table_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_are_the_recorded_bytes),
		cmocka_unit_test(every_operation_has_its_message),
		cmocka_unit_test(the_configuration_is_the_recorded_bytes),
		cmocka_unit_test(the_configuration_is_read_back),
		cmocka_unit_test(an_all_port_vip_has_protocol_255),
		cmocka_unit_test(dumps_ask_for_everything),
		cmocka_unit_test(vips_are_read),
		cmocka_unit_test(a_vip_of_nat_is_of_another_kind),
		cmocka_unit_test(servers_are_read),
		cmocka_unit_test(who_vpp_is_is_read),
		cmocka_unit_test(a_route_leads_to_its_counters),
		cmocka_unit_test(the_command_line_is_asked_and_read),
		cmocka_unit_test(short_answers_are_bad),
		cmocka_unit_test(what_vpp_would_not_survive_is_not_said),
		cmocka_unit_test(return_codes_have_their_own_errors),
		cmocka_unit_test(a_vpp_is_told_by_its_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Example answers of a maglev-speaker. */
#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevc/testing.h"

/* protobuf-c declares strings without const; the answers are only read. */
#define S(text) ((char *)(uintptr_t)(text))

#define AGO(seconds) (TESTING_NOW - (seconds)*NSEC_PER_SEC)

Maglev__SpeakerInfo *testing_speaker(void)
{
	static Maglev__SpeakerMaglevd near, far, *maglevds[] = { &far, &near };
	static Maglev__SpeakerInfo s;
	static Maglev__SpeakerFrr frr;

	maglev__speaker_info__init(&s);
	maglev__speaker_frr__init(&frr);
	maglev__speaker_maglevd__init(&near);
	maglev__speaker_maglevd__init(&far);
	far.name = S("far");
	far.address = S("lb2:9090");
	far.error = S("connection refused");
	near.name = S("near");
	near.address = S("localhost:9090");
	near.connected = true;
	frr.applies = 12;
	frr.failures = 1;
	frr.last_error = S("bgpd is not there");
	frr.last_at = AGO(45);
	s.name = S("lb1");
	s.version = S("0.1.0");
	s.started = AGO(3600);
	s.maglevds = maglevds;
	s.n_maglevds = ARRAY_SIZE(maglevds);
	s.bgp = true;
	s.frr = &frr;
	s.generation = 2;
	s.loaded = AGO(60);
	s.config_error = S("speaker.yaml:3:5: asn: not a number");
	return &s;
}

static Maglev__AnnouncementBgp *bgp(void)
{
	static char *peers[2], *established[1];
	static Maglev__AnnouncementBgp b;

	maglev__announcement_bgp__init(&b);
	peers[0] = established[0] = S("tor1");
	peers[1] = S("tor2");
	b.prefix = S("198.51.100.10/32");
	b.advertisement = S("default");
	b.peers = peers;
	b.n_peers = ARRAY_SIZE(peers);
	b.established = established;
	b.n_established = ARRAY_SIZE(established);
	return &b;
}

static Maglev__AnnouncementL2 *l2(void)
{
	static Maglev__L2MemberInfo lb2, *members[] = { &lb2 };
	static Maglev__AnnouncementL2 l;

	maglev__announcement_l2__init(&l);
	maglev__l2_member_info__init(&lb2);
	lb2.name = S("lb2");
	lb2.priority = 100;
	lb2.owner = true;
	lb2.seen = AGO(1);
	l.group = S("lan");
	l.interface = S("eth0");
	l.state = S("backup");
	l.reason = S("unfit");
	l.since = AGO(30);
	l.owner = S("lb2");
	l.members = members;
	l.n_members = ARRAY_SIZE(members);
	return &l;
}

Maglev__AnnouncementInfo *testing_announcement(void)
{
	static Maglev__AnnouncementSource www, *frontends[] = { &www };
	static Maglev__AnnouncementInfo a;

	maglev__announcement_info__init(&a);
	maglev__announcement_source__init(&www);
	www.maglevd = S("near");
	www.frontend = S("www");
	www.reachable = www.known = www.up = true;
	www.servers = 2;
	a.vip = S("www");
	a.address = S("198.51.100.10");
	a.state = S("draining");
	a.reason = S("drained");
	a.since = a.drained_at = AGO(10);
	a.transitions = 3;
	a.drained = a.attracts = true;
	a.drain_reason = S("new kernel");
	a.frontends = frontends;
	a.n_frontends = ARRAY_SIZE(frontends);
	a.bgp = bgp();
	a.l2 = l2();
	a.summary = S("still announced to tor1: drained, new kernel");
	return &a;
}

Maglev__ListAnnouncementsResponse *testing_announcements(void)
{
	static Maglev__AnnouncementInfo dns, *announcements[2];
	static Maglev__ListAnnouncementsResponse list;

	maglev__list_announcements_response__init(&list);
	maglev__announcement_info__init(&dns);
	dns.vip = S("dns");
	dns.address = S("2001:db8::53");
	dns.state = S("withdrawn");
	dns.reason = S("frontend-down");
	dns.culprit = S("near/dns");
	dns.since = AGO(192);
	dns.summary = S("withdrawn: near/dns is down");
	announcements[0] = &dns;
	announcements[1] = testing_announcement();
	list.announcements = announcements;
	list.n_announcements = ARRAY_SIZE(announcements);
	return &list;
}

Maglev__ListSessionsResponse *testing_sessions(void)
{
	static Maglev__SessionInfo tor1, tor2, *sessions[] = { &tor1, &tor2 };
	static Maglev__ListSessionsResponse list;

	maglev__list_sessions_response__init(&list);
	maglev__session_info__init(&tor1);
	maglev__session_info__init(&tor2);
	tor1.peer = S("tor1");
	tor1.address = S("10.0.0.2");
	tor1.asn = S("64513");
	tor1.up = true;
	tor1.state = S("Established");
	tor1.since = AGO(3600);
	tor1.prefixes_sent = 1;
	tor1.bfd = S("up");
	tor2.peer = S("tor2");
	tor2.address = S("eth1");
	tor2.vrf = S("red");
	tor2.asn = S("external");
	tor2.state = S("Active");
	tor2.since = AGO(5);
	tor2.last_error = S("BGP Notification send: Hold Timer Expired");
	list.sessions = sessions;
	list.n_sessions = ARRAY_SIZE(sessions);
	return &list;
}

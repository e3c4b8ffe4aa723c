// SPDX-License-Identifier: Apache-2.0
// One search over everything that the dashboard knows: what is found, and the page that shows it. Pure.
import type { Announcement, Session } from '../api/types.ts';
import { iconOf as announcementIcon, whyOf } from './announcements.ts';
import { plural, vipText } from './format.ts';
import { hostsText, placeName, targetsText } from './routers.ts';
import type { RouterView, ServerView, SpeakerView } from './state.ts';

/** In the order in which equally good results are listed. */
export const KINDS = [
	'way',
	'vip',
	'frontend',
	'host',
	'backend',
	'server',
	'announcement',
	'session',
	'route',
	'pool',
] as const;
export type Kind = (typeof KINDS)[number];

/** The page that shows a result, with what linkTo() in route.ts needs. */
export interface Target {
	scope: string;
	view:
		| 'overview'
		| 'frontends'
		| 'frontend'
		| 'backends'
		| 'backend'
		| 'announcements'
		| 'routers'
		| 'route'
		| 'way';
	name: string;
}

export interface Found {
	kind: Kind;
	/** What was found: a name, an address, a host. */
	title: string;
	/** One line about it. */
	detail: string;
	/** The page it leads to, in words. */
	page: string;
	target: Target;
	/** Of its icon; empty: none. */
	state: string;
}

export interface Sources {
	servers: ServerView[];
	speakers: SpeakerView[];
	routers: RouterView[];
}

/** Results that a page offers for the query itself, beside what was found by name; [] if it does not concern it. */
export type Offer = (query: string, sources: Sources) => Found[];

/** The way of a packet to what was typed, whatever it is: a VIP, a host with a path, a name. */
const wayTo: Offer = (query) => [
	{
		kind: 'way',
		title: query,
		detail: 'from the announcement to the server',
		page: 'Way of a packet',
		target: { scope: '', view: 'way', name: query },
		state: '',
	},
];
export const OFFERS: Offer[] = [wayTo];

/** Most results that are returned; the others are counted. */
export const MOST = 50;

/** A thing with the texts in which words are looked for; the first text is its name. */
interface Candidate {
	texts: string[];
	found: () => Found;
}

const LOST = 'unknown';

function* frontends({ servers }: Sources): Generator<Candidate> {
	for (const server of servers)
		for (const it of server.frontends)
			yield {
				texts: [it.name, vipText(it), it.description, server.name],
				found: () => ({
					kind: 'frontend',
					title: it.name,
					detail: [vipText(it), it.state, it.description].filter(Boolean).join(', '),
					page: `Frontend on ${server.name}`,
					target: { scope: server.name, view: 'frontend', name: it.name },
					state: it.state,
				}),
			};
}

function* backends({ servers }: Sources): Generator<Candidate> {
	for (const server of servers)
		for (const it of server.backends)
			yield {
				texts: [it.name, it.address, server.name],
				found: () => ({
					kind: 'backend',
					title: it.name,
					detail: [it.address, it.state, it.last_reason].filter(Boolean).join(', '),
					page: `Backend on ${server.name}`,
					target: { scope: server.name, view: 'backend', name: it.name },
					state: it.state,
				}),
			};
}

/** The worst state of backends with the same address. */
const STATES = ['down', 'unknown', 'paused', 'disabled', 'up'];
const worstState = (states: string[]): string => STATES.find((one) => states.includes(one)) ?? '';

/** Items of all servers by their address, in the order in which they come first. */
function byAddress<T extends { address: string }>(
	servers: ServerView[],
	of: (server: ServerView) => T[],
): Map<string, { server: string; it: T }[]> {
	const found = new Map<string, { server: string; it: T }[]>();
	for (const server of servers)
		for (const it of of(server)) {
			const items = found.get(it.address);
			if (items) items.push({ server: server.name, it });
			else found.set(it.address, [{ server: server.name, it }]);
		}
	return found;
}

const onServers = (items: { server: string }[]): string =>
	`on ${[...new Set(items.map((one) => one.server))].join(', ')}`;

/** Addresses of backends: all backends of a machine, on all balancers. */
function* hosts({ servers }: Sources): Generator<Candidate> {
	for (const [address, items] of byAddress(servers, (one) => one.backends))
		yield {
			texts: [address],
			found: () => ({
				kind: 'host',
				title: address,
				detail: `${plural(items.length, 'backend')} ${onServers(items)}`,
				page: 'Backends',
				target: { scope: '', view: 'backends', name: address },
				state: worstState(items.map(({ it }) => it.state)),
			}),
		};
}

/** Addresses of frontends. */
function* vips({ servers }: Sources): Generator<Candidate> {
	for (const [address, items] of byAddress(servers, (one) => one.frontends))
		yield {
			texts: [address, ...new Set(items.map(({ it }) => vipText(it)))],
			found: () => ({
				kind: 'vip',
				title: address,
				detail: `${plural(items.length, 'frontend')} ${onServers(items)}`,
				page: 'Frontends',
				target: { scope: '', view: 'frontends', name: address },
				state: worstState(items.map(({ it }) => it.state)),
			}),
		};
}

function* programs({ servers, speakers, routers }: Sources): Generator<Candidate> {
	const row = (one: { name: string; address: string; connected: boolean }, what: string) => ({
		kind: 'server' as const,
		title: one.name,
		detail: `${what} at ${one.address}, ${one.connected ? 'connected' : 'no contact'}`,
		state: one.connected ? 'up' : 'down',
	});
	for (const it of servers)
		yield {
			texts: [it.name, it.address],
			found: () => ({
				...row(it, 'maglevd'),
				page: 'Overview',
				target: { scope: it.name, view: 'overview', name: '' },
			}),
		};
	for (const it of speakers)
		yield {
			texts: [it.name, it.address, 'speaker'],
			found: () => ({
				...row(it, 'speaker'),
				page: 'Announcements',
				target: { scope: '', view: 'announcements', name: it.name },
			}),
		};
	for (const it of routers)
		yield {
			texts: [it.name, it.address, 'router'],
			found: () => ({
				...row(it, 'router'),
				page: 'Routers',
				target: { scope: '', view: 'routers', name: it.name },
			}),
		};
}

const ofAnnouncement = (speaker: SpeakerView, it: Announcement): Candidate => ({
	texts: [it.vip, it.address, speaker.name],
	found: () => ({
		kind: 'announcement',
		title: it.vip,
		detail: `${it.address} ${it.state} on ${speaker.name}: ${whyOf(it)}`,
		page: 'Announcements',
		target: { scope: '', view: 'announcements', name: `${it.vip} ${speaker.name}` },
		state: announcementIcon(it),
	}),
});

const ofSession = (speaker: SpeakerView, it: Session): Candidate => ({
	texts: [it.peer, it.address, it.asn, speaker.name],
	found: () => ({
		kind: 'session',
		title: it.peer,
		detail: `session of ${speaker.name} to ${it.address}, AS ${it.asn}, ${it.state || 'not known'}`,
		page: 'Announcements',
		target: { scope: '', view: 'announcements', name: `${it.peer} ${speaker.name}` },
		state: speaker.connected ? (it.up ? 'up' : 'down') : LOST,
	}),
});

function* announcements({ speakers }: Sources): Generator<Candidate> {
	for (const speaker of speakers) {
		for (const it of speaker.announcements) yield ofAnnouncement(speaker, it);
		for (const it of speaker.sessions) yield ofSession(speaker, it);
	}
}

function* routes({ routers }: Sources): Generator<Candidate> {
	for (const router of routers) {
		for (const it of router.routes)
			yield {
				texts: [it.name, ...it.hosts, ...it.rules.flatMap((one) => one.matches), router.name],
				found: () => ({
					kind: 'route',
					title: it.name,
					detail: `${hostsText(it)} → ${targetsText(it)}`,
					page: `Route on ${router.name}`,
					target: { scope: '', view: 'route', name: placeName(router.name, it.name) },
					state: router.connected ? '' : LOST,
				}),
			};
		for (const it of router.pools)
			yield {
				texts: [it.name, ...it.servers.map((one) => `${one.host}:${one.port}`), router.name],
				found: () => ({
					kind: 'pool',
					title: it.name,
					detail: `${it.usable} of ${plural(it.servers.length, 'server')} usable`,
					page: `Routers, pools of ${router.name}`,
					target: { scope: '', view: 'routers', name: it.name },
					state: router.connected ? (it.usable ? 'up' : 'down') : LOST,
				}),
			};
	}
}

const ALL = [vips, frontends, hosts, backends, programs, announcements, routes];

/** How well a candidate fits, 0 best; -1: not at all. Every word must be in one of its texts. */
function rankOf(words: string[], query: string, texts: string[]): number {
	const lower = texts.map((one) => one.toLowerCase());
	if (!words.every((word) => lower.some((text) => text.includes(word)))) return -1;
	if (lower.some((text) => text === query)) return lower[0] === query ? 0 : 1;
	if (lower[0]?.startsWith(words[0] ?? '')) return 2;
	return lower[0]?.includes(words[0] ?? '') ? 3 : 4;
}

/** A host with a path is a request: what is offered for it comes first. Otherwise a name is what was meant. */
const isRequest = (query: string): boolean => /^[^/\s]+\//.test(query);

export function search(
	query: string,
	sources: Sources,
	kind?: Kind,
): { found: Found[]; left: number } {
	const text = query.trim().toLowerCase();
	const words = text.split(/\s+/).filter(Boolean);
	if (words.length === 0) return { found: [], left: 0 };
	const ranks: Candidate[][] = [[], [], [], [], []];
	for (const of of ALL)
		for (const one of of(sources)) {
			const rank = rankOf(words, text, one.texts);
			if (rank >= 0) ranks[rank]?.push(one);
		}
	const offered = OFFERS.flatMap((offer) => offer(query.trim(), sources));
	const exact = isRequest(text);
	const listed = ranks.flat();
	const named = (kind ? listed : listed.slice(0, MOST)).map((one) => one.found());
	const both = exact ? [...offered, ...named] : [...named, ...offered];
	const found = both.filter((one) => !kind || one.kind === kind).slice(0, MOST);
	return { found, left: kind ? 0 : Math.max(0, listed.length - named.length) };
}

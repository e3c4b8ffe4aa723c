// SPDX-License-Identifier: Apache-2.0
// Which balancers attract a VIP, and why, over all speakers. A VIP is one address: speakers may have different
// names for it. Pure.
import type { Announcement, AnnouncementL2, Session } from '../api/types.ts';
import { plural } from './format.ts';
import type { Verdict } from './health.ts';
import type { ServerView, SpeakerView } from './state.ts';

/** A VIP of one speaker. */
export interface Entry {
	speaker: SpeakerView;
	it: Announcement;
}

/** The entries of each address, in the order of the speakers. */
export type Announcers = Map<string, Entry[]>;

export function announcersOf(speakers: SpeakerView[]): Announcers {
	const found: Announcers = new Map();
	for (const speaker of speakers)
		for (const it of speaker.announcements) {
			const entries = found.get(it.address);
			if (entries) entries.push({ speaker, it });
			else found.set(it.address, [{ speaker, it }]);
		}
	return found;
}

/** Why a VIP is in its state. The frontend that decided follows the sentence. */
const REASONS: Record<string, string> = {
	'frontend-up': 'all its frontends are up',
	static: 'it follows no frontend',
	adopted: 'it was announced before the speaker started; a maglevd has not answered yet',
	'maglevd-unreachable': 'held, because maglevd cannot be reached',
	starting: 'a maglevd has not answered yet',
	waiting: 'its frontends are up, but not for long enough yet',
	'frontend-down': 'frontend down',
	'few-servers': 'frontend with too few servers',
	'frontend-unknown': 'frontend that its maglevd does not have',
	'maglevd-lost': 'maglevd cannot be reached for too long',
	drained: 'drained by an operator',
	// of a speaker in a cluster
	announced: 'it is announced',
	noEndpoints: 'no endpoint of the Service is ready or serving',
	noLocalEndpoints: 'no usable endpoint on the node, and externalTrafficPolicy is Local',
	noMatchingAdvertisement: 'no advertisement selects the Service',
	noMatchingPeer: 'no BGPPeer gets it',
	notOwner: 'no advertisement selects the node',
	conflictingAdvertisements: 'two BGPAdvertisements give it different local preferences',
	nodeLabeledExcludeBalancers: 'the node is excluded from external load balancers',
	nodeNetworkUnavailable: 'the network of the node is unavailable',
	sharedIPWithServiceSelector: 'it shares its address, and an L2Advertisement has serviceSelectors',
	noSuchInterface: 'none of the interfaces of the L2Advertisements exists on the node',
	ipNotAllowed: 'no IPAddressPool has its addresses',
};

/** A drain counts, also where something else decides, such as a speaker that has not begun. */
export function whyOf(it: Announcement): string {
	const why = REASONS[it.reason] ?? it.reason;
	if (!it.drained) return why;
	const drain = `${REASONS.drained}${it.drain_reason ? `: ${it.drain_reason}` : ''}`;
	return it.reason === 'drained' ? drain : `${why}; ${drain}`;
}

const L2_REASONS: Record<string, string> = {
	best: 'it has the highest priority',
	owned: 'another member owns it',
	outranked: 'another member has a higher priority',
	unfit: 'the VIP is not announced here',
	listening: 'it listens for an owner first',
	'pre-empts': 'it takes over from a member with a lower priority',
	left: 'it has given the VIP up',
};

export const whyL2 = (l2: AnnouncementL2): string =>
	l2.problem || (L2_REASONS[l2.reason] ?? l2.reason);

/** The state of an announcement as one of the icons of states. */
const ICONS: Record<string, string> = {
	announced: 'up',
	worse: 'paused',
	draining: 'paused',
	withdrawn: 'down',
};

/** A VIP that should be announced but attracts nothing looks like one that is not. */
export function iconOf(it: Announcement): string {
	if (it.state === 'unknown') return 'unknown';
	if (it.drained && it.state === 'withdrawn') return 'disabled';
	if (!it.attracts && it.l2?.state === 'backup') return 'paused';
	return it.attracts || it.state === 'withdrawn' ? (ICONS[it.state] ?? 'unknown') : 'down';
}

export interface Attraction {
	verdict: Verdict;
	/** One sentence: who announces it, or that nobody does. */
	text: string;
	/** The entries that attract traffic. */
	by: Entry[];
	/** Without contact, if that decides. */
	unknown: Entry[];
	/** Drains of operators, also where another balancer announces the VIP. */
	drains: string[];
}

export const attracts = (entry: Entry): boolean => entry.it.attracts;
const isUnknown = (entry: Entry): boolean => !entry.speaker.connected;
const names = (entries: Entry[]): string => entries.map((one) => one.speaker.name).join(', ');

export const drainText = ({ speaker, it }: Entry): string =>
	`drained on ${speaker.name} by an operator${it.drain_reason ? `: ${it.drain_reason}` : ''}`;

/** Another member that a speaker knows as the owner on its network; it may have no speaker here. */
const seenOwner = (entries: Entry[]): Entry | undefined =>
	entries.find(({ speaker, it }) => speaker.connected && it.l2?.state === 'backup' && it.l2.owner);

/** Null if no speaker has the address. Nothing is said of speakers without contact. */
export function attractionOf(address: string, entries: Entry[] | undefined): Attraction | null {
	if (!entries?.length) return null;
	const by = entries.filter(attracts);
	const drains = entries.filter((one) => one.it.drained).map(drainText);
	const rest = { by, unknown: [], drains };
	if (by.length) return { verdict: 'ok', text: `announced by ${names(by)}`, ...rest };
	const seen = seenOwner(entries);
	if (seen) {
		const text = `announced by ${seen.it.l2?.owner}, as ${seen.speaker.name} sees it`;
		return { verdict: 'ok', text, ...rest };
	}
	const unknown = entries.filter(isUnknown);
	if (unknown.length) {
		const text = `not known whether ${names(unknown)} ${unknown.length > 1 ? 'announce' : 'announces'} it`;
		return { verdict: 'unknown', text, ...rest, unknown };
	}
	return { verdict: 'critical', text: `nobody announces ${address}`, ...rest };
}

/** Why nobody announces it: the reasons of all speakers, each once. */
export const whyNobody = (entries: Entry[]): string =>
	[
		...new Set(
			entries.map(({ it }) => (it.state === 'withdrawn' ? whyOf(it) : it.summary || whyOf(it))),
		),
	].join('; ');

const maglevdProblems = (speaker: SpeakerView): string[] =>
	(speaker.info?.maglevds ?? [])
		.filter((one) => !one.connected)
		.map((one) => `it cannot reach maglevd ${one.name}${one.error ? `: ${one.error}` : ''}`);

/** Problems of the speaker itself. */
export function speakerProblems(speaker: SpeakerView): string[] {
	if (speaker.cut) return ['no contact with maglevd-frontend'];
	if (!speaker.connected) return [`no contact${speaker.error ? `: ${speaker.error}` : ''}`];
	const problems = speaker.error ? [speaker.error] : [];
	const { info } = speaker;
	if (info?.problem) problems.push(info.problem);
	if (info?.frr && !info.frr.current && info.frr.last_error)
		problems.push(`FRR does not have its configuration: ${info.frr.last_error}`);
	if (info?.config_error) problems.push(`a newer configuration was refused: ${info.config_error}`);
	return [...problems, ...maglevdProblems(speaker)];
}

const sessionProblem = (one: Session): string =>
	`session to ${one.peer} is down${one.last_error ? `: ${one.last_error}` : ''}`;

export interface SpeakerConcern {
	verdict: Verdict;
	title: string;
	notes: string;
	since: Announcement['since'];
}

/** Most VIPs or sessions that are named one by one; more are counted. */
const NAMED = 5;

function counted(found: SpeakerConcern[], what: (count: number) => string): SpeakerConcern[] {
	const [first] = found;
	if (!first || found.length <= NAMED) return found;
	return [{ verdict: first.verdict, title: what(found.length), notes: '', since: 0 }];
}

const ofSpeaker = (speaker: SpeakerView): SpeakerConcern[] => {
	const verdict: Verdict = speaker.connected ? 'warning' : speaker.cut ? 'unknown' : 'critical';
	const title = `speaker ${speaker.name}`;
	const own = speakerProblems(speaker).map((notes) => ({
		verdict,
		title,
		notes,
		since: speaker.connected ? 0 : speaker.since_ns,
	}));
	if (!speaker.connected) return own;
	const down = speaker.sessions
		.filter((one) => !one.up)
		.map((one) => ({
			verdict: 'warning' as const,
			title,
			notes: sessionProblem(one),
			since: one.since,
		}));
	return [...own, ...counted(down, (count) => `${title}: ${plural(count, 'session')} down`)];
};

const latest = (entries: Entry[]): Announcement['since'] =>
	entries.reduce<Announcement['since']>(
		(most, { it }) => (Number(it.since) > Number(most) ? it.since : most),
		0,
	);

/** What needs attention: VIPs that nobody announces, sessions that are down, problems of speakers. */
export function concernsOf(announcers: Announcers, speakers: SpeakerView[]): SpeakerConcern[] {
	const lonely = [...announcers].flatMap(([address, entries]) =>
		attractionOf(address, entries)?.verdict === 'critical'
			? [
					{
						verdict: 'critical' as const,
						title: `nobody announces ${address}`,
						notes: whyNobody(entries),
						since: latest(entries),
					},
				]
			: [],
	);
	return [
		...counted(lonely, (count) => `nobody announces ${plural(count, 'VIP')}`),
		...speakers.flatMap(ofSpeaker),
	];
}

/**
 * The server and the frontend that a speaker means by "maglevd/frontend". The speaker has names of its own for
 * maglevds: if there is no server of that name, it is the only one with such a frontend.
 */
export function culpritOf(
	culprit: string,
	servers: ServerView[],
): { server: string; frontend: string } | null {
	const slash = culprit.indexOf('/');
	if (slash < 0) return null;
	const frontend = culprit.slice(slash + 1);
	const having = servers.filter((one) => one.frontends.some((it) => it.name === frontend));
	const server = having.find((one) => one.name === culprit.slice(0, slash)) ?? having[0];
	if (!server || (having.length > 1 && server.name !== culprit.slice(0, slash))) return null;
	return { server: server.name, frontend };
}

export interface DrainConsequences {
	/** What happens at this balancer. */
	here: string;
	/** Where the traffic goes. */
	elsewhere: string;
	fatal: boolean;
}

/** Takes the VIP over when its owner on the network gives it up. */
const standsBy = ({ it, speaker }: Entry): boolean =>
	speaker.connected && !it.drained && it.state === 'announced' && it.l2?.state === 'backup';

const verb = (entries: Entry[], one: string, many: string): string =>
	entries.length > 1 ? many : one;

export function ofDrain(entry: Entry, entries: Entry[]): DrainConsequences {
	const others = entries.filter((one) => one.speaker.name !== entry.speaker.name);
	const name = entry.speaker.name;
	if (!entry.it.attracts)
		return {
			here: `${name} attracts no traffic for it now, and will not until the drain is ended.`,
			elsewhere: 'Nothing changes for clients.',
			fatal: false,
		};
	const here = entry.it.l2
		? `${name} gives the VIP up on ${entry.it.l2.interface}.`
		: `Routers are asked to prefer other paths, and then ${name} withdraws it.`;
	const still = others.filter(attracts);
	if (still.length)
		return {
			here,
			elsewhere: `${names(still)} still ${verb(still, 'announces', 'announce')} it.`,
			fatal: false,
		};
	const next = others.filter(standsBy);
	if (next.length)
		return {
			here,
			elsewhere:
				next.length > 1 ? `One of ${names(next)} takes it over.` : `${names(next)} takes it over.`,
			fatal: false,
		};
	const unknown = others.filter(isUnknown);
	if (unknown.length)
		return {
			here,
			elsewhere: `It is not known whether ${names(unknown)} ${verb(unknown, 'announces', 'announce')} it: clients may lose it.`,
			fatal: true,
		};
	return { here, elsewhere: 'Nobody else announces this VIP: clients lose it.', fatal: true };
}

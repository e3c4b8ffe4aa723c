// SPDX-License-Identifier: Apache-2.0
// What is wrong, by cause: a hundred frontends that suffer from one dead host are one line. Pure.
//
// Faults are backends that are down on a server. A group of faults is an explanation if nothing contradicts
// it: all probed backends of a check, a port or a subnet are down in the same manner, or a balancer alone
// cannot reach hosts that others reach. The largest explanation is taken first, then the next of what is left;
// the rest is explained by its hosts. Frontends are counted below each cause that takes a server from them.
import type { Backend, Frontend, Int64 } from '../api/types.ts';
import { num, plural } from './format.ts';
import { type Health, type ServerHealth, VERDICTS, type Verdict, worst } from './health.ts';
import { beginningOf, failureOf, type Manner, mannerOf, REFUSES, subnetOf } from './manner.ts';
import { overridesOf } from './overrides.ts';
import type { ServerView } from './state.ts';

export interface Place {
	scope: string;
	view: 'overview' | 'frontends' | 'backends' | 'dataplane';
	/** The filter of the list; empty: all. */
	filter: string;
}

export interface Affected {
	server: string;
	frontend: string;
	verdict: Verdict;
}

/** In the order in which they explain each other: a lost server explains more than a lost host. */
export const KINDS = [
	'server',
	'balancer',
	'subnet',
	'port',
	'check',
	'host',
	'plane',
	'other',
	'operator',
] as const;
export type Kind = (typeof KINDS)[number];

export interface Cause {
	/** The same as long as it is the same cause. */
	key: string;
	kind: Kind;
	verdict: Verdict;
	title: string;
	/** More about it; may be empty. */
	notes: string;
	/** "6 frontends on 2 servers: 2 down, 4 degraded"; empty if no frontend is concerned. */
	sum: string;
	since: Int64;
	place: Place;
	affected: Affected[];
}

type Judge = (server: string) => ServerHealth;

interface Fault {
	server: string;
	backend: Backend;
	manner: Manner;
}

interface Group {
	kind: Kind;
	name: string;
	faults: Fault[];
	/** Probed backends of the same group that are up. */
	alive: number;
	/** Rank among groups of the same size. */
	rank: number;
}

/** Fewer hosts are named one by one: two hosts of a subnet do not make an outage of the subnet. */
const MANY = 3;

const isProbed = (one: Backend): boolean => one.healthcheck !== '';
const hostsOf = (faults: Fault[]): Set<string> => new Set(faults.map((one) => one.backend.address));

/** The number that both share, for those that have it. */
function common<T>(items: T[], of: (one: T) => string): string | null {
	const [first] = items;
	if (!first) return null;
	const value = of(first);
	return items.every((one) => of(one) === value) ? value : null;
}

function faultsOf(servers: ServerView[]): Fault[] {
	return servers.flatMap((server) =>
		server.backends
			.filter((one) => one.state === 'down')
			.map((backend) => ({ server: server.name, backend, manner: mannerOf(backend) })),
	);
}

type PortOf = (server: string, check: string) => number;

function portsOf(servers: ServerView[]): PortOf {
	const ports = new Map(
		servers.flatMap((server) =>
			server.healthchecks.map((one) => [`${server.name}\n${one.name}`, one.port] as const),
		),
	);
	return (server, check) => ports.get(`${server}\n${check}`) ?? 0;
}

/** The keys of the groups that could explain a backend. */
const keysOf = (server: string, one: Backend, portOf: PortOf): [Kind, string][] => {
	const port = portOf(server, one.healthcheck);
	return [
		['subnet', subnetOf(one.address)],
		['check', one.healthcheck],
		...(port ? [['port', String(port)] as [Kind, string]] : []),
	];
};

const RANKS: Record<Manner['layer'], Kind[]> = {
	network: ['balancer', 'subnet', 'port', 'check'],
	service: ['balancer', 'check', 'port', 'subnet'],
	local: ['balancer', 'check', 'port', 'subnet'],
};

/** Calls back for each group that could explain a backend, if the backend counts. */
function eachKey(
	servers: ServerView[],
	counts: (one: Backend) => boolean,
	portOf: PortOf,
	tell: (key: [Kind, string]) => void,
): void {
	for (const server of servers)
		for (const one of server.backends)
			if (counts(one)) for (const key of keysOf(server.name, one, portOf)) tell(key);
}

const isAliveAndProbed = (one: Backend): boolean => one.state === 'up' && isProbed(one);

function groupsOf(servers: ServerView[], faults: Fault[], portOf: PortOf): Group[] {
	const groups = new Map<string, Group>();
	for (const fault of faults)
		for (const [kind, name] of keysOf(fault.server, fault.backend, portOf)) {
			const key = `${kind} ${name}`;
			const group = groups.get(key) ?? { kind, name, faults: [], alive: 0, rank: 0 };
			group.faults.push(fault);
			groups.set(key, group);
		}
	eachKey(servers, isAliveAndProbed, portOf, ([kind, name]) => {
		const group = groups.get(`${kind} ${name}`);
		if (group) group.alive++;
	});
	return [...groups.values()];
}

/** Which servers reach a host. */
type Reaching = Map<string, Set<string>>;

function reachingOf(servers: ServerView[], faults: Fault[]): Reaching {
	const found: Reaching = new Map([...hostsOf(faults)].map((host) => [host, new Set<string>()]));
	for (const server of servers)
		for (const one of server.backends)
			if (isAliveAndProbed(one)) found.get(one.address)?.add(server.name);
	return found;
}

const seenByOthers = (fault: Fault, reaching: Reaching): boolean =>
	[...(reaching.get(fault.backend.address) ?? [])].some((one) => one !== fault.server);

/** A balancer that alone fails to reach at least half of what it probes. */
function balancersOf(servers: ServerView[], faults: Fault[], reaching: Reaching): Group[] {
	return servers.flatMap((server) => {
		const own = faults.filter((one) => one.server === server.name && seenByOthers(one, reaching));
		const probed = server.backends.filter(isProbed).length;
		if (hostsOf(own).size < MANY || 2 * own.length < probed) return [];
		return [{ kind: 'balancer' as const, name: server.name, faults: own, alive: 0, rank: 0 }];
	});
}

/** Nothing contradicts the group, and its members fail alike. A check or port is no cause if hosts are gone. */
function explains(group: Group, reaching: Reaching): boolean {
	if (group.kind === 'balancer') return true;
	if (group.alive > 0 || hostsOf(group.faults).size < MANY) return false;
	const layer = common(group.faults, (one) => one.manner.layer);
	if (group.kind === 'subnet') return layer !== null;
	if (common(group.faults, (one) => one.manner.says) === null) return false;
	return layer !== 'network' || group.faults.some((one) => isAlive(one, reaching));
}

const isAlive = (fault: Fault, reaching: Reaching): boolean =>
	(reaching.get(fault.backend.address)?.size ?? 0) > 0;

function rankOf(group: Group): number {
	const layer = group.faults[0]?.manner.layer ?? 'service';
	const refused = group.faults[0]?.manner.says === 'refuses connections';
	return refused && group.kind === 'port' ? 0.5 : RANKS[layer].indexOf(group.kind);
}

/** The explanations, the largest first, each with what the larger ones leave; and the faults that are left. */
function explained(candidates: Group[]): { groups: Group[]; rest: Set<Fault> } {
	const rest = new Set(candidates.flatMap((one) => one.faults));
	const groups = candidates
		.map((one) => ({ ...one, rank: rankOf(one) }))
		.sort((a, b) => b.faults.length - a.faults.length || a.rank - b.rank)
		.flatMap((one) => {
			const faults = one.faults.filter((fault) => rest.has(fault));
			if (hostsOf(faults).size < MANY) return [];
			for (const fault of faults) rest.delete(fault);
			return [{ ...one, faults }];
		});
	return { groups, rest };
}

/** Faults by host; apart where other ports of the host answer. */
function byHost(faults: Iterable<Fault>, reaching: Reaching, portOf: PortOf): Group[] {
	const groups = new Map<string, Group>();
	for (const fault of faults) {
		const { address, healthcheck } = fault.backend;
		const here = reaching.get(address)?.has(fault.server);
		const port = here ? portOf(fault.server, healthcheck) : 0;
		const name = port ? `port ${port} of host ${address}` : `host ${address}`;
		const key = `${name} ${fault.manner.says}`;
		const group = groups.get(key) ?? { kind: 'host', name, faults: [], alive: 0, rank: 0 };
		group.faults.push(fault);
		groups.set(key, group);
	}
	return [...groups.values()];
}

const LEVELS: [Verdict, string][] = [
	['critical', 'down'],
	['warning', 'with a warning'],
	['degraded', 'degraded'],
];

/** "6 frontends on 2 servers: 2 down, 4 degraded". One name on several servers is one frontend. */
export function sumOf(affected: Affected[]): string {
	if (affected.length === 0) return '';
	const names = new Set(affected.map((one) => one.frontend));
	const servers = new Set(affected.map((one) => one.server));
	const worstOf = new Map<string, Verdict>();
	for (const { frontend, verdict } of affected)
		worstOf.set(frontend, worst([verdict, worstOf.get(frontend) ?? 'ok']));
	const levels = LEVELS.map(([verdict, word]) => {
		const count = [...worstOf.values()].filter((one) => one === verdict).length;
		return count ? `${count} ${word}` : '';
	}).filter(Boolean);
	const where =
		servers.size === 1 ? `on ${[...servers][0]}` : `on ${plural(servers.size, 'server')}`;
	const states = levels.length === 1 && names.size === 1 ? levels[0]?.slice(2) : levels.join(', ');
	return `${plural(names.size, 'frontend')} ${where}${states ? `: ${states}` : ''}`;
}

const isBad = (health: Health | undefined): health is Health =>
	health !== undefined && health.verdict !== 'ok' && health.verdict !== 'unknown';

function affectedBy(faults: Fault[], judge: Judge): Affected[] {
	const seen = new Set<string>();
	const found: Affected[] = [];
	for (const { server, backend } of faults)
		for (const frontend of backend.frontends) {
			const key = `${server}\n${frontend}`;
			const health = judge(server).frontends[frontend];
			if (seen.has(key) || !isBad(health)) continue;
			seen.add(key);
			found.push({ server, frontend, verdict: health.verdict });
		}
	return found.sort((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict));
}

/** "connect to 10.0.0.1:80: timed out" is "timed out": the address of one host says nothing about the others. */
function withoutAddress(reason: string, address: string): string {
	const at = reason.indexOf(address);
	const after = at < 0 ? -1 : reason.indexOf(': ', at + address.length);
	return after < 0 ? reason : reason.slice(after + 2);
}

/** The reason that most of them give; empty if it adds nothing. */
function commonest(faults: Fault[]): string {
	if (faults.every((one) => one.manner === REFUSES)) return ''; // the title says so
	const counts = new Map<string, number>();
	for (const { backend } of faults) {
		const text = withoutAddress(failureOf(backend).reason, backend.address);
		if (text) counts.set(text, (counts.get(text) ?? 0) + 1);
	}
	return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
}

/** "host 10.0.0.1 does not answer, as lb1 sees it" if other servers reach it. */
function sightOf(faults: Fault[], reaching: Reaching): string {
	if (!faults.some((one) => seenByOthers(one, reaching))) return '';
	const servers = [...new Set(faults.map((one) => one.server))];
	return `, as ${servers.join(', ')} ${servers.length > 1 ? 'see' : 'sees'} it`;
}

interface Words {
	title: string;
	notes: string;
	filter: string;
}

const manyHosts = (faults: Fault[]): string => plural(hostsOf(faults).size, 'host');

/** What each kind of group says, and the filter of the list of its backends. */
const WORDS: Partial<Record<Kind, (group: Group, reaching: Reaching) => Words>> = {
	balancer: ({ name, faults }, reaching) => {
		const others = new Set(faults.flatMap((one) => [...(reaching.get(one.backend.address) ?? [])]));
		others.delete(name);
		return {
			title: `${name} alone cannot reach ${manyHosts(faults)}`,
			notes: [`${[...others].sort().join(', ')} can`, commonest(faults)].filter(Boolean).join('; '),
			filter: 'down',
		};
	},
	subnet: ({ name, faults }) => ({
		title: `subnet ${name}: all ${manyHosts(faults)} ${
			common(faults, (one) => one.manner.say) ?? 'fail'
		}`,
		notes: commonest(faults),
		filter: beginningOf(name),
	}),
	port: ({ name, faults }) => ({
		title: `port ${name}: all ${manyHosts(faults)} ${faults[0]?.manner.say}`,
		notes: commonest(faults),
		filter: common(faults, (one) => one.backend.healthcheck) ?? 'down',
	}),
	check: ({ name, faults }) => ({
		title: `check ${name} fails on all its ${manyHosts(faults)}`,
		notes: commonest(faults),
		filter: name,
	}),
	host: ({ name, faults }, reaching) => ({
		title: `${name} ${faults[0]?.manner.says}${sightOf(faults, reaching)}`,
		notes: commonest(faults),
		filter: faults[0]?.backend.address ?? '',
	}),
};

const earliest = (times: Int64[]): Int64 =>
	times.reduce<Int64>((first, one) => (num(first) === 0 || num(one) < num(first) ? one : first), 0);

const oneServer = (faults: { server: string }[]): string =>
	common(faults, (one) => one.server) ?? '';

function causeOf(group: Group, reaching: Reaching, judge: Judge): Cause[] {
	const affected = affectedBy(group.faults, judge);
	const words = WORDS[group.kind]?.(group, reaching);
	if (affected.length === 0 || !words) return [];
	return [
		{
			key: `${group.kind} ${group.name} ${group.faults[0]?.manner.says}`,
			kind: group.kind,
			verdict: worst(affected.map((one) => one.verdict)),
			title: words.title,
			notes: words.notes,
			sum: sumOf(affected),
			since: earliest(group.faults.map((one) => one.backend.since)),
			place: { scope: oneServer(group.faults), view: 'backends', filter: words.filter },
			affected,
		},
	];
}

function causesOfFaults(servers: ServerView[], judge: Judge): Cause[] {
	const faults = faultsOf(servers);
	if (faults.length === 0) return [];
	const portOf = portsOf(servers);
	const reaching = reachingOf(servers, faults);
	const candidates = [
		...balancersOf(servers, faults, reaching),
		...groupsOf(servers, faults, portOf).filter((one) => explains(one, reaching)),
	];
	const { groups, rest } = explained(candidates);
	const inGroups = new Set(groups.flatMap((one) => one.faults));
	const left = faults.filter((one) => rest.has(one) || !inGroups.has(one));
	return [...groups, ...byHost(left, reaching, portOf)].flatMap((one) =>
		causeOf(one, reaching, judge),
	);
}

/** Problems of servers themselves: those with the same words are one cause. */
function causesOfServers(servers: ServerView[], judge: Judge): Cause[] {
	const byText = new Map<string, ServerView[]>();
	for (const server of servers)
		for (const text of judge(server.name).problems)
			byText.set(text, [...(byText.get(text) ?? []), server]);
	return [...byText].map(([text, having]) => {
		const names = having.map((one) => one.name);
		const lost = having.filter((one) => !one.connected);
		const frontends = having.reduce((sum, one) => sum + one.frontends.length, 0);
		const scope = names.length === 1 ? (names[0] ?? '') : '';
		return {
			key: `server ${text}`,
			kind: 'server' as const,
			verdict: lost.length
				? worst(lost.map((one) => (one.cut ? 'unknown' : 'critical') as Verdict))
				: 'warning',
			title: names.join(', '),
			notes: text,
			sum: frontends ? plural(frontends, 'frontend') : '',
			since: earliest(lost.map((one) => one.since_ns)),
			place: {
				scope,
				view: lost.length ? ('overview' as const) : ('dataplane' as const),
				filter: '',
			},
			affected: [],
		};
	});
}

/** Frontends whose entries in the data plane differ from the plan, by server. */
function causesOfDrift(servers: ServerView[], judge: Judge): Cause[] {
	return servers.flatMap((server) => {
		const health = judge(server.name).frontends;
		const affected = server.frontends
			.filter((one) => health[one.name]?.drift)
			.map((one) => ({
				server: server.name,
				frontend: one.name,
				verdict: health[one.name]?.verdict ?? ('warning' as const),
			}));
		const count = affected.reduce((sum, one) => sum + (health[one.frontend]?.drift ?? 0), 0);
		if (!count) return [];
		return [
			{
				key: `plane ${server.name}`,
				kind: 'plane' as const,
				verdict: 'warning' as const,
				title: `the data plane of ${server.name} differs from the plan`,
				notes: plural(count, 'difference'),
				sum: sumOf(affected),
				since: 0,
				place: { scope: server.name, view: 'dataplane' as const, filter: '' },
				affected,
			},
		];
	});
}

const keyOf = ({ server, frontend }: Affected): string => `${server}\n${frontend}`;

/** Frontends that no cause above explains, by what is said of them. */
function causesOfRest(servers: ServerView[], known: Cause[], judge: Judge): Cause[] {
	const explainedOnes = new Set(known.flatMap((one) => one.affected.map(keyOf)));
	const byNotes = new Map<string, { one: Affected; frontend: Frontend }[]>();
	for (const server of servers)
		for (const frontend of server.frontends) {
			const health = judge(server.name).frontends[frontend.name];
			if (!isBad(health)) continue;
			const one = { server: server.name, frontend: frontend.name, verdict: health.verdict };
			const notes = health.notes.join(', ');
			if (!explainedOnes.has(keyOf(one)))
				byNotes.set(notes, [...(byNotes.get(notes) ?? []), { one, frontend }]);
		}
	return [...byNotes].map(([notes, items]) => {
		const affected = items.map(({ one }) => one);
		return {
			key: `other ${notes}`,
			kind: 'other' as const,
			verdict: worst(affected.map((one) => one.verdict)),
			title: notes || 'no cause is known',
			notes: '',
			sum: sumOf(affected),
			since: earliest(items.map(({ frontend }) => frontend.since)),
			place: { scope: oneServer(affected), view: 'frontends' as const, filter: '' },
			affected,
		};
	});
}

const down = (one: Cause): number => one.affected.filter((it) => it.verdict === 'critical').length;

/** Worst first; among equals the one that takes most frontends down, then what explains most. */
const byGravity = (a: Cause, b: Cause): number =>
	VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict) ||
	Number(b.kind === 'server') - Number(a.kind === 'server') ||
	down(b) - down(a) ||
	b.affected.length - a.affected.length ||
	KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
	a.title.localeCompare(b.title);

export interface Causes {
	faults: Cause[];
	/** What operators did on purpose. */
	operators: Cause[];
}

export function causesOf(servers: ServerView[], judge: Judge): Causes {
	const reached = servers.filter((one) => one.connected);
	const operators = overridesOf(reached, judge);
	const found = [
		...causesOfServers(servers, judge),
		...causesOfFaults(reached, judge),
		...causesOfDrift(reached, judge),
	];
	const rest = causesOfRest(reached, [...found, ...operators], judge);
	return { faults: [...found, ...rest].sort(byGravity), operators: operators.sort(byGravity) };
}

// SPDX-License-Identifier: Apache-2.0
// The known state of all servers, and how an event changes it. Pure: a new state is returned, in which
// unchanged parts stay the same objects.
import type {
	Backend,
	BackendPayload,
	Changed,
	DataplanePayload,
	Frontend,
	Pool,
	Router,
	RouterEvent,
	Server,
	ServerEvent,
	Snapshot,
	Speaker,
	SpeakerEvent,
	StreamEvent,
	Transition,
	Update,
} from '../api/types.ts';
import { differences } from './dataplane.ts';
import { ms, num } from './format.ts';
import { shared } from './share.ts';

export interface ServerView extends Server {
	/** When (ms) each difference between the data plane and the plan was first seen. */
	drift: Record<string, number>;
	/** This page has no contact with maglevd-frontend, so nothing is known of any server. */
	cut?: boolean;
}

export interface SpeakerView extends Speaker {
	/** As that of a server. */
	cut?: boolean;
}

export interface RouterView extends Router {
	/** As that of a server. */
	cut?: boolean;
}

export interface State {
	epoch: string;
	seq: number;
	servers: ServerView[];
	speakers: SpeakerView[];
	routers: RouterView[];
}

/** Transitions that are kept here; more than on the server, because reasons arrive only with events. */
const HISTORY = 50;

export const EMPTY: State = { epoch: '', seq: -1, servers: [], speakers: [], routers: [] };

const same = (a: Transition, b: Transition): boolean =>
	Math.abs(num(a.at) - num(b.at)) < 1e6 && a.to === b.to;

/** The history of the server, with the reasons and the older entries that were known before. */
function mergeHistory(fresh: Transition[], known: Transition[]): Transition[] {
	const merged = fresh.map((one) => {
		const before = known.find((other) => same(one, other));
		return before?.reason ? { ...one, reason: before.reason } : one;
	});
	const oldest = num(fresh.at(-1)?.at);
	const older = known.filter(
		(one) => num(one.at) < oldest && !fresh.some((other) => same(one, other)),
	);
	return [...merged, ...older].slice(0, HISTORY);
}

/** Most items are where they were, and most are the same: of thousands a few hundred change each second. */
function mergeBackends(fresh: Backend[], known: Backend[]): Backend[] {
	let byName: Map<string, Backend> | undefined;
	const before = (name: string, index: number): Backend | undefined => {
		if (known[index]?.name === name) return known[index];
		byName ??= new Map(known.map((one) => [one.name, one]));
		return byName.get(name);
	};
	return fresh.map((one, index) => {
		if (one === known[index]) return one;
		const history = before(one.name, index)?.transitions ?? [];
		if (one.transitions === history) return one;
		return { ...one, transitions: mergeHistory(one.transitions ?? [], history) };
	});
}

/** Each difference keeps the time at which it was first seen. */
function trackDrift(server: Server, known: Record<string, number>, at: number) {
	const found = differences(server.lb).map(({ key }) => [key, known[key] ?? at] as const);
	return Object.fromEntries(found);
}

/** Replaces the state of a server; reasons in the history are kept from the old state. */
function adopt(server: Server, known: ServerView | undefined): ServerView {
	return {
		...server,
		backends: mergeBackends(server.backends, known?.backends ?? []),
		drift: trackDrift(server, known?.drift ?? {}, ms(server.refreshed_at_ns)),
	};
}

export function fromSnapshot(snapshot: Snapshot, known: State): State {
	const before = new Map(known.servers.map((one) => [one.name, one]));
	return {
		epoch: String(snapshot.epoch),
		seq: num(snapshot.seq),
		servers: snapshot.servers.map((one) => adopt(one, before.get(one.name))),
		speakers: snapshot.speakers ?? [],
		routers: snapshot.routers ?? [],
	};
}

function withState(pools: Pool[], backend: string, state: string): Pool[] {
	if (!pools.some((pool) => pool.backends.some((one) => one.name === backend))) return pools;
	return pools.map((pool) => ({
		...pool,
		backends: pool.backends.map((one) => (one.name === backend ? { ...one, state } : one)),
	}));
}

function onBackend(
	server: ServerView,
	event: BackendPayload,
	at: StreamEvent['at_ns'],
): ServerView {
	if (event.replay) return server;
	const entry: Transition = {
		from: event.from,
		to: event.to,
		code: event.code,
		at,
		reason: event.reason,
	};
	const backends = server.backends.map((one) => {
		if (one.name !== event.backend) return one;
		const rest = one.transitions.filter((other) => !same(entry, other));
		return {
			...one,
			state: event.to,
			since: at,
			transitions: [entry, ...rest].slice(0, HISTORY),
		};
	});
	const frontends = server.frontends.map((one): Frontend => {
		const pools = withState(one.pools, event.backend, event.to);
		return pools === one.pools ? one : { ...one, pools };
	});
	return { ...server, backends, frontends };
}

function onRefresh(server: ServerView, part: Partial<Server>, at: number): ServerView {
	const merged: ServerView = { ...server, ...part };
	if (part.backends) merged.backends = mergeBackends(part.backends, server.backends);
	if (part.lb !== undefined) {
		merged.lb = shared(server.lb, merged.lb);
		merged.drift = trackDrift(merged, server.drift, at);
	}
	return merged;
}

function change<T, Key extends keyof T>(item: T, changed: Changed<T, Key>): T {
	const fields = Object.entries(changed).map(([key, value]) => [key, value ?? undefined]);
	return { ...item, ...Object.fromEntries(fields) };
}

/** Applies changes to the items of a list, which key names. Items are neither added nor removed this way. */
function changeItems<T, Key extends keyof T>(
	list: T[],
	key: Key,
	changed: Changed<T, Key>[] = [],
): T[] {
	if (changed.length === 0) return list;
	const byName = new Map<unknown, Changed<T, Key>>();
	for (const one of changed) byName.set(one[key], { ...byName.get(one[key]), ...one });
	return list.map((one) => {
		const found = byName.get(one[key]);
		return found ? change(one, found) : one;
	});
}

function onUpdate(server: ServerView, update: Update): ServerView {
	const { frontends, backends, healthchecks, ...rest } = update;
	const known = server.backends;
	return {
		...server,
		...rest,
		frontends: changeItems(server.frontends, 'name', frontends),
		backends: backends ? mergeBackends(changeItems(known, 'name', backends), known) : known,
		healthchecks: changeItems(server.healthchecks, 'name', healthchecks),
	};
}

/** The part of the event about the data plane as a whole; its VIPs are read afterwards. */
function onDataplane(server: ServerView, event: DataplanePayload): ServerView {
	if (!server.lb) return server;
	const { connected, warmup, held, last_full_sync } = event;
	const problem = event.problem || (connected ? '' : server.lb.problem);
	const status = event.status || (connected ? 'connected' : 'disconnected');
	return {
		...server,
		lb: { ...server.lb, connected, status, problem, warmup, held, last_full_sync },
	};
}

function onEvent(server: ServerView, event: ServerEvent): ServerView {
	switch (event.type) {
		case 'backend':
			return onBackend(server, event.payload, event.at_ns);
		case 'frontend': {
			const { frontend, to, replay } = event.payload;
			if (replay) return server;
			const frontends = server.frontends.map((one) =>
				one.name === frontend ? { ...one, state: to, since: event.at_ns } : one,
			);
			return { ...server, frontends };
		}
		case 'dataplane':
			return onDataplane(server, event.payload);
		case 'counters':
			return { ...server, counters: event.payload };
		case 'update':
			return onUpdate(server, event.payload);
		case 'server':
		case 'refresh':
		case 'lb':
			return onRefresh(server, event.payload, ms(event.at_ns));
		case 'config': // the lists follow it
		case 'log':
		case 'resync':
			return server;
	}
}

function onSpeakerEvent(speaker: SpeakerView, event: SpeakerEvent): SpeakerView {
	if (event.type !== 'update') return { ...speaker, ...event.payload };
	const { announcements, sessions, ...rest } = event.payload;
	return {
		...speaker,
		...rest,
		announcements: changeItems(speaker.announcements, 'vip', announcements),
		sessions: changeItems(speaker.sessions, 'peer', sessions),
	};
}

function reduceSpeaker(state: State, event: SpeakerEvent): State {
	const speaker = state.speakers.find((one) => one.name === event.speaker);
	if (!speaker) return state;
	const changed = onSpeakerEvent(speaker, event);
	return { ...state, speakers: state.speakers.map((one) => (one === speaker ? changed : one)) };
}

function onRouterEvent(router: RouterView, event: RouterEvent): RouterView {
	if (event.type !== 'update') return { ...router, ...event.payload };
	const { listeners, routes, pools, ...rest } = event.payload;
	return {
		...router,
		...rest,
		listeners: changeItems(router.listeners, 'name', listeners),
		routes: changeItems(router.routes, 'name', routes),
		pools: changeItems(router.pools, 'name', pools),
	};
}

function reduceRouter(state: State, event: RouterEvent): State {
	const router = state.routers.find((one) => one.name === event.router);
	if (!router) return state;
	const changed = onRouterEvent(router, event);
	return { ...state, routers: state.routers.map((one) => (one === router ? changed : one)) };
}

/** Applies one event. Events of unknown servers are ignored. */
export function reduce(state: State, event: StreamEvent): State {
	if ('speaker' in event) return reduceSpeaker(state, event);
	if ('router' in event) return reduceRouter(state, event);
	const server = state.servers.find((one) => one.name === event.server);
	if (!server) return state;
	const changed = onEvent(server, event) as ServerView | undefined;
	if (!changed || changed === server) return state; // a newer dashboard may send types that are not known here
	return { ...state, servers: state.servers.map((one) => (one === server ? changed : one)) };
}

/** The reason of a transition; for the newest one the last probe may give it. */
export function reasonOf(backend: Backend, index: number): string {
	const change = backend.transitions[index];
	return change?.reason || (index === 0 && change?.to === 'down' ? backend.last_reason : '');
}

export interface Change extends Transition {
	server: string;
	backend: string;
}

interface Latest {
	at: number;
	server: string;
	backend: Backend;
	index: number;
}

/** Puts it in its place among the newest; false if it is older than all of them. */
function insert(found: Latest[], one: Latest, most: number): boolean {
	if (found.length === most && one.at <= (found.at(-1)?.at ?? 0)) return false;
	const after = found.findIndex((other) => other.at < one.at);
	found.splice(after < 0 ? found.length : after, 0, one);
	if (found.length > most) found.pop();
	return true;
}

/** The last transitions of all backends, newest first. Those of a backend are in that order already. */
export function recentChanges(servers: ServerView[], most: number): Change[] {
	const found: Latest[] = [];
	for (const { name: server, backends } of servers)
		for (const backend of backends)
			backend.transitions.every(({ at }, index) =>
				insert(found, { at: num(at), server, backend, index }, most),
			);
	return found.map(({ server, backend, index }) => ({
		...(backend.transitions[index] as Transition),
		reason: reasonOf(backend, index),
		server,
		backend: backend.name,
	}));
}

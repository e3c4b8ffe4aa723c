// SPDX-License-Identifier: Apache-2.0
// The only place where data of the server becomes data of the page. Events are collected for a moment
// and applied together, in slices of time. All objects are replaced when they change and are the same otherwise, so
// pages compare them by identity.
import { batch, createSignal, untrack } from 'solid-js';
import { nextTask, SLICE_MS } from './api/pieces.ts';
import { type Link, openStream } from './api/stream.ts';
import type { Snapshot, StreamEvent } from './api/types.ts';
import { type Announcers, announcersOf } from './model/announcements.ts';
import { append, EMPTY_LOG, type Line, type Log, lineOfChange, linesOf } from './model/events.ts';
import { ms, num } from './model/format.ts';
import { type Health, healthOf, type ServerHealth, sameHealth } from './model/health.ts';
import {
	interrupt,
	latencyKey,
	newRing,
	prepend,
	push,
	type Ring,
	ratesOf,
} from './model/series.ts';
import { cutOff, knownOf, knownRouterOf, knownSpeakerOf } from './model/stale.ts';
import {
	EMPTY,
	fromSnapshot,
	type RouterView,
	recentChanges,
	reduce,
	type ServerView,
	type SpeakerView,
	type State,
} from './model/state.ts';

const GATHER_MS = 60;
/** What goes over all items of all servers (causes, totals, lists in order) is computed this often, at most. */
const PACE_MS = 250;
/** Number of transitions from before the page was opened that are shown among the events. */
const EARLIER = 200;
/** An update for another reason repeats the last probe, which must not be counted twice. */
const SAME_PROBE_S = 0.02;

let current: State = EMPTY;
let queue: StreamEvent[] = [];
let gathering = 0;
let skew = 0;
let lineNumber = 0;
const rings = new Map<string, Ring>();
let pacing = 0;
let pacedAt = 0;
/** When (ms) the contact with maglevd-frontend was lost; 0: there is contact. */
let cutAt = 0;

const [servers, setServers] = createSignal<ServerView[]>([]);
const [paced, setPaced] = createSignal<ServerView[]>([]);
const [speakers, setSpeakers] = createSignal<SpeakerView[]>([]);
const [routers, setRouters] = createSignal<RouterView[]>([]);
const [announcers, setAnnouncers] = createSignal<Announcers>(new Map());
const [health, setHealth] = createSignal<ReadonlyMap<string, ServerHealth>>(new Map());
const [link, setLink] = createSignal<{ link: Link; error: string }>({
	link: 'connecting',
	error: '',
});
const [log, setLog] = createSignal<Log>(EMPTY_LOG);
const [now, setNow] = createSignal(Date.now());
const [drawn, setDrawn] = createSignal(0);
const [loaded, setLoaded] = createSignal(false);

/** Rows find their items by name, and stay while these are replaced: see Each in view/rows.tsx. */
export { announcers, drawn, link, loaded, log, now, routers, speakers };
export const allServers = servers;
/** The same, a little later and not as often. */
export const pacedServers = paced;
export const serverNamed = (name: string): ServerView | undefined =>
	servers().find((one) => one.name === name);

const UNKNOWN: Health = { verdict: 'unknown', notes: [] };
const NO_HEALTH: ServerHealth = { verdict: 'unknown', problems: [], frontends: {} };
export const serverHealth = (server: string): ServerHealth => health().get(server) ?? NO_HEALTH;
export const frontendHealth = (server: string, frontend: string): Health =>
	serverHealth(server).frontends[frontend] ?? UNKNOWN;

/** The points of one chart; read drawn() to be notified of changes. */
export const ringOf = (key: string): Ring | undefined => rings.get(key);

/** Puts what maglevd has recorded in front of what the page was told. */
export function addPast(past: Map<string, Ring>): void {
	for (const [key, ring] of past) prepend(ringFor(key, ring.values.length), ring);
	setDrawn((count) => count + 1);
}

function ringFor(key: string, lines: number): Ring {
	const ring = rings.get(key) ?? newRing(lines);
	rings.set(key, ring);
	return ring;
}

/** Points of latency. A failed probe is a gap: its duration is only how long maglevd waited. */
function pointsOfBackends(server: string, backends: ServerView['backends']): void {
	for (const one of backends) {
		if (num(one.last_probe) === 0) continue;
		const value = one.last_reason ? null : num(one.last_duration) / 1e6;
		const ring = ringFor(latencyKey(server, one.name), 1);
		push(ring, ms(one.last_probe) / 1000, [value], SAME_PROBE_S);
	}
}

const serverIn = (state: State, name: string): ServerView | undefined =>
	state.servers.find((one) => one.name === name);

/** before: the state before the event was applied. */
function pointsOf(event: StreamEvent, before: State): void {
	if (!('server' in event)) return;
	if ((event.type === 'refresh' || event.type === 'update') && event.payload.backends) {
		const told = new Set(event.payload.backends.map((one) => one.name));
		const backends = serverIn(current, event.server)?.backends ?? [];
		pointsOfBackends(
			event.server,
			backends.filter((one) => told.has(one.name)),
		);
	} else if (event.type === 'server' && !event.payload.connected) {
		interrupt(rings, event.server, ms(event.at_ns) / 1000);
	} else if (event.type === 'counters') {
		const counters = serverIn(before, event.server)?.counters ?? null;
		for (const { key, at, values } of ratesOf(event.server, counters, event.payload))
			push(ringFor(key, values.length), at, values);
	}
}

/** What was found about each server. */
const found = new WeakMap<ServerView, ServerHealth>();

/** The same object as before if nothing differs; differences of the data plane grow old without an event. */
function judged(server: ServerView, old: ServerHealth | undefined, at: number): ServerHealth {
	const known = Object.keys(server.drift).length === 0 ? found.get(server) : undefined;
	if (known && known === old) return old;
	const fresh = known ?? healthOf(server, at);
	const result = old && sameHealth(old, fresh) ? old : fresh;
	found.set(server, result);
	return result;
}

/** The health of all servers and frontends, which depends on the state and on the time. */
function judge(): void {
	const before = untrack(health);
	const at = untrack(now);
	const after = new Map(
		untrack(servers).map((server) => [server.name, judged(server, before.get(server.name), at)]),
	);
	const same = after.size === before.size && [...after].every(([k, v]) => before.get(k) === v);
	if (!same) setHealth(after);
}

/** Without contact, to a server or to all of them, nothing is known of its state. */
const known = (): ServerView[] =>
	(cutAt ? cutOff(current.servers, cutAt) : current.servers).map(knownOf);

const knownSpeakers = (): SpeakerView[] =>
	(cutAt ? cutOff(current.speakers, cutAt) : current.speakers).map(knownSpeakerOf);

const knownRouters = (): RouterView[] =>
	(cutAt ? cutOff(current.routers, cutAt) : current.routers).map(knownRouterOf);

/** The last servers are passed on in a task of their own. */
function pace(): void {
	if (pacing) return;
	const wait = Math.max(0, pacedAt + PACE_MS - Date.now());
	pacing = window.setTimeout(() => {
		pacing = 0;
		pacedAt = Date.now();
		setPaced(untrack(servers));
	}, wait);
}

const isSame = <T>(a: T[], b: T[]): boolean =>
	a.length === b.length && a.every((one, index) => one === b[index]);

function showSpeakers(): void {
	const before = untrack(speakers);
	const after = knownSpeakers();
	if (isSame(before, after)) return;
	setSpeakers(after);
	setAnnouncers(announcersOf(after));
}

function showRouters(): void {
	const before = untrack(routers);
	const after = knownRouters();
	if (isSame(before, after)) return;
	setRouters(after);
}

function show(): void {
	const after = known();
	if (!isSame(untrack(servers), after)) setServers(after);
	showSpeakers();
	showRouters();
	judge();
	pace();
	setDrawn((count) => count + 1);
}

/** Applies an event, and returns what it adds to the log. */
function take(event: StreamEvent): Line[] {
	const before = current;
	current = reduce(before, event);
	pointsOf(event, before);
	const told = linesOf(event, lineNumber, {
		speaker:
			'speaker' in event ? before.speakers.find((one) => one.name === event.speaker) : undefined,
		router: 'router' in event ? before.routers.find((one) => one.name === event.router) : undefined,
	});
	lineNumber += told.length;
	return told;
}

/** What does not fit into a slice of time is taken in the next task. */
function takeQueue(): void {
	const end = performance.now() + SLICE_MS;
	const lines: Line[] = [];
	let taken = 0;
	while (taken < queue.length && (taken === 0 || performance.now() < end))
		lines.push(...take(queue[taken++] as StreamEvent));
	queue = queue.slice(taken);
	gathering = queue.length > 0 ? window.setTimeout(takeQueue, 0) : 0;
	batch(() => {
		show();
		if (lines.length > 0) setLog((before) => append(before, lines));
	});
}

async function onSnapshot(snapshot: Snapshot, behind: number): Promise<void> {
	skew = behind;
	const last = queue.flatMap(take); // older than the snapshot, but part of the log
	queue = [];
	await nextTask();
	current = fromSnapshot(snapshot, current);
	for (const server of current.servers) {
		await nextTask();
		pointsOfBackends(server.name, server.backends);
	}
	for (const server of known()) {
		await nextTask();
		judged(server, undefined, Date.now() + skew);
	}
	await nextTask();
	const earlier = loaded() ? [] : recentChanges(current.servers, EARLIER).reverse();
	batch(() => {
		setNow(Date.now() + skew);
		show();
		setLog((lines) =>
			append(lines, [...last, ...earlier.map((one) => lineOfChange(one, lineNumber++))]),
		);
	});
	await nextTask();
	batch(() => {
		setPaced(untrack(servers));
		setLoaded(true);
	});
}

function onEvents(events: StreamEvent[]): void {
	queue.push(...events);
	if (!gathering && queue.length > 0) gathering = window.setTimeout(takeQueue, GATHER_MS);
}

/** Starts to follow the servers; returns a function that stops it. */
export function follow(): () => void {
	const clock = window.setInterval(() => {
		setNow(Date.now() + skew);
		judge();
	}, 1000);
	const close = openStream({
		onLink: (state, error) => {
			setLink({ link: state, error });
			const lost = state === 'lost' ? cutAt || now() : 0;
			if (lost === cutAt) return;
			cutAt = lost;
			batch(show);
		},
		onSnapshot,
		onEvents,
	});
	return () => {
		window.clearInterval(clock);
		window.clearTimeout(gathering);
		window.clearTimeout(pacing);
		close();
	};
}

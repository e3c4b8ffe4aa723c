// SPDX-License-Identifier: Apache-2.0
// The only place where data of the server becomes data of the page. Events are collected for a moment
// and applied together; reconcile() then updates only what differs.
import { batch, createSignal, untrack } from 'solid-js';
import { createStore, reconcile } from 'solid-js/store';
import { type Link, openStream } from './api/stream.ts';
import type { Snapshot, StreamEvent } from './api/types.ts';
import { type Announcers, announcersOf } from './model/announcements.ts';
import { append, EMPTY_LOG, type Line, type Log, lineOfChange, linesOf } from './model/events.ts';
import { ms, num } from './model/format.ts';
import { type Health, healthOf, type ServerHealth } from './model/health.ts';
import { patchesOf, shownOf } from './model/patch.ts';
import { latencyKey, newRing, push, type Ring, ratesOf } from './model/series.ts';
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
let shown: ServerView[] = [];
/** The servers as this page may show them; see known(). */
let view: ServerView[] = [];
/** When (ms) the contact with maglevd-frontend was lost; 0: there is contact. */
let cutAt = 0;

const [servers, setServers] = createStore<{ list: ServerView[] }>({ list: [] });
const [speakers, setSpeakers] = createSignal<SpeakerView[]>([]);
const [routers, setRouters] = createSignal<RouterView[]>([]);
const [announcers, setAnnouncers] = createSignal<Announcers>(new Map());
const [health, setHealth] = createStore<Record<string, ServerHealth>>({});
const [link, setLink] = createSignal<{ link: Link; error: string }>({
	link: 'connecting',
	error: '',
});
const [log, setLog] = createSignal<Log>(EMPTY_LOG);
const [now, setNow] = createSignal(Date.now());
const [drawn, setDrawn] = createSignal(0);
const [loaded, setLoaded] = createSignal(false);

/** Speakers and routers are plain objects, which are replaced when they change; rows find theirs by name. */
export { announcers, drawn, link, loaded, log, now, routers, speakers };
export const allServers = (): ServerView[] => servers.list;
export const serverNamed = (name: string): ServerView | undefined =>
	servers.list.find((one) => one.name === name);

const UNKNOWN: Health = { verdict: 'unknown', notes: [] };
const NO_HEALTH: ServerHealth = { verdict: 'unknown', problems: [], frontends: {} };
export const serverHealth = (server: string): ServerHealth => health[server] ?? NO_HEALTH;
export const frontendHealth = (server: string, frontend: string): Health =>
	serverHealth(server).frontends[frontend] ?? UNKNOWN;

/**
 * The servers as plain objects, for code that goes over all of them: tracking each field by itself, as
 * allServers() does, would cost more than computing everything again.
 */
export const plainServers = (): ServerView[] => {
	drawn();
	return current.servers;
};

/** The points of one chart; read drawn() to be notified of changes. */
export const ringOf = (key: string): Ring | undefined => rings.get(key);

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
	} else if (event.type === 'counters') {
		const counters = serverIn(before, event.server)?.counters ?? null;
		for (const { key, at, values } of ratesOf(event.server, counters, event.payload))
			push(ringFor(key, values.length), at, values);
	}
}

/** The health of all servers and frontends, which depends on the state and on the time. */
function judge(): void {
	for (const server of view)
		setHealth(server.name, reconcile(healthOf(server, now()), { merge: true }));
}

/** Without contact, to a server or to all of them, nothing is known of its state. */
const known = (): ServerView[] =>
	(cutAt ? cutOff(current.servers, cutAt) : current.servers).map(knownOf);

const knownSpeakers = (): SpeakerView[] =>
	(cutAt ? cutOff(current.speakers, cutAt) : current.speakers).map(knownSpeakerOf);

const knownRouters = (): RouterView[] =>
	(cutAt ? cutOff(current.routers, cutAt) : current.routers).map(knownRouterOf);

/** reconcile() modifies the objects it was given before, so it gets copies, of the changed parts only. */
function patch(index: number, before: ServerView, after: ServerView): void {
	const set = setServers as (...path: unknown[]) => void;
	for (const { path, value } of patchesOf(before, after))
		set('list', index, ...path, reconcile(structuredClone(value), { key: 'name' }));
}

function showSpeakers(): void {
	const before = untrack(speakers);
	const after = knownSpeakers();
	if (after.length === before.length && after.every((one, index) => one === before[index])) return;
	setSpeakers(after);
	setAnnouncers(announcersOf(after));
}

function showRouters(): void {
	const before = untrack(routers);
	const after = knownRouters();
	if (after.length === before.length && after.every((one, index) => one === before[index])) return;
	setRouters(after);
}

function show(): void {
	const names = (list: ServerView[]) => list.map((one) => one.name).join('\n');
	view = known();
	if (names(shown) !== names(view)) {
		setServers('list', structuredClone(view.map(shownOf)));
	} else {
		view.forEach((server, index) => {
			patch(index, shown[index] as ServerView, server);
		});
	}
	shown = view;
	showSpeakers();
	showRouters();
	judge();
	setDrawn((count) => count + 1);
}

function takeQueue(): void {
	gathering = 0;
	const lines: Line[] = [];
	for (const event of queue) {
		const before = current;
		current = reduce(before, event);
		pointsOf(event, before);
		const told = linesOf(event, lineNumber, {
			speaker:
				'speaker' in event ? before.speakers.find((one) => one.name === event.speaker) : undefined,
			router:
				'router' in event ? before.routers.find((one) => one.name === event.router) : undefined,
		});
		lineNumber += told.length;
		lines.push(...told);
	}
	queue = [];
	batch(() => {
		show();
		if (lines.length > 0) setLog((before) => append(before, lines));
	});
}

function onSnapshot(snapshot: Snapshot, behind: number): void {
	skew = behind;
	current = fromSnapshot(snapshot, current);
	for (const server of current.servers) pointsOfBackends(server.name, server.backends);
	const before = loaded() ? [] : recentChanges(current.servers, EARLIER).reverse();
	batch(() => {
		setNow(Date.now() + skew);
		show();
		setLog((lines) =>
			append(
				lines,
				before.map((one) => lineOfChange(one, lineNumber++)),
			),
		);
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
		close();
	};
}

// SPDX-License-Identifier: Apache-2.0
// Events as lines of text: created, kept in bounded rings, filtered. Pure except for the ring.
import type {
	BackendPayload,
	FrontendPayload,
	LogPayload,
	RouterEvent,
	ServerEvent,
	SpeakerEvent,
	SpeakerUpdate,
	StreamEvent,
} from '../api/types.ts';
import { ms } from './format.ts';
import type { Change, RouterView, SpeakerView } from './state.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];
export const FAMILIES = ['backend', 'frontend', 'announcement', 'server', 'log'] as const;
export type Family = (typeof FAMILIES)[number];

export interface Line {
	id: number;
	at: number;
	server: string;
	family: Family;
	level: Level;
	subject: string;
	text: string;
	/** The new state, as an icon; empty: none. */
	to: string;
}

/** There is a debug line for every probe: these have their own ring, so that they do not push the rest out. */
export const KEPT = 2000;
export const KEPT_DEBUG = 500;

export interface Filter {
	level: Level;
	families: Family[];
	server: string;
	search: string;
}

const isLevel = (word: string): word is Level => (LEVELS as readonly string[]).includes(word);

/** The level of an event that enters this state. */
const gravity = (to: string): Level => (to === 'down' ? 'warn' : 'info');

const attributes = (log: LogPayload): string =>
	Object.entries(log.attrs ?? {})
		.map(([name, value]) => `${name}=${value}`)
		.join(' ');

/** Log lines that are left out because an event of a backend or server says the same. */
const TOLD_ELSEWHERE = ['backend-transition'];

type Told = Pick<Line, 'family' | 'level' | 'subject' | 'text' | 'to'>;

function tellLog(log: LogPayload): Told | null {
	if (TOLD_ELSEWHERE.includes(log.msg)) return null;
	const level = isLevel(log.level) ? log.level : 'info';
	return { family: 'log', level, subject: log.msg, text: attributes(log), to: '' };
}

type Moved = Pick<BackendPayload, 'backend' | 'from' | 'to' | 'code' | 'reason'>;

function tellMove({ backend, from, to, code, reason }: Moved): Told {
	const text = [`${from} → ${to}`, code, reason].filter(Boolean).join(' · ');
	return { family: 'backend', level: gravity(to), subject: backend, text, to };
}

function tellFrontend(event: FrontendPayload): Told | null {
	if (event.replay) return null;
	const { frontend, from, to } = event;
	const level = to === 'down' ? 'error' : 'info';
	return { family: 'frontend', level, subject: frontend, text: `${from} → ${to}`, to };
}

function tellServer(subject: string, connected: boolean, error: string): Told {
	if (connected) return { family: 'server', level: 'info', subject, text: 'connected', to: 'up' };
	const text = `no contact${error ? `: ${error}` : ''}`;
	return { family: 'server', level: 'error', subject, text, to: 'down' };
}

function tell(event: ServerEvent): Told | null {
	switch (event.type) {
		case 'log':
			return tellLog(event.payload);
		case 'backend':
			return event.payload.replay ? null : tellMove(event.payload);
		case 'frontend':
			return tellFrontend(event.payload);
		case 'server':
			return tellServer(event.server, event.payload.connected, event.payload.error);
		case 'config': // these two have a line in the log
		case 'dataplane':
		case 'refresh':
		case 'update':
		case 'lb':
		case 'counters':
		case 'resync':
			return null;
	}
}

const tellAnnouncements = (update: SpeakerUpdate, before: SpeakerView): Told[] => {
	const known = new Map(before.announcements.map((one) => [one.vip, one]));
	return (update.announcements ?? []).flatMap((one) => {
		const from = known.get(one.vip);
		if (!from || !one.state || one.state === from.state) return [];
		const culprit = one.culprit ?? from.culprit;
		const text = [`${from.state} → ${one.state}`, one.reason ?? from.reason, culprit];
		const to = one.state === 'withdrawn' ? 'down' : one.state === 'announced' ? 'up' : 'paused';
		return [
			{
				family: 'announcement' as const,
				level: gravity(to),
				subject: one.vip,
				text: text.filter(Boolean).join(' · '),
				to,
			},
		];
	});
};

const tellSessions = (update: SpeakerUpdate, before: SpeakerView): Told[] => {
	const known = new Map(before.sessions.map((one) => [one.peer, one]));
	return (update.sessions ?? []).flatMap((one) => {
		const from = known.get(one.peer);
		if (!from || typeof one.up !== 'boolean' || one.up === from.up) return [];
		const to = one.up ? 'up' : 'down';
		const why = one.up ? '' : (one.last_error ?? from.last_error);
		return [
			{
				family: 'announcement' as const,
				level: gravity(to),
				subject: one.peer,
				text: `session ${to}${why ? ` · ${why}` : ''}`,
				to,
			},
		];
	});
};

/** before: the speaker before the event. */
function tellSpeaker(event: SpeakerEvent, before: SpeakerView | undefined): Told[] {
	if (event.type === 'speaker')
		return [tellServer(event.speaker, event.payload.connected, event.payload.error)];
	if (event.type !== 'update' || !before) return [];
	return [...tellAnnouncements(event.payload, before), ...tellSessions(event.payload, before)];
}

/** before: the router before the event. */
function tellRouter(event: RouterEvent, before: RouterView | undefined): Told[] {
	if (event.type === 'router')
		return [tellServer(event.router, event.payload.connected, event.payload.error)];
	const info = event.type === 'update' ? event.payload.info : null;
	if (!info || !before?.info || info.generation === before.info.generation) return [];
	return [
		{
			family: 'server',
			level: 'info',
			subject: event.router,
			text: `generation ${info.generation} is in force, from ${info.source}`,
			to: '',
		},
	];
}

export interface Before {
	speaker?: SpeakerView | undefined;
	router?: RouterView | undefined;
}

/** The lines of an event; none for events that only carry state. before: its speaker or router before it. */
export function linesOf(event: StreamEvent, id: number, before: Before = {}): Line[] {
	const at = ms(event.at_ns);
	if ('router' in event)
		return tellRouter(event, before.router).map((told, index) => ({
			id: id + index,
			at,
			server: event.router,
			...told,
		}));
	if ('speaker' in event)
		return tellSpeaker(event, before.speaker).map((told, index) => ({
			id: id + index,
			at,
			server: event.speaker,
			...told,
		}));
	const told = tell(event);
	return told ? [{ id, at, server: event.server, ...told }] : [];
}

/** The line of a transition from before the page was opened. */
export const lineOfChange = (change: Change, id: number): Line => ({
	id,
	at: ms(change.at),
	server: change.server,
	...tellMove({ ...change, reason: change.reason ?? '' }),
});

/** The event of a backend arrives once per frontend that uses it: equal lines are shown once. */
const repeats = (lines: Line[], line: Line): boolean =>
	line.family !== 'log' &&
	lines
		.slice(-20)
		.some(
			(one) =>
				one.at === line.at &&
				one.family === line.family &&
				one.server === line.server &&
				one.subject === line.subject &&
				one.text === line.text,
		);

const bounded = (lines: Line[], most: number): Line[] =>
	lines.length > most * 1.1 ? lines.slice(-most) : lines;

export interface Log {
	lines: Line[];
	debug: Line[];
}

export const EMPTY_LOG: Log = { lines: [], debug: [] };

export function append(log: Log, fresh: Line[]): Log {
	const lines = [...log.lines];
	const debug = [...log.debug];
	for (const line of fresh) {
		const ring = line.level === 'debug' ? debug : lines;
		if (!repeats(ring, line)) ring.push(line);
	}
	return { lines: bounded(lines, KEPT), debug: bounded(debug, KEPT_DEBUG) };
}

/** The lines that match the filter, oldest first. */
export function select(log: Log, filter: Filter): Line[] {
	const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
	const least = LEVELS.indexOf(filter.level);
	const all = least === 0 ? merge(log.lines, log.debug) : log.lines;
	return all.filter((line) => {
		if (LEVELS.indexOf(line.level) < least || !filter.families.includes(line.family)) return false;
		if (filter.server && line.server !== filter.server) return false;
		const text = `${line.server} ${line.subject} ${line.text} ${line.level}`.toLowerCase();
		return words.every((word) => text.includes(word));
	});
}

function merge(a: Line[], b: Line[]): Line[] {
	return [...a, ...b].sort((one, other) => one.id - other.id);
}

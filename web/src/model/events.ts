// SPDX-License-Identifier: Apache-2.0
// Events as lines of text: created, kept in bounded rings, filtered. Pure except for the ring.
import type { BackendPayload, FrontendPayload, LogPayload, StreamEvent } from '../api/types.ts';
import { ms } from './format.ts';
import type { Change } from './state.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];
export const FAMILIES = ['backend', 'frontend', 'server', 'log'] as const;
export type Family = (typeof FAMILIES)[number];

export interface Line {
	id: number;
	at: number;
	server: string;
	family: Family;
	level: Level;
	subject: string;
	text: string;
	/** The new state, for events of backends and frontends. */
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

function tell(event: StreamEvent): Told | null {
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

/** The line of an event; null for events that only carry state. */
export function lineOf(event: StreamEvent, id: number): Line | null {
	const told = tell(event);
	return told && { id, at: ms(event.at_ns), server: event.server, ...told };
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

// SPDX-License-Identifier: Apache-2.0
// One act on many backends, on several servers: what is asked of each server, and the sum of what they answer. Pure.
import type { Act } from '../api/client.ts';
import type { ActAnswer, FrontendConsequence } from '../api/types.ts';
import { plural } from './format.ts';
import type { ServerView } from './state.ts';

/** All backends with an address, on every server that has one, or backends one by one. */
export type Selection = { address: string } | { picked: { server: string; backend: string }[] };

/** What one server is asked to act on: an address, or patterns of names. */
export interface Part {
	server: string;
	address?: string;
	names?: string[];
	/** How many backends it concerns. */
	count: number;
}

/** Patterns in one request, as maglevd takes them. */
export const MOST = 64;

/** A name as a pattern that matches only this name. */
export const patternOf = (name: string): string => name.replace(/[*?[\\]/g, '[$&]');

const chunks = <T>(items: T[], size: number): T[][] =>
	Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
		items.slice(index * size, (index + 1) * size),
	);

/** In the order of the servers; without those that have no contact. */
export function partsOf(selection: Selection, servers: ServerView[]): Part[] {
	const reached = servers.filter((one) => one.connected);
	if ('address' in selection) {
		const { address } = selection;
		return reached.flatMap((server) => {
			const count = server.backends.filter((one) => one.address === address).length;
			return count ? [{ server: server.name, address, count }] : [];
		});
	}
	return reached.flatMap((server) => {
		const there = new Set(server.backends.map((one) => one.name));
		const names = selection.picked
			.filter((one) => one.server === server.name && there.has(one.backend))
			.map((one) => patternOf(one.backend));
		return chunks(names, MOST).map((some) => ({
			server: server.name,
			names: some,
			count: some.length,
		}));
	});
}

/** Servers with a part of the selection that cannot be asked now. */
export function unreachedOf(selection: Selection, servers: ServerView[]): string[] {
	return servers
		.filter((one) => !one.connected)
		.filter((one) =>
			'address' in selection
				? one.backends.some((it) => it.address === selection.address)
				: selection.picked.some((it) => it.server === one.name),
		)
		.map((one) => one.name);
}

export const titleOf = (selection: Selection, parts: Part[]): string => {
	const servers = new Set(parts.map((one) => one.server));
	const count = parts.reduce((sum, one) => sum + one.count, 0);
	const where = servers.size === 1 ? [...servers][0] : plural(servers.size, 'server');
	const what = plural(count, 'backend');
	return 'address' in selection
		? `host ${selection.address}: ${what} on ${where}`
		: `${what} on ${where}`;
};

export interface Answered {
	part: Part;
	answer: ActAnswer;
}

export interface Effect {
	kind: string;
	/** "2 frontends lose their last server" */
	title: string;
	/** "www on lb1: pool primary, 0 of 4 servers", the first few. */
	lines: string[];
	left: number;
}

export interface Sum {
	effects: Effect[];
	/** A frontend loses its last server. */
	fatal: boolean;
	/** Frontends that keep all their servers. */
	unaffected: number;
	/** Backends that are already as they should be. */
	unchanged: number;
	changed: number;
}

/** Worst first; the words after a number of frontends. */
const KINDS: [kind: string, one: string, many: string][] = [
	['down', 'loses its last server: it goes down', 'lose their last server: they go down'],
	['failover', 'moves to another pool', 'move to another pool'],
	['fewer', 'keeps some of its servers', 'keep some of their servers'],
	['more', 'gains servers', 'gain servers'],
];

/** Frontends of a kind that are named. */
const NAMED = 8;

const lineOf = (server: string, one: FrontendConsequence): string => {
	const where = `${one.frontend} on ${server}`;
	if (one.kind === 'down') return `${where}: nobody is left`;
	const keeps = `${one.servers_after} of ${plural(one.members, 'server')}`;
	return one.kind === 'failover'
		? `${where}: pool ${one.pool_after} takes over from ${one.pool_before || 'none'}, ${keeps}`
		: `${where}: pool ${one.pool_after} keeps ${keeps}`;
};

export function sumOf(answers: Answered[]): Sum {
	const all = answers.flatMap(({ part, answer }) =>
		answer.frontends.map((one) => ({ kind: one.kind, line: lineOf(part.server, one) })),
	);
	const effects = KINDS.flatMap(([kind, one, many]) => {
		const lines = all.filter((it) => it.kind === kind).map((it) => it.line);
		if (lines.length === 0) return [];
		const title = `${plural(lines.length, 'frontend')} ${lines.length === 1 ? one : many}`;
		return [{ kind, title, lines: lines.slice(0, NAMED), left: Math.max(0, lines.length - NAMED) }];
	});
	const backends = answers.flatMap(({ answer }) => answer.backends);
	const changed = backends.filter((one) => one.before !== one.after).length;
	return {
		effects,
		fatal: effects.some((one) => one.kind === 'down'),
		unaffected: answers.reduce((total, { answer }) => total + answer.unaffected, 0),
		unchanged: backends.length - changed,
		changed,
	};
}

/** "Paused 6 backends on lb1, lb2" */
const DONE: Record<Act, string> = {
	pause: 'Paused',
	resume: 'Resumed',
	enable: 'Enabled',
	disable: 'Disabled',
};

export const doneText = (act: Act, answers: Answered[]): string => {
	const servers = [...new Set(answers.map(({ part }) => part.server))].join(', ');
	const count = answers.reduce((sum, { answer }) => sum + answer.backends.length, 0);
	return `${DONE[act]} ${plural(count, 'backend')} on ${servers}`;
};

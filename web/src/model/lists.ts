// SPDX-License-Identifier: Apache-2.0
// The lists of all frontends and of all backends: filter and order. Pure.
import type { Backend, Frontend } from '../api/types.ts';
import { num, vipText } from './format.ts';
import { type Health, type ServerHealth, VERDICTS, type Verdict } from './health.ts';
import type { ServerView } from './state.ts';

export interface FrontendEntry {
	server: ServerView;
	it: Frontend;
	health: Health;
}

export interface BackendEntry {
	server: ServerView;
	it: Backend;
}

export const keyOf = ({ server, it }: FrontendEntry | BackendEntry): string =>
	`${server.name}\n${it.name}`;

const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Every word must be in one of the texts. */
const fits = (words: string[], texts: string[]): boolean => {
	if (words.length === 0) return true;
	const text = texts.join(' ').toLowerCase();
	return words.every((word) => text.includes(word));
};

const UNKNOWN: Health = { verdict: 'unknown', notes: [] };

export const FRONTEND_ORDERS = ['state', 'name', 'address', 'since'] as const;
export type FrontendOrder = (typeof FRONTEND_ORDERS)[number];

const byText = (a: string, b: string): number => a.localeCompare(b, undefined, { numeric: true });

/** Equal ones stay in the order of the configuration. */
const ORDERS: Record<FrontendOrder, (a: FrontendEntry, b: FrontendEntry) => number> = {
	state: (a, b) => VERDICTS.indexOf(a.health.verdict) - VERDICTS.indexOf(b.health.verdict),
	name: (a, b) => byText(a.it.name, b.it.name),
	address: (a, b) => byText(a.it.address, b.it.address) || a.it.port - b.it.port,
	since: (a, b) => num(b.it.since) - num(a.it.since),
};

const textsOf = ({ server, it, health }: FrontendEntry): string[] => [
	it.name,
	vipText(it),
	it.state,
	health.verdict,
	it.description,
	it.active_pool,
	server.name,
	...it.pools.flatMap((pool) => pool.backends.map((one) => one.name)),
];

export interface FrontendQuery {
	filter: string;
	/** Empty: all. */
	verdict: Verdict | '';
	order: FrontendOrder;
}

export function frontendsOf(
	servers: ServerView[],
	judge: (server: string) => ServerHealth,
	query: FrontendQuery,
): FrontendEntry[] {
	const words = wordsOf(query.filter);
	return servers
		.flatMap((server) => {
			const { frontends } = judge(server.name);
			return server.frontends.map((it) => ({ server, it, health: frontends[it.name] ?? UNKNOWN }));
		})
		.filter(
			(one) =>
				(!query.verdict || one.health.verdict === query.verdict) &&
				(words.length === 0 || fits(words, textsOf(one))),
		)
		.sort(ORDERS[query.order]);
}

const STATES = ['down', 'unknown', 'paused', 'disabled', 'up'];

/** Those with problems first. */
export function backendsOf(servers: ServerView[], filter: string): BackendEntry[] {
	const words = wordsOf(filter);
	return servers
		.flatMap((server) =>
			server.backends
				.filter(
					(it) =>
						words.length === 0 ||
						fits(words, [
							it.name,
							it.address,
							it.state,
							it.last_code,
							it.healthcheck,
							server.name,
							...it.frontends,
						]),
				)
				.map((it) => ({ server, it, rank: STATES.indexOf(it.state) })),
		)
		.sort((a, b) => a.rank - b.rank);
}

// SPDX-License-Identifier: Apache-2.0
// What operators did on purpose: backends that are paused or disabled, weights set by hand. It is shown apart
// from faults, also where it takes a frontend down. Pure.
import type { Backend, Int64, Override } from '../api/types.ts';
import type { Affected, Cause } from './causes.ts';
import { ms, num, plural, span } from './format.ts';
import { type ServerHealth, worst } from './health.ts';
import type { ServerView } from './state.ts';

type Judge = (server: string) => ServerHealth;

const HELD = ['paused', 'disabled'];

/** "by alice from 192.0.2.7", as far as it is known; "by hand" if nothing is. */
export function whoOf(deed: { operator?: string; operator_address?: string }): string {
	const from = deed.operator_address ? `from ${deed.operator_address}` : '';
	if (deed.operator) return `by ${deed.operator} ${from}`.trim();
	return from || 'by hand';
}

/** "paused by alice from 192.0.2.7" */
export const deedOf = (override: Override): string => `${override.act} ${whoOf(override)}`;

/** "pause in 2h for 30m by alice: new disk", of one that begins later. now is in ms. */
export function scheduleOf(override: Override, now: number): string {
	const begin = ms(override.from);
	const lasts = num(override.until) > 0 ? ` for ${span(ms(override.until) - begin)}` : '';
	const when = begin > now ? `in ${span(begin - now)}` : 'now';
	const reason = override.reason ? `: ${override.reason}` : '';
	return `will be ${override.act} ${when}${lasts} ${whoOf(override)}${reason}`;
}

/** How long an act on a maglevd lasts, for the question before it; kept: as maglevd says, if it does. */
export function lastingOf(act: string, kept: boolean | undefined): string {
	const end = act === 'pause' ? 'resumed' : 'enabled';
	return kept
		? `It holds until it is ${end}, and is kept over a restart of maglevd.`
		: `It holds until it is ${end}, or until maglevd restarts: then the configuration file rules again.`;
}

interface Deed {
	what: string;
	reason: string;
	items: { server: string; backend: Backend }[];
}

function deedsOf(servers: ServerView[]): Deed[] {
	const deeds = new Map<string, Deed>();
	for (const server of servers)
		for (const backend of server.backends) {
			if (!HELD.includes(backend.state)) continue;
			const { override } = backend;
			const what = override ? deedOf(override) : `${backend.state} by the configuration`;
			const reason = override?.reason ?? '';
			const key = `${what}\n${reason}`;
			const deed = deeds.get(key) ?? { what, reason, items: [] };
			deed.items.push({ server: server.name, backend });
			deeds.set(key, deed);
		}
	return [...deeds.values()];
}

/** Frontends that lost all servers or their first pool, and have one of these backends. */
function affectedBy(deed: Deed, judge: Judge): Affected[] {
	const found = new Map<string, Affected>();
	for (const { server, backend } of deed.items)
		for (const frontend of backend.frontends) {
			const verdict = judge(server).frontends[frontend]?.verdict;
			if (verdict === 'critical' || verdict === 'warning')
				found.set(`${server}\n${frontend}`, { server, frontend, verdict });
		}
	return [...found.values()];
}

const latest = (times: Int64[]): Int64 =>
	times.reduce<Int64>((last, one) => (num(one) > num(last) ? one : last), 0);

const names = (deed: Deed): string => {
	const all = [...new Set(deed.items.map(({ backend }) => backend.name))];
	const some = all.slice(0, 3).join(', ');
	return all.length > 3 ? `${some} and ${all.length - 3} more` : some;
};

const sumOf = (deed: Deed, affected: Affected[]): string => {
	const servers = new Set(deed.items.map((one) => one.server));
	const where = servers.size > 1 ? `on ${plural(servers.size, 'server')}` : `on ${[...servers][0]}`;
	const down = new Set(
		affected.filter((one) => one.verdict === 'critical').map((one) => one.frontend),
	);
	const moved = new Set(
		affected.filter((one) => one.verdict === 'warning').map((one) => one.frontend),
	);
	const effects = [
		down.size ? `${plural(down.size, 'frontend')} down` : '',
		moved.size ? `${plural(moved.size, 'frontend')} with a warning` : '',
	].filter(Boolean);
	return [`${names(deed)} ${where}`, ...effects].join(': ');
};

function causeOf(deed: Deed, judge: Judge): Cause {
	const affected = affectedBy(deed, judge);
	const count = new Set(deed.items.map(({ backend }) => backend.name)).size;
	const servers = [...new Set(deed.items.map((one) => one.server))];
	return {
		key: `operator ${deed.what} ${deed.reason}`,
		kind: 'operator',
		verdict: worst(affected.map((one) => one.verdict)),
		title: `${plural(count, 'backend')} ${deed.what}`,
		notes: deed.reason,
		sum: sumOf(deed, affected),
		since: latest(deed.items.map(({ backend }) => backend.since)),
		place: {
			scope: servers.length === 1 ? (servers[0] ?? '') : '',
			view: 'backends',
			filter: deed.items[0]?.backend.state ?? '',
		},
		affected,
	};
}

export const overridesOf = (servers: ServerView[], judge: Judge): Cause[] =>
	deedsOf(servers).map((one) => causeOf(one, judge));

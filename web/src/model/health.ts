// SPDX-License-Identifier: Apache-2.0
// The health of a frontend and of a server, as one word and a few sentences. Pure; now is a parameter.
import type { Frontend, LbState, PoolBackend } from '../api/types.ts';
import { type DifferenceRow, differences, isSettled, statusOf } from './dataplane.ts';
import { plural } from './format.ts';
import type { ServerView } from './state.ts';

/** From worst to best. An unknown state is shown, but does not raise an alarm. */
export const VERDICTS = ['critical', 'warning', 'degraded', 'unknown', 'ok'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Health {
	verdict: Verdict;
	notes: string[];
	/** Lasting differences between the data plane and the plan; absent: none. */
	drift?: number;
}

export const worst = (verdicts: Verdict[]): Verdict =>
	VERDICTS.find((one) => verdicts.includes(one)) ?? 'ok';

const distinct = (frontend: Frontend): PoolBackend[] => [
	...new Map(frontend.pools.flatMap((p) => p.backends).map((one) => [one.name, one])).values(),
];

export function countStates(states: string[]): Record<string, number> {
	const counts: Record<string, number> = {};
	for (const state of states) counts[state] = (counts[state] ?? 0) + 1;
	return counts;
}

/** States that an operator has set on purpose: mentioned, but not an alarm. */
function deeds(backends: PoolBackend[], counts: Record<string, number>): string[] {
	const notes = ['paused', 'disabled'].flatMap((s) => (counts[s] ? [`${counts[s]} ${s}`] : []));
	const mutated = backends.filter((one) => one.mutated).length;
	return mutated ? [...notes, `${plural(mutated, 'weight')} set by hand`] : notes;
}

/** Computed once for each state of the data plane. */
const compared = new WeakMap<LbState, DifferenceRow[]>();

function differencesOf(lb: LbState | null): DifferenceRow[] {
	if (!lb) return [];
	const known = compared.get(lb) ?? differences(lb);
	compared.set(lb, known);
	return known;
}

/** Number of lasting differences by frontend; '' for VIPs that belong to no frontend. */
function countDrift(server: ServerView, now: number): Map<string, number> {
	const counts = new Map<string, number>();
	for (const { key, frontend } of differencesOf(server.lb))
		if (isSettled(server.drift[key], now)) counts.set(frontend, (counts.get(frontend) ?? 0) + 1);
	return counts;
}

function unsettled(server: ServerView, frontend: Frontend): string | null {
	if (!server.connected) return 'no contact';
	if (frontend.pools.length === 0) return 'no pools';
	if (!frontend.released) return 'warming up';
	if (frontend.state === 'unknown') return 'not probed yet';
	return null;
}

function judgeFrontend(server: ServerView, frontend: Frontend, away: number): Health {
	const waiting = unsettled(server, frontend);
	if (waiting) return { verdict: 'unknown', notes: [waiting] };

	const backends = distinct(frontend);
	const counts = countStates(backends.map((one) => one.state));
	const notes = deeds(backends, counts);
	if (counts.down) notes.unshift(`${counts.down} of ${backends.length} down`);
	if (frontend.state === 'down') {
		return { verdict: 'critical', notes: ['no backend can serve', ...notes] };
	}
	const standby = frontend.active_pool !== frontend.pools[0]?.name;
	if (standby) notes.unshift(`on pool ${frontend.active_pool}`);
	if (away) notes.unshift(`${plural(away, 'difference')} in the data plane`);
	const verdict = away || standby ? 'warning' : counts.down ? 'degraded' : 'ok';
	return away ? { verdict, notes, drift: away } : { verdict, notes };
}

interface Judged {
	connected: boolean;
	away: number;
	health: Health;
}

/** A frontend is an object that is replaced when it changes, so its health is computed once for each. */
const judged = new WeakMap<Frontend, Judged>();

function healthOfFrontend(server: ServerView, frontend: Frontend, away: number): Health {
	const { connected } = server;
	const known = judged.get(frontend);
	if (known?.connected === connected && known.away === away) return known.health;
	const health = judgeFrontend(server, frontend, away);
	judged.set(frontend, { connected, away, health });
	return health;
}

function problemsOf(server: ServerView, strays: number): string[] {
	if (server.cut) return ['no contact with maglevd-frontend'];
	if (!server.connected) return [`no contact${server.error ? `: ${server.error}` : ''}`];
	const problems = server.error ? [server.error] : [];
	if (server.lb_error) problems.push(`data plane: ${server.lb_error}`);
	else if (server.lb && statusOf(server.lb) !== 'connected') {
		problems.push(`data plane ${server.lb.dataplane} is ${statusOf(server.lb)}`);
	}
	if (server.lb?.problem) problems.push(server.lb.problem);
	if (server.lb?.held) problems.push('the all-down guard holds the weights');
	if (strays)
		problems.push(`${plural(strays, 'entry', 'entries')} in the data plane that nobody asks for`);
	return problems;
}

export interface ServerHealth {
	/** The worst of the server and everything on it. */
	verdict: Verdict;
	/** Problems of the server itself; empty if there are none. */
	problems: string[];
	frontends: Record<string, Health>;
}

export function healthOf(server: ServerView, now: number): ServerHealth {
	const drift = countDrift(server, now);
	const problems = problemsOf(server, drift.get('') ?? 0);
	const frontends = Object.fromEntries(
		server.frontends.map((one) => [
			one.name,
			healthOfFrontend(server, one, drift.get(one.name) ?? 0),
		]),
	);
	if (!server.connected)
		return { verdict: server.cut ? 'unknown' : 'critical', problems, frontends };
	const own: Verdict = problems.length ? 'warning' : 'ok';
	const verdict = worst([own, ...Object.values(frontends).map((one) => one.verdict)]);
	return { verdict, problems, frontends };
}

/** Whether nothing differs; the health of a frontend is the same object while it is the same. */
export function sameHealth(a: ServerHealth, b: ServerHealth): boolean {
	const names = Object.keys(b.frontends);
	return (
		a.verdict === b.verdict &&
		a.problems.join('\n') === b.problems.join('\n') &&
		names.length === Object.keys(a.frontends).length &&
		names.every((name) => a.frontends[name] === b.frontends[name])
	);
}

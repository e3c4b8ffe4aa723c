// SPDX-License-Identifier: Apache-2.0
// Routers: the verdict of a route, what needs attention, and figures as text. Pure.
import type {
	RouterGeneration,
	RouterPool,
	RouterRoute,
	RouterRule,
	Traffic,
} from '../api/types.ts';
import { duration, num, scaled } from './format.ts';
import type { Verdict } from './health.ts';
import type { RouterView } from './state.ts';

/** A share of errors from which on a route needs attention. */
const MANY_ERRORS = 0.05;
/** Requests per second below which a few errors say little. */
const FEW_REQUESTS = 0.5;

export const rateText = (traffic: Traffic | undefined): string => {
	if (!traffic) return '–';
	if (traffic.rate < 0.05) return '0 /s';
	return traffic.rate < 10 ? `${traffic.rate.toFixed(1)} /s` : scaled(traffic.rate, '/s');
};

export const shareText = (share: number): string => {
	if (share <= 0) return '0 %';
	if (share < 0.001) return '<0.1 %';
	return share < 0.1 ? `${(share * 100).toFixed(1)} %` : `${Math.round(share * 100)} %`;
};

export const errorText = (traffic: Traffic | undefined): string =>
	traffic ? shareText(traffic.error_share) : '–';

export const latencyText = (ns: Traffic['p50'] | undefined): string =>
	num(ns) > 0 ? duration(num(ns)) : '–';

export const hasManyErrors = (traffic: Traffic | undefined): boolean =>
	traffic !== undefined && traffic.rate >= FEW_REQUESTS && traffic.error_share >= MANY_ERRORS;

export const hostsText = (route: RouterRoute): string => {
	if (route.fallback) return 'what no other route matches';
	return route.hosts.length > 0 ? route.hosts.join(', ') : 'every host';
};

/** Where a rule leads: its pools with their shares, or the redirect. */
export const targetText = (rule: RouterRule): string => {
	if (rule.redirect) return rule.redirect;
	if (rule.backends.length === 0) return 'answered with 500';
	return rule.backends
		.map((one) => {
			const name = one.pool || '500';
			return rule.backends.length === 1 ? name : `${name} ${shareText(one.share)}`;
		})
		.join(', ');
};

/** Where the rules of a route lead, each target once. */
export const targetsText = (route: RouterRoute): string =>
	[...new Set(route.rules.map(targetText))].join('; ');

/** Whether requests of the rule find no server at all. */
const isDead = (rule: RouterRule): boolean =>
	!rule.redirect && !rule.backends.some((one) => one.weight > 0 && one.usable > 0);

const isPartlyDead = (rule: RouterRule): boolean =>
	rule.backends.some((one) => one.weight > 0 && one.usable === 0);

/** A server that should get requests does not. One that an operator drains is no fault. */
const isReduced = (pool: RouterPool): boolean =>
	pool.servers.some((one) => one.weight > 0 && ['down', 'ejected', 'unknown'].includes(one.state));

export function verdictOf(router: RouterView, route: RouterRoute): Verdict {
	if (!router.connected) return 'unknown';
	if (route.rules.some(isDead)) return 'critical';
	if (route.rules.some(isPartlyDead) || hasManyErrors(route.traffic)) return 'warning';
	const used = new Set(route.rules.flatMap((rule) => rule.backends.map((one) => one.pool)));
	return router.pools.some((one) => used.has(one.name) && isReduced(one)) ? 'degraded' : 'ok';
}

export function verdictOfPool(router: RouterView, pool: RouterPool): Verdict {
	if (!router.connected) return 'unknown';
	if (pool.usable === 0) return pool.routes.length > 0 ? 'critical' : 'degraded';
	return isReduced(pool) ? 'degraded' : 'ok';
}

/** The icon of a server's state: those of backends. */
export const iconOf = (state: string): string => {
	if (state === 'ejected') return 'down';
	return state === 'draining' ? 'paused' : state;
};

/** Problems of the router itself. */
export function problemsOf(router: RouterView): string[] {
	if (router.cut) return ['no contact with maglevd-frontend'];
	if (!router.connected) return [`no contact${router.error ? `: ${router.error}` : ''}`];
	const { info } = router;
	return [
		router.error,
		info?.problem ?? '',
		info?.config_error ? `the file was refused: ${info.config_error}` : '',
	].filter(Boolean);
}

export interface RouterConcern {
	verdict: Verdict;
	title: string;
	notes: string;
	since: number | string;
}

/** What needs attention: routers without contact, their problems, and routes with errors. */
export const routerConcerns = (routers: RouterView[]): RouterConcern[] =>
	routers.flatMap((router) => {
		const lost: Verdict = router.cut ? 'unknown' : 'critical';
		const own = problemsOf(router).map((notes) => ({
			verdict: router.connected ? ('warning' as const) : lost,
			title: `router ${router.name}`,
			notes,
			since: router.connected ? 0 : router.since_ns,
		}));
		const failing = router.routes
			.filter((one) => router.connected && hasManyErrors(one.traffic))
			.map((one) => ({
				verdict: 'warning' as const,
				title: `route ${one.name} on ${router.name}`,
				notes: `${errorText(one.traffic)} of its requests fail`,
				since: 0,
			}));
		return [...own, ...failing];
	});

/** The place of a route in links: names of routers have no slash. */
export const placeName = (router: string, route: string): string => `${router}/${route}`;

export function placeOf(
	routers: RouterView[],
	place: string,
): { router: RouterView; route: RouterRoute } | undefined {
	const slash = place.indexOf('/');
	const router = routers.find((one) => one.name === place.slice(0, slash));
	const route = router?.routes.find((one) => one.name === place.slice(slash + 1));
	return router && route ? { router, route } : undefined;
}

/** "+2 −1 ~3"; a dash if it was not compared. */
export const changesText = (one: RouterGeneration): string => {
	if (!one.compared) return '–';
	const parts = [
		one.added ? `+${one.added}` : '',
		one.removed ? `−${one.removed}` : '',
		one.changed ? `~${one.changed}` : '',
	].filter(Boolean);
	return parts.join(' ') || 'nothing';
};

export const noteOf = (one: RouterGeneration): string =>
	[
		one.in_force ? 'in force' : one.held ? 'still used by requests' : '',
		num(one.of) > 0 ? `repeats ${one.of}` : '',
	]
		.filter(Boolean)
		.join(', ');

/** What a return to an earlier generation means. */
export function ofRollback(router: RouterView, number: string): string {
	const all = router.generations?.generations ?? [];
	const now = all.find((one) => one.in_force);
	const wanted = all.find((one) => String(one.number) === number);
	if (!wanted) return `Generation ${number} is no longer kept.`;
	const from = now
		? ` The changes of generation${num(now.number) - num(number) > 1 ? 's' : ''} ${
				num(now.number) - num(number) > 1 ? `${num(number) + 1} to ${now.number}` : now.number
			} are undone.`
		: '';
	return (
		`Its ${wanted.routes} routes and ${wanted.pools} pools are applied again, as a new generation.` +
		`${from} Requests that have begun are finished as they began, and no connection is closed.`
	);
}

// SPDX-License-Identifier: Apache-2.0
// The way of a packet as rows: how a step looks, and the page that it leads to. What belongs together and what is broken
// was decided by maglevd-frontend. Pure.
import type { WayStep } from '../api/types.ts';
import { linkTo } from '../route.ts';
import { scaled } from './format.ts';
import type { Verdict } from './health.ts';

const VERDICTS: Record<string, Verdict> = {
	good: 'ok',
	poor: 'degraded',
	lossy: 'critical',
	broken: 'critical',
};

export const verdictOf = (state: string): Verdict => VERDICTS[state] ?? 'unknown';

/** The state of a step as one of the icons of states. */
const ICONS: Record<string, string> = {
	good: 'up',
	idle: 'disabled',
	poor: 'up',
	lossy: 'down',
	broken: 'down',
};

export const iconOf = (state: string): string => ICONS[state] ?? 'unknown';

const KINDS: Record<string, string> = {
	vip: 'VIP',
	'router-pool': 'pool',
};

export const kindText = (kind: string): string => KINDS[kind] ?? kind;

/** Of a router the name is that of the program, and its listener follows. */
export const titleOf = (step: WayStep): string =>
	step.kind === 'router' ? `${step.place} ${step.name}` : step.name || '(none)';

/** The page of a step; null: it has none. A pool is on the page of what it belongs to. */
export function pageOf(steps: readonly WayStep[], index: number): string | null {
	const step = steps[index];
	if (!step) return null;
	switch (step.kind) {
		case 'balancer':
			return linkTo('', 'announcements');
		case 'announcement':
		case 'session':
			return linkTo('', 'announcements');
		case 'frontend':
			return linkTo(step.place, 'frontend', step.name);
		case 'backend':
			return linkTo(step.place, 'backend', step.name);
		case 'router':
			return linkTo('', 'routers');
		case 'route':
			return linkTo('', 'route', `${step.place}/${step.name}`);
		case 'pool':
		case 'router-pool':
		case 'server': {
			const above = parentOf(steps, index);
			return above < 0 ? null : pageOf(steps, above);
		}
		default:
			return null;
	}
}

/** The step above; -1: none. */
export function parentOf(steps: readonly WayStep[], index: number): number {
	const depth = steps[index]?.depth ?? 0;
	for (let above = index - 1; above >= 0; above--)
		if ((steps[above]?.depth ?? 0) < depth) return above;
	return -1;
}

export const shareText = (step: WayStep): string =>
	step.share ? `${Math.round(step.share.of_step * 1000) / 10} %` : '–';

export const rateText = (step: WayStep): string =>
	step.traffic
		? scaled(step.traffic.rate, step.traffic.unit === 'packets' ? 'packets/s' : 'req/s')
		: '–';

export const errorText = (step: WayStep): string =>
	step.traffic ? scaled(step.traffic.errors, '/s') : '–';

/** What the head of the page says. */
export function headline(state: string, why: string): string {
	if (why) return why;
	if (state === 'good') return 'Packets get through.';
	return state === 'poor'
		? 'Packets get through, but not everything works.'
		: 'It is not known whether packets get through.';
}

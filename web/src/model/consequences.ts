// SPDX-License-Identifier: Apache-2.0
// The effect of an act on new and existing flows, shown before it is carried out. Pure.
import type { Act } from '../api/client.ts';
import type { Frontend, Pool } from '../api/types.ts';

const canServe = (pool: Pool, without: string): boolean =>
	pool.backends.some((one) => one.name !== without && one.state === 'up' && one.weight > 0);

const serves = (pool: Pool, backend: string): boolean =>
	pool.backends.some((one) => one.name === backend && one.effective_weight > 0);

/** The backends that take the new flows of a frontend when this backend gets none. */
export function takeover(frontend: Frontend, backend: string): string {
	const now = frontend.pools.find((pool) => serves(pool, backend));
	if (!now) return `${frontend.name}: it gets no new flows there now; nothing changes.`;
	if (canServe(now, backend))
		return `${frontend.name}: the rest of pool ${now.name} takes its share.`;
	const next = frontend.pools.find((pool) => canServe(pool, backend));
	return next
		? `${frontend.name}: pool ${next.name} takes over from pool ${now.name}.`
		: `${frontend.name}: nobody is left. It goes down, and new flows are dropped.`;
}

/** Whether a frontend would lose its last server. */
export const isFatal = (frontend: Frontend, backend: string): boolean =>
	frontend.pools.some((pool) => serves(pool, backend)) &&
	!frontend.pools.some((pool) => canServe(pool, backend));

const EXISTING: Record<Act, string> = {
	pause: 'They stay with it and go on until they end by themselves.',
	disable: 'They are cut: their next packet goes to another backend.',
	resume: 'Those on other backends stay where they are.',
	enable: 'Those on other backends stay where they are.',
};

const FIRST: Record<Act, string> = {
	pause: 'It gets no new flows and is not probed.',
	disable: 'It gets no new flows and is not probed.',
	resume: 'It is probed at once. The first result decides whether it gets new flows.',
	enable: 'It is probed at once. The first result decides whether it gets new flows.',
};

export interface Consequences {
	newFlows: string;
	existing: string;
	frontends: string[];
	fatal: boolean;
}

export function ofAct(act: Act, backend: string, frontends: Frontend[]): Consequences {
	const using = frontends.filter((f) =>
		f.pools.some((p) => p.backends.some((b) => b.name === backend)),
	);
	const leaving = act === 'pause' || act === 'disable';
	return {
		newFlows: FIRST[act],
		existing: EXISTING[act],
		frontends: leaving ? using.map((one) => takeover(one, backend)) : [],
		fatal: leaving && using.some((one) => isFatal(one, backend)),
	};
}

/** The share of new flows in its pool that a weight would give. */
export function shareWith(pool: Pool, backend: string, weight: number): number {
	const others = pool.backends
		.filter((one) => one.name !== backend && one.state === 'up')
		.reduce((total, one) => total + one.weight, 0);
	return weight + others > 0 ? weight / (weight + others) : 0;
}

const newFlows = (pool: Pool, backend: string, weight: number): string => {
	if (weight === 0) return 'It gets no new flows, but is still probed.';
	const share = Math.round(100 * shareWith(pool, backend, weight));
	const when = pool.active ? '' : ` once pool ${pool.name} is the active one`;
	return `It gets about ${share} % of the new flows${when}.`;
};

export function ofWeight(
	frontend: Frontend,
	pool: Pool,
	backend: string,
	change: { weight: number; flush: boolean },
): Consequences {
	const leaving = change.weight === 0 && serves(pool, backend);
	return {
		newFlows: newFlows(pool, backend, change.weight),
		existing: change.flush
			? 'They are cut: their next packet is placed again.'
			: 'They stay with it and go on until they end by themselves.',
		frontends: leaving ? [takeover(frontend, backend)] : [],
		fatal: leaving && isFatal(frontend, backend),
	};
}

// SPDX-License-Identifier: Apache-2.0
// The actual state of the data plane compared with the wanted one. Pure.
import type { LbServer, LbState, LbVip } from '../api/types.ts';

export type Difference = 'missing' | 'extra' | 'weight';

export interface DifferenceRow {
	key: string;
	kind: Difference;
	frontend: string;
}

export const vipKey = (vip: { address: string; protocol: string; port: number }): string =>
	`${vip.address} ${vip.protocol} ${vip.port}`;

export const rowKey = (vip: LbVip, server: LbServer): string => `${vipKey(vip)} ${server.address}`;

/** How an item differs from the wanted state; null if it does not. */
export function differenceOf(one: LbVip | LbServer): Difference | null {
	if (one.wanted !== one.present) return one.wanted ? 'missing' : 'extra';
	if ('weight' in one && one.wanted && one.weight !== one.wanted_weight) return 'weight';
	return null;
}

/** connected, degraded, disconnected; unknown without contact to the server. */
export const statusOf = (lb: LbState): string =>
	lb.status || (lb.connected ? 'connected' : 'disconnected');

/** All differences. Without a connection the state of the data plane is unknown, so there are none. */
export function differences(lb: LbState | null): DifferenceRow[] {
	if (!lb?.connected) return [];
	const rows: DifferenceRow[] = [];
	for (const vip of lb.vips) {
		const { frontend } = vip;
		const own = differenceOf(vip);
		if (own) rows.push({ key: vipKey(vip), kind: own, frontend });
		for (const server of vip.application_servers) {
			const kind = differenceOf(server);
			if (kind) rows.push({ key: rowKey(vip, server), kind, frontend });
		}
	}
	return rows;
}

/** A younger difference is a write in progress, not drift. */
export const SETTLE_MS = 5_000;

export const isSettled = (since: number | undefined, now: number): boolean =>
	since !== undefined && now - since >= SETTLE_MS;

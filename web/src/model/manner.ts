// SPDX-License-Identifier: Apache-2.0
// How a backend fails, in words that follow the name of its host. Pure.
import type { Backend } from '../api/types.ts';

/** network: the host may be gone; service: it answers, but not as it should; local: the balancer itself. */
export type Layer = 'network' | 'service' | 'local';

export interface Manner {
	/** "refuses connections" */
	says: string;
	/** "refuse connections", after several hosts. */
	say: string;
	layer: Layer;
}

export const REFUSES: Manner = {
	says: 'refuses connections',
	say: 'refuse connections',
	layer: 'service',
};
const OTHER: Manner = { says: 'fails', say: 'fail', layer: 'service' };

/** The first row whose code is the same and whose pattern is in the reason. */
const MANNERS: [code: string, reason: RegExp, manner: Manner][] = [
	['L4CON', /refused/i, REFUSES],
	['L4CON', /reset/i, { says: 'resets connections', say: 'reset connections', layer: 'service' }],
	[
		'L4CON',
		/netns/i,
		{ says: 'cannot be probed from here', say: 'cannot be probed from here', layer: 'local' },
	],
	['L4CON', /./s, { says: 'cannot be reached', say: 'cannot be reached', layer: 'network' }],
	['L4CON', /^/, REFUSES],
	['L4TOUT', /^/, { says: 'does not answer', say: 'do not answer', layer: 'network' }],
	[
		'L6TOUT',
		/^/,
		{
			says: 'does not complete the TLS handshake',
			say: 'do not complete the TLS handshake',
			layer: 'service',
		},
	],
	[
		'L6RSP',
		/certificate/i,
		{ says: 'has a bad certificate', say: 'have a bad certificate', layer: 'service' },
	],
	[
		'L6RSP',
		/^/,
		{ says: 'fails the TLS handshake', say: 'fail the TLS handshake', layer: 'service' },
	],
	[
		'L7TOUT',
		/^/,
		{
			says: 'accepts connections but does not answer',
			say: 'accept connections but do not answer',
			layer: 'service',
		},
	],
	['L7STS', /^/, { says: 'answers with an error', say: 'answer with an error', layer: 'service' }],
	['L7RSP', /^/, { says: 'gives a bad answer', say: 'give bad answers', layer: 'service' }],
	['SOCKERR', /^/, { says: 'cannot be probed', say: 'cannot be probed', layer: 'local' }],
];

/** The failure of a backend that is down: of its last probe, or of its last transition if that probe passed. */
export function failureOf(one: Backend): { code: string; reason: string } {
	if (one.last_reason) return { code: one.last_code, reason: one.last_reason };
	const change = one.transitions.find((it) => it.to === 'down');
	return { code: change?.code ?? one.last_code, reason: change?.reason ?? '' };
}

export function mannerOf(one: Backend): Manner {
	const { code, reason } = failureOf(one);
	return MANNERS.find((row) => row[0] === code && row[1].test(reason))?.[2] ?? OTHER;
}

/** The network that a host is in, as a name and as a filter of lists: /24 of IPv4, /64 of IPv6. */
export function subnetOf(address: string): string {
	if (!address.includes(':')) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`;
	const [head = '', tail] = address.split('::');
	const first = head.split(':').filter(Boolean);
	const last = tail === undefined ? [] : tail.split(':').filter(Boolean);
	const groups = [
		...first,
		...Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0'),
		...last,
	].slice(0, 4);
	while (groups.length > 1 && groups.at(-1) === '0') groups.pop();
	return `${groups.join(':')}::/64`;
}

/** The beginning that all addresses of a subnet share, for the filter of a list. */
export const beginningOf = (subnet: string): string => subnet.replace(/0\/24$|:\/64$/, '');

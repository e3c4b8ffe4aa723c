// SPDX-License-Identifier: Apache-2.0
// The current place is in the fragment of the address: #/SCOPE/VIEW/NAME. An empty scope ('-') means all
// servers. This makes every view a link that can be shared.
import { createSignal } from 'solid-js';
import { keep, recall } from './kept.ts';

export const VIEWS = [
	'overview',
	'backends',
	'dataplane',
	'events',
	'announcements',
	'routers',
] as const;
export type View = (typeof VIEWS)[number] | 'frontend' | 'backend' | 'route';

export interface Route {
	scope: string;
	view: View;
	name: string;
}

const KNOWN: readonly string[] = [...VIEWS, 'frontend', 'backend', 'route'];

export function parseRoute(hash: string): Route {
	const parts = hash.replace(/^#\/?/, '').split('/').map(decodePart);
	const [scope = '', view = '', name = ''] = parts;
	return {
		scope: scope === '-' ? '' : scope,
		view: KNOWN.includes(view) ? (view as View) : 'overview',
		name,
	};
}

function decodePart(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

export function linkTo(scope: string, view: View = 'overview', name = ''): string {
	const parts = [scope || '-', view, ...(name ? [name] : [])];
	return `#/${parts.map(encodeURIComponent).join('/')}`;
}

const read = (): Route => parseRoute(typeof location === 'undefined' ? '' : location.hash);
const [route, setRoute] = createSignal(read());
export { route };

if (typeof window !== 'undefined') window.addEventListener('hashchange', () => setRoute(read()));

/** The chosen scope, stored in this browser; empty: all servers. */
export const keepScope = (scope: string): void => keep('scope', scope);

/**
 * Must be called once the servers are known: a page that was opened without a place goes to the scope that
 * was chosen last, if that server still exists.
 */
export function goToKeptScope(servers: string[]): void {
	const scope = recall('scope');
	if (location.hash === '' && servers.includes(scope)) location.replace(linkTo(scope));
}

/** The same files are served under /view/ and /admin/; only under /admin/ there are acts. */
export const isAdmin = (): boolean => location.pathname.startsWith('/admin');

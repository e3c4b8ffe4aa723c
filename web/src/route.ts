// SPDX-License-Identifier: Apache-2.0
// The current place is in the fragment of the address: #/SCOPE/VIEW/NAME. An empty scope ('-') means all
// servers. NAME is that of a frontend, backend or route, or the filter of a list. This makes every view a link that can be
// shared.
import { createSignal } from 'solid-js';
import { keep, recall } from './kept.ts';

export const VIEWS = [
	'overview',
	'frontends',
	'backends',
	'dataplane',
	'events',
	'announcements',
	'routers',
	'way',
] as const;
/** The views by number key, from 1 on. New views come last, so that keys stay what they are. */
export const KEYED: readonly (typeof VIEWS)[number][] = [
	'overview',
	'backends',
	'dataplane',
	'events',
	'announcements',
	'routers',
	'frontends',
	'way',
];
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

/** The lists whose filter is part of the address. */
const FILTERED: readonly View[] = ['frontends', 'backends', 'announcements', 'routers'];
export const hasFilter = (view: View): boolean => FILTERED.includes(view);

/** The filter of the list that is shown; without a new entry in the history of the browser for each letter. */
export function setFilter(text: string): void {
	const { scope, view } = route();
	history.replaceState(null, '', linkTo(scope, view, text));
	setRoute(read());
}

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

const [readOnly, setReadOnly] = createSignal(false);
/** Told by maglevd-frontend: this user may look, but not act. */
export { readOnly, setReadOnly };

/** The same files are served under /view/ and /admin/; under /admin/ everybody has a name. */
export const hasUser = (): boolean => location.pathname.startsWith('/admin');
/** Whether there are acts. */
export const isAdmin = (): boolean => hasUser() && !readOnly();

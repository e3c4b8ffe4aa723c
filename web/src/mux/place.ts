// SPDX-License-Identifier: Apache-2.0
// The current place is in the fragment of the address, so that every view is a link: #/, #/channels,
// #/events, #/mux/NAMESPACE/NAME, #/channel/NAMESPACE/NAME.
import { createSignal } from 'solid-js';

export const VIEWS = ['overview', 'channels', 'events'] as const;
export type View = (typeof VIEWS)[number] | 'mux' | 'channel';

export interface Place {
	view: View;
	/** "namespace/name"; empty for the views of all. */
	key: string;
}

const KNOWN: readonly string[] = [...VIEWS, 'mux', 'channel'];

function decodePart(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

export function parsePlace(hash: string): Place {
	const [view = '', ...rest] = hash.replace(/^#\/?/, '').split('/').map(decodePart);
	return { view: KNOWN.includes(view) ? (view as View) : 'overview', key: rest.join('/') };
}

export const linkTo = (view: View, key = ''): string =>
	`#/${[view, ...(key ? key.split('/') : [])].map(encodeURIComponent).join('/')}`;

const read = (): Place => parsePlace(typeof location === 'undefined' ? '' : location.hash);
const [place, setPlace] = createSignal(read());
export { place };

if (typeof window !== 'undefined') window.addEventListener('hashchange', () => setPlace(read()));

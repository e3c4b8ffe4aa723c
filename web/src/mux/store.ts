// SPDX-License-Identifier: Apache-2.0
// The state of maglev-mux as this page knows it: asked for every second, which costs an empty answer as long
// as nothing has changed, and not at all while nobody looks at the page.
import { createMemo, createSignal } from 'solid-js';
import type { Link } from '../view/basics.tsx';
import { getConfig, getState } from './api.ts';
import { concernsOf } from './model.ts';
import type { State } from './types.ts';

const PERIOD_MS = 1000;

const [state, setState] = createSignal<State | null>(null);
const [link, setLink] = createSignal<{ link: Link; error: string }>({
	link: 'connecting',
	error: '',
});
const [actions, setActions] = createSignal(false);
const [now, setNow] = createSignal(Date.now());
export { actions, link, now, state };

export const concerns = createMemo(() => {
	const it = state();
	return it ? concernsOf(it) : [];
});

let version = '';

async function ask(): Promise<void> {
	const answer = await getState(version);
	if (link().link !== 'live') setActions((await getConfig()).actions_enabled);
	if (answer) {
		version = answer.version;
		setState(answer.state);
	}
	setLink({ link: 'live', error: '' });
}

/** Starts to follow the state; returns a function that stops it. */
export function follow(): () => void {
	let timer = 0;
	let ended = false;
	const turn = async () => {
		setNow(Date.now());
		if (!document.hidden)
			await ask().catch((error: unknown) => setLink({ link: 'lost', error: String(error) }));
		if (!ended) timer = window.setTimeout(turn, PERIOD_MS);
	};
	const onVisible = () => {
		if (document.hidden) return;
		window.clearTimeout(timer);
		timer = window.setTimeout(turn, 0);
	};
	document.addEventListener('visibilitychange', onVisible);
	turn();
	return () => {
		ended = true;
		window.clearTimeout(timer);
		document.removeEventListener('visibilitychange', onVisible);
	};
}

// SPDX-License-Identifier: Apache-2.0
// The keyboard shortcuts of the page, and the list that shows them.
import { type Component, createSignal, For, onMount, Show } from 'solid-js';
import { KEYED, linkTo, route } from '../route.ts';
import { openSearch } from './Search.tsx';

const KEYS: [string, string][] = [
	[
		'1 2 3 4 5 6 7 8',
		'overview, backends, data plane, events, announcements, routers, frontends, way',
	],
	['/', 'search everything, by name, address, host or path'],
	['f', 'filter the list of this page'],
	['p', 'pause the events, and go on'],
	['?', 'this list'],
	['Tab Enter Space', 'go to what can be done, and do it'],
	['↑ ↓ Home End', 'move in a menu'],
	['Esc', 'close a menu or a question'],
];

const isTyping = (target: EventTarget | null): boolean =>
	target instanceof HTMLElement &&
	target.closest('input, select, textarea, dialog, [role=menu]') !== null;

const find = (what: string) => document.querySelector<HTMLElement>(`[data-${what}]`);

export function onKey(event: KeyboardEvent): void {
	if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
	const view = KEYED[Number(event.key) - 1];
	if (view) location.hash = linkTo(route().scope, view);
	else if (event.key === '/') openSearch();
	else if (event.key === 'f') find('search')?.focus();
	else if (event.key === 'p') find('pause')?.click();
	else if (event.key === '?') find('keys')?.click();
	else return;
	event.preventDefault();
}

const KeyList: Component<{ onClose: () => void }> = (props) => {
	let dialog: HTMLDialogElement | undefined;
	onMount(() => dialog?.showModal());
	return (
		<dialog
			ref={dialog}
			class="dialog"
			aria-labelledby="keys-title"
			onClose={() => props.onClose()}
		>
			<form method="dialog">
				<h2 id="keys-title">Keys</h2>
				<dl class="key-list">
					<For each={KEYS}>
						{([keys, what]) => (
							<div>
								<dt>
									<For each={keys.split(' ')}>{(key) => <kbd>{key}</kbd>}</For>
								</dt>
								<dd>{what}</dd>
							</div>
						)}
					</For>
				</dl>
				<div class="dialog-buttons">
					<button type="submit" class="primary">
						Close
					</button>
				</div>
			</form>
		</dialog>
	);
};

export const Keys: Component = () => {
	const [isOpen, setOpen] = createSignal(false);
	return (
		<>
			<button type="button" class="keys" data-keys onClick={() => setOpen(true)}>
				Keys <kbd>?</kbd>
			</button>
			<Show when={isOpen()}>
				<KeyList onClose={() => setOpen(false)} />
			</Show>
		</>
	);
};

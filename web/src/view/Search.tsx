// SPDX-License-Identifier: Apache-2.0
// The search over everything, from every page: a field and what it finds, for the keyboard alone. The focus stays in
// the field; arrows choose, Enter goes there.
import { type Component, createMemo, createSignal, For, onMount, Show } from 'solid-js';
import { type Found, type Kind, search } from '../model/search.ts';
import { linkTo } from '../route.ts';
import { pacedServers, routers, speakers } from '../store.ts';
import { StateIcon } from './Icons.tsx';

const [asked, setAsked] = createSignal<{ text: string; kind?: Kind } | null>(null);

/** Opens the search with a text; kind: only results of that kind. */
export function openSearch(text = '', kind?: Kind): void {
	setAsked(kind ? { text, kind } : { text });
}

const hrefOf = ({ target }: Found): string => linkTo(target.scope, target.view, target.name);

export const SearchButton: Component = () => (
	<button type="button" class="search-button" onClick={() => openSearch()}>
		<span class="search-word">Search</span> <kbd>/</kbd>
	</button>
);

const STEPS: Record<string, (here: number, count: number) => number> = {
	ArrowDown: (here, count) => (here + 1) % count,
	ArrowUp: (here, count) => (here - 1 + count) % count,
	Home: () => 0,
	End: (_, count) => count - 1,
};

const Result: Component<{ of: Found; id: string; chosen: boolean; onGo: () => void }> = (props) => (
	<a
		id={props.id}
		role="option"
		tabindex="-1"
		class="result"
		aria-selected={props.chosen}
		href={hrefOf(props.of)}
		data-kind={props.of.kind}
		onClick={() => props.onGo()}
	>
		<Show when={props.of.state} fallback={<span class="icon" />}>
			<StateIcon state={props.of.state} />
		</Show>
		<span class="result-text">
			<b>{props.of.title}</b> <span class="muted">{props.of.detail}</span>
		</span>
		<span class="result-page">{props.of.page}</span>
	</a>
);

interface FieldProps {
	text: string;
	kind?: Kind;
	onClose: () => void;
}

const Field: Component<FieldProps> = (props) => {
	let dialog: HTMLDialogElement | undefined;
	let input: HTMLInputElement | undefined;
	const [text, setText] = createSignal(props.text);
	const [chosen, setChosen] = createSignal(0);
	onMount(() => {
		dialog?.showModal();
		input?.select();
	});
	const results = createMemo(() =>
		search(
			text(),
			{ servers: pacedServers(), speakers: speakers(), routers: routers() },
			props.kind,
		),
	);
	const place = () => Math.min(chosen(), results().found.length - 1);
	const close = () => dialog?.close();
	const go = () => {
		const one = results().found[place()];
		if (!one) return;
		location.hash = hrefOf(one);
		close();
	};
	const choose = (to: number) => {
		setChosen(to);
		document.getElementById(`result-${to}`)?.scrollIntoView({ block: 'nearest' });
	};
	const onKey = (event: KeyboardEvent) => {
		const step = STEPS[event.key];
		const count = results().found.length;
		if (event.key === 'Enter') go();
		else if (event.key === 'Escape')
			close(); // a browser would first empty the field
		else if (step && count > 0) choose(step(place(), count));
		else return;
		event.preventDefault();
	};
	return (
		<dialog ref={dialog} class="dialog search" aria-label="Search" onClose={() => props.onClose()}>
			<input
				ref={input}
				type="search"
				role="combobox"
				aria-label="Search everything"
				aria-expanded={results().found.length > 0}
				aria-controls="results"
				aria-autocomplete="list"
				aria-activedescendant={results().found.length ? `result-${place()}` : undefined}
				placeholder="frontend, backend, address, VIP, announcement, route, host, pool"
				autocomplete="off"
				spellcheck={false}
				value={text()}
				onInput={(event) => {
					setText(event.currentTarget.value);
					setChosen(0);
				}}
				onKeyDown={onKey}
			/>
			<div id="results" class="results" role="listbox" aria-label="Results">
				<For each={results().found}>
					{(one, index) => (
						<Result of={one} id={`result-${index()}`} chosen={index() === place()} onGo={close} />
					)}
				</For>
			</div>
			<p class="search-foot muted" role="status">
				<Show
					when={text().trim()}
					fallback="Several words must all occur. ↑ ↓ choose, Enter goes there, Esc closes."
				>
					<Show when={results().found.length} fallback="Nothing is found.">
						{results().left > 0
							? `${results().found.length} shown, ${results().left} more: add a word`
							: `${results().found.length} found`}
					</Show>
				</Show>
			</p>
		</dialog>
	);
};

/** The open search, if it is. */
export const Search: Component = () => (
	<Show when={asked()} keyed>
		{(it) => <Field {...it} onClose={() => setAsked(null)} />}
	</Show>
);

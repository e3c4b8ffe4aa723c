// SPDX-License-Identifier: Apache-2.0
// Long lists as tables: a search, rows that stay while their items change, and a bound.
import { type Accessor, type Component, createMemo, createSignal, Show } from 'solid-js';

/** Most rows of a table that are drawn; the search covers all. */
const DRAWN = 100;

export const wordsOf = (search: string): string[] =>
	search.toLowerCase().split(/\s+/).filter(Boolean);

export const fits = (words: string[], texts: string[]): boolean => {
	if (words.length === 0) return true;
	const text = texts.join(' ').toLowerCase();
	return words.every((word) => text.includes(word));
};

/** The keys of items, which rows are drawn for: a row stays, with its focus, while its item changes. */
export function keyed<T>(items: Accessor<T[]>, keyOf: (one: T) => string) {
	const [all, setAll] = createSignal(false);
	const byKey = createMemo(() => new Map(items().map((one) => [keyOf(one), one])));
	const keys = createMemo(
		() => (all() ? [...byKey().keys()] : [...byKey().keys()].slice(0, DRAWN)),
		[],
		{
			equals: (a, b) => a.length === b.length && a.every((one, index) => one === b[index]),
		},
	);
	return { keys, byKey, left: () => byKey().size - keys().length, showAll: () => setAll(true) };
}

export const ShowAll: Component<{ left: number; total: number; onAll: () => void }> = (props) => (
	<Show when={props.left > 0}>
		<button type="button" onClick={() => props.onAll()}>
			Show all {props.total}
		</button>
	</Show>
);

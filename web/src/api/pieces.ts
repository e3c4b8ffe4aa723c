// SPDX-License-Identifier: Apache-2.0
// JSON.parse() of a state of several megabytes would hold the page up. Here the text is cut at its items: the
// objects in the lists of each server are parsed one by one, with a pause whenever a slice of time is over, and the
// rest, in which a number stands for each item, at the end.

/** Objects at these depths are cut: of the state, its servers, a server, one of its lists (or of its parts, a list). */
const ITEM = 4;
const DEEPEST = 5;
/** Time of a slice. */
export const SLICE_MS = 12;

/** Marks the place of an item; no text of a server has this key. */
const MARK = '\u0001item';

const NEXT = /["{}[\]]/g;

/** The index of the quote that ends a string which begins before from; -1: there is none. */
function endOfString(text: string, from: number): number {
	for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
		let slashes = 0;
		while (text[at - 1 - slashes] === '\\') slashes++;
		if (slashes % 2 === 0) return at;
	}
	return -1;
}

/** Puts the items back, down to the depth at which they were cut. */
function restored(value: unknown, items: unknown[], depth: number): unknown {
	if (depth > DEEPEST || typeof value !== 'object' || value === null) return value;
	if (MARK in value) return items[(value as Record<string, number>)[MARK] as number];
	if (Array.isArray(value)) return value.map((one) => restored(one, items, depth + 1));
	return Object.fromEntries(
		Object.entries(value).map(([key, one]) => [key, restored(one, items, depth + 1)]),
	);
}

/** A text that is cut while it is read. */
interface Cutter {
	text: string;
	/** Where to go on, and how deep that is. */
	at: number;
	depth: number;
	/** The end of what is in rest. */
	copied: number;
	/** The beginning and the depth of the item that is open; -1: none is. */
	began: number;
	level: number;
	items: unknown[];
	rest: string[];
}

function open(it: Cutter, sign: string, index: number): void {
	if (it.began < 0 && sign === '{' && it.depth >= ITEM && it.depth <= DEEPEST) {
		it.began = index;
		it.level = it.depth;
	}
	it.depth++;
}

/** Parses the item that ends here, if one does. */
function close(it: Cutter): boolean {
	it.depth--;
	if (it.began < 0 || it.depth !== it.level) return false;
	it.rest.push(it.text.slice(it.copied, it.began), `{${JSON.stringify(MARK)}:${it.items.length}}`);
	it.items.push(JSON.parse(it.text.slice(it.began, it.at)));
	it.copied = it.at;
	it.began = -1;
	return true;
}

/** Goes on to the end of the next item; false at the end of the text, or where it is broken. */
function nextItem(it: Cutter): boolean {
	for (;;) {
		NEXT.lastIndex = it.at;
		const found = NEXT.exec(it.text);
		if (!found) return false;
		const [sign] = found;
		it.at = found.index + 1;
		if (sign === '"') {
			const end = endOfString(it.text, it.at);
			if (end < 0) return false;
			it.at = end + 1;
		} else if (sign === '{' || sign === '[') open(it, sign, found.index);
		else if (close(it)) return true;
	}
}

/** As JSON.parse(). pause returns after other tasks of the page had their turn. */
export async function parseInPieces(text: string, pause: () => Promise<void>): Promise<unknown> {
	const it = {
		text,
		at: 0,
		depth: 0,
		copied: 0,
		began: -1,
		level: 0,
		items: [],
		rest: [] as string[],
	};
	let slice = performance.now();
	while (nextItem(it)) {
		if (performance.now() - slice <= SLICE_MS) continue;
		await pause();
		slice = performance.now();
	}
	await pause();
	it.rest.push(text.slice(it.copied));
	return restored(JSON.parse(it.rest.join('')), it.items, 0);
}

/** Lets other tasks of the page have their turn. */
export const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

// SPDX-License-Identifier: Apache-2.0
// A button with a menu, for the keyboard as for the mouse: arrows move, Escape closes, focus returns.
import { type Component, createSignal, Index, onCleanup, Show } from 'solid-js';

export interface MenuItem {
	label: string;
	hint: string;
	run: () => void;
}

const GAP = 4;
const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

export const Menu: Component<{ label: string; items: MenuItem[] }> = (props) => {
	let root: HTMLDivElement | undefined;
	let button: HTMLButtonElement | undefined;
	let list: HTMLDivElement | undefined;
	const [open, setOpen] = createSignal(false);

	const items = () => [...(root?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
	const stopListening = () => {
		document.removeEventListener('pointerdown', onOutside, true);
		document.removeEventListener('scroll', onOutside, true);
	};
	const close = (back: boolean) => {
		setOpen(false);
		stopListening();
		if (back) button?.focus();
	};
	const onOutside = (event: Event) => {
		if (event.type === 'scroll' || !root?.contains(event.target as Node)) close(false);
	};
	/** On top of everything, even inside a scrolling element; placed below the button, or above it. */
	const place = (list: HTMLElement) => {
		const at = button?.getBoundingClientRect();
		if (!at) return;
		const below = at.bottom + GAP + list.offsetHeight <= innerHeight;
		list.style.top = `${below ? at.bottom + GAP : at.top - GAP - list.offsetHeight}px`;
		list.style.left = `${Math.max(GAP, at.right - list.offsetWidth)}px`;
	};
	const show = () => {
		setOpen(true);
		if (list) place(list);
		items()[0]?.focus({ preventScroll: true });
		document.addEventListener('pointerdown', onOutside, true);
		document.addEventListener('scroll', onOutside, true);
	};
	onCleanup(stopListening);

	const move = (to: number) => {
		const all = items();
		all[(to + all.length) % all.length]?.focus();
	};
	const onKey = (event: KeyboardEvent) => {
		const here = items().indexOf(document.activeElement as HTMLElement);
		const step = STEPS[event.key];
		if (step) move(here + step);
		else if (event.key === 'Home') move(0);
		else if (event.key === 'End') move(-1);
		else if (event.key === 'Escape') close(true);
		else if (event.key === 'Tab') return close(false);
		else return;
		event.preventDefault();
	};

	return (
		<div class="menu" ref={root}>
			<button
				ref={button}
				type="button"
				class="menu-button"
				aria-haspopup="menu"
				aria-expanded={open()}
				aria-label={props.label}
				onClick={() => (open() ? close(true) : show())}
			>
				⋯
			</button>
			<Show when={open()}>
				<div
					ref={list}
					class="menu-list"
					role="menu"
					tabindex="-1"
					aria-label={props.label}
					onKeyDown={onKey}
				>
					{/* By position: items are made again with each event, and the one with the focus must stay. */}
					<Index each={props.items}>
						{(item) => (
							<button
								type="button"
								role="menuitem"
								tabindex="-1"
								onClick={() => {
									close(true);
									item().run();
								}}
							>
								{item().label}
								<small>{item().hint}</small>
							</button>
						)}
					</Index>
				</div>
			</Show>
		</div>
	);
};

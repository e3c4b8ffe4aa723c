// SPDX-License-Identifier: Apache-2.0
// A modal dialog. The <dialog> element of the browser keeps the focus inside, closes with Escape and
// returns the focus.
import { createSignal, type JSX, onMount, type ParentComponent, Show } from 'solid-js';

interface DialogProps {
	title: string;
	confirm: string;
	danger: boolean;
	/** The button is disabled. */
	waiting?: boolean;
	onConfirm: () => Promise<void>;
	onClose: () => void;
	footer?: JSX.Element;
}

export const Dialog: ParentComponent<DialogProps> = (props) => {
	let dialog: HTMLDialogElement | undefined;
	const [error, setError] = createSignal('');
	const [busy, setBusy] = createSignal(false);

	onMount(() => dialog?.showModal());

	const submit = async (event: SubmitEvent) => {
		event.preventDefault();
		setBusy(true);
		setError('');
		try {
			await props.onConfirm();
			dialog?.close();
		} catch (problem) {
			setError(problem instanceof Error ? problem.message : String(problem));
		} finally {
			setBusy(false);
		}
	};

	return (
		<dialog
			ref={dialog}
			class="dialog"
			aria-labelledby="dialog-title"
			onClose={() => props.onClose()}
		>
			<form onSubmit={submit}>
				<h2 id="dialog-title">{props.title}</h2>
				{props.children}
				<Show when={error()}>
					<p class="dialog-error" role="alert">
						{error()}
					</p>
				</Show>
				<div class="dialog-buttons">
					<button type="button" onClick={() => dialog?.close()}>
						Cancel
					</button>
					<button
						type="submit"
						class={props.danger ? 'danger' : 'primary'}
						disabled={busy() || (props.waiting ?? false)}
					>
						{busy() ? 'Working…' : props.confirm}
					</button>
				</div>
			</form>
		</dialog>
	);
};

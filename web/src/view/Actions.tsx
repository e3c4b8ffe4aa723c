// SPDX-License-Identifier: Apache-2.0
// The beginning of acts, in /admin/ only: menus and buttons that open a dialog, and the dialog that is
// open.
import { type Component, createSignal, Match, Show, Switch } from 'solid-js';
import type { Act } from '../api/client.ts';
import type { Frontend, Pool, RouterGeneration } from '../api/types.ts';
import type { Entry } from '../model/announcements.ts';
import type { RouterView, ServerView } from '../model/state.ts';
import { isAdmin } from '../route.ts';
import { Menu, type MenuItem } from './Menu.tsx';
import {
	ActDialog,
	type ActRequest,
	DrainDialog,
	type DrainRequest,
	ReloadDialog,
	RollbackDialog,
	type RollbackRequest,
	SyncDialog,
	WeightDialog,
	type WeightRequest,
} from './Questions.tsx';

type Request =
	| ({ kind: 'act' } & ActRequest)
	| ({ kind: 'weight' } & WeightRequest)
	| ({ kind: 'drain' } & DrainRequest)
	| ({ kind: 'rollback' } & RollbackRequest)
	| { kind: 'reload'; server: ServerView }
	| { kind: 'sync'; server: ServerView };

const [request, setRequest] = createSignal<Request | null>(null);
const [done, setDone] = createSignal('');
const DONE_MS = 6000;

/** The acts that a state allows; the others would be refused or change nothing. */
const ALLOWED: Record<string, Act[]> = {
	paused: ['resume', 'disable'],
	disabled: ['enable'],
};

const HINTS: Record<Act, string> = {
	pause: 'drain: flows go on',
	resume: 'probe it again',
	enable: 'probe it again',
	disable: 'off: flows are cut',
};

const LABELS: Record<Act, string> = {
	pause: 'Pause…',
	resume: 'Resume…',
	enable: 'Enable…',
	disable: 'Disable…',
};

interface BackendMenuProps {
	server: ServerView;
	backend: string;
	/** With both the weight can be set, too. */
	frontend?: Frontend;
	pool?: Pool;
}

export const BackendMenu: Component<BackendMenuProps> = (props) => {
	const items = (): MenuItem[] => {
		const { server, backend, frontend, pool } = props;
		const state = server.backends.find((one) => one.name === backend)?.state ?? '';
		const acts = (ALLOWED[state] ?? ['pause', 'disable']).map((act) => ({
			label: LABELS[act],
			hint: HINTS[act],
			run: () => setRequest({ kind: 'act', act, server, backend }),
		}));
		if (!frontend || !pool) return acts;
		const run = () => setRequest({ kind: 'weight', server, frontend, pool, backend });
		return [...acts, { label: 'Weight…', hint: `in pool ${pool.name}`, run }];
	};
	return (
		<Show when={isAdmin() && props.server.connected}>
			<Menu label={`Actions for ${props.backend}`} items={items()} />
		</Show>
	);
};

export const VipMenu: Component<{ entry: Entry }> = (props) => {
	const items = (): MenuItem[] => {
		const { speaker, it } = props.entry;
		const where = { speaker: speaker.name, vip: it.vip, address: it.address };
		const drain = {
			label: it.drained ? 'Drain: another reason…' : 'Drain…',
			hint: 'move its traffic away',
			run: () => setRequest({ kind: 'drain', undrain: false, ...where }),
		};
		const undrain = {
			label: 'Undrain…',
			hint: 'announce it again',
			run: () => setRequest({ kind: 'drain', undrain: true, ...where }),
		};
		return it.drained ? [undrain, drain] : [drain];
	};
	return (
		<Show when={isAdmin() && props.entry.speaker.connected}>
			<Menu
				label={`Actions for ${props.entry.it.vip} on ${props.entry.speaker.name}`}
				items={items()}
			/>
		</Show>
	);
};

/** Applies a generation of a router again. */
export const RollbackAction: Component<{ router: RouterView; of: RouterGeneration }> = (props) => (
	<Show when={isAdmin() && props.router.connected && !props.of.in_force}>
		<button
			type="button"
			onClick={() =>
				setRequest({
					kind: 'rollback',
					router: props.router.name,
					number: String(props.of.number),
				})
			}
		>
			Return to {String(props.of.number)}…
		</button>
	</Show>
);

export const SyncAction: Component<{ server: ServerView }> = (props) => (
	<Show when={isAdmin() && props.server.connected}>
		<button type="button" onClick={() => setRequest({ kind: 'sync', server: props.server })}>
			Sync…
		</button>
	</Show>
);

export const ServerActions: Component<{ server: ServerView }> = (props) => (
	<Show when={isAdmin() && props.server.connected}>
		<button type="button" onClick={() => setRequest({ kind: 'reload', server: props.server })}>
			Check and reload…
		</button>
		<SyncAction server={props.server} />
	</Show>
);

/** The open dialog, and a notice of what was done. */
export const Dialogs: Component = () => {
	const close = () => setRequest(null);
	const told = (text: string) => {
		setDone(text);
		window.setTimeout(() => setDone((now) => (now === text ? '' : now)), DONE_MS);
	};
	const of = <K extends Request['kind']>(kind: K) => {
		const it = request();
		return it?.kind === kind ? (it as Extract<Request, { kind: K }>) : undefined;
	};
	return (
		<>
			<p class="toast" role="status" classList={{ shown: done() !== '' }}>
				{done()}
			</p>
			<Switch>
				<Match when={of('act')}>
					{(it) => <ActDialog {...it()} onClose={close} onDone={told} />}
				</Match>
				<Match when={of('weight')}>
					{(it) => <WeightDialog {...it()} onClose={close} onDone={told} />}
				</Match>
				<Match when={of('drain')}>
					{(it) => <DrainDialog {...it()} onClose={close} onDone={told} />}
				</Match>
				<Match when={of('rollback')}>
					{(it) => <RollbackDialog {...it()} onClose={close} onDone={told} />}
				</Match>
				<Match when={of('reload')}>
					{(it) => <ReloadDialog server={it().server} onClose={close} onDone={told} />}
				</Match>
				<Match when={of('sync')}>
					{(it) => <SyncDialog server={it().server} onClose={close} onDone={told} />}
				</Match>
			</Switch>
		</>
	);
};

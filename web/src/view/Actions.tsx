// SPDX-License-Identifier: Apache-2.0
// The beginning of acts, in /admin/ only: menus and buttons that open a dialog, and the dialog that is
// open.
import { type Component, createSignal, For, Match, Show, Switch } from 'solid-js';
import type { Act } from '../api/client.ts';
import type { Frontend, Pool, RouterGeneration } from '../api/types.ts';
import type { Entry } from '../model/announcements.ts';
import { plural } from '../model/format.ts';
import type { BackendEntry } from '../model/lists.ts';
import type { RouterView, ServerView } from '../model/state.ts';
import { isAdmin } from '../route.ts';
import { allServers } from '../store.ts';
import { Menu, type MenuItem } from './Menu.tsx';
import {
	ActDialog,
	type ActRequest,
	DrainDialog,
	type DrainRequest,
	ManyDialog,
	type ManyRequest,
	ReloadDialog,
	RollbackDialog,
	type RollbackRequest,
	SyncDialog,
	WeightDialog,
	type WeightRequest,
} from './Questions.tsx';

type Request =
	| ({ kind: 'act' } & ActRequest)
	| ({ kind: 'many' } & ManyRequest)
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

const WORDS: Record<Act, string> = {
	pause: 'Pause',
	resume: 'Resume',
	enable: 'Enable',
	disable: 'Disable',
};
const HOST_ACTS: Act[] = ['pause', 'resume'];
const ACTS: Act[] = ['pause', 'resume', 'disable', 'enable'];

interface BackendMenuProps {
	server: ServerView;
	backend: string;
	/** With both the weight can be set, too. */
	frontend?: Frontend;
	pool?: Pool;
}

export const BackendMenu: Component<BackendMenuProps> = (props) => {
	/** The acts on all backends of the same address, on all servers. */
	const ofHost = (backend: string): MenuItem[] => {
		const address = props.server.backends.find((one) => one.name === backend)?.address;
		const all = allServers().flatMap((one) => one.backends.filter((it) => it.address === address));
		if (!address || all.length < 2) return [];
		return HOST_ACTS.map((act) => ({
			label: `${WORDS[act]} host ${address}…`,
			hint: plural(all.length, 'backend'),
			run: () => setRequest({ kind: 'many', act, selection: { address } }),
		}));
	};
	const items = (): MenuItem[] => {
		const { server, backend, frontend, pool } = props;
		const it = server.backends.find((one) => one.name === backend);
		const allowed = ALLOWED[it?.state ?? ''] ?? ['pause', 'disable'];
		const cancels = it?.scheduled && !allowed.includes('resume') ? (['resume'] as const) : [];
		const acts = [...allowed, ...cancels].map((act) => ({
			label: `${WORDS[act]}…`,
			hint: HINTS[act],
			run: () => setRequest({ kind: 'act', act, server, backend }),
		}));
		if (!frontend || !pool) return [...acts, ...ofHost(backend)];
		const run = () => setRequest({ kind: 'weight', server, frontend, pool, backend });
		return [...acts, { label: 'Weight…', hint: `in pool ${pool.name}`, run }];
	};
	return (
		<Show when={isAdmin() && props.server.connected}>
			<Menu label={`Actions for ${props.backend}`} items={items()} />
		</Show>
	);
};

interface ManyProps {
	/** Those that were chosen. */
	picked: BackendEntry[];
	/** All that can be chosen. */
	total: number;
	onAll: () => void;
	onNone: () => void;
}

/** Acts on the chosen backends, on all their servers at once. */
export const ManyActions: Component<ManyProps> = (props) => {
	const servers = () => new Set(props.picked.map((one) => one.server.name)).size;
	const ask = (act: Act) =>
		setRequest({
			kind: 'many',
			act,
			selection: {
				picked: props.picked.map((one) => ({ server: one.server.name, backend: one.it.name })),
			},
		});
	return (
		<Show when={isAdmin()}>
			<div class="toolbar many" role="toolbar" aria-label="Chosen backends">
				<span role="status">
					{props.picked.length
						? `${plural(props.picked.length, 'backend')} on ${plural(servers(), 'server')} chosen`
						: 'None chosen'}
				</span>
				<button type="button" disabled={props.total === 0} onClick={() => props.onAll()}>
					Choose all {props.total}
				</button>
				<Show when={props.picked.length > 0}>
					<button type="button" onClick={() => props.onNone()}>
						Choose none
					</button>
					<For each={ACTS}>
						{(act) => (
							<button type="button" data-many={act} onClick={() => ask(act)}>
								{WORDS[act]}…
							</button>
						)}
					</For>
				</Show>
			</div>
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
				<Match when={of('many')}>
					{(it) => <ManyDialog {...it()} onClose={close} onDone={told} />}
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

// SPDX-License-Identifier: Apache-2.0
// The dialogs of /admin/: each says what will happen to flows before the act is carried out.
import { type Component, createResource, createSignal, For, Show } from 'solid-js';
import {
	type Act,
	actOnBackend,
	checkConfig,
	drainVip,
	reloadConfig,
	rollBack,
	setWeight,
	sync,
	undrainVip,
} from '../api/client.ts';
import type { CheckAnswer, Frontend, Pool } from '../api/types.ts';
import { type Entry, ofDrain } from '../model/announcements.ts';
import { type Consequences, ofAct, ofWeight } from '../model/consequences.ts';
import { plural } from '../model/format.ts';
import { ofRollback } from '../model/routers.ts';
import type { ServerView } from '../model/state.ts';
import { announcers, now, routers } from '../store.ts';
import { Dialog } from './Dialog.tsx';
import { VerdictIcon } from './Icons.tsx';

interface Closing {
	onClose: () => void;
	onDone: (text: string) => void;
}

const Effects: Component<{ of: Consequences }> = (props) => (
	<div class="effects" classList={{ fatal: props.of.fatal }}>
		<p>
			<b>New flows.</b> {props.of.newFlows}
		</p>
		<p>
			<b>Existing flows.</b> {props.of.existing}
		</p>
		<Show when={props.of.frontends.length}>
			<ul>
				<For each={props.of.frontends}>{(text) => <li>{text}</li>}</For>
			</ul>
		</Show>
		<Show when={props.of.fatal}>
			<p class="fatal-note">
				<VerdictIcon verdict="critical" /> This takes the last server away from a frontend.
			</p>
		</Show>
	</div>
);

const TITLES: Record<Act, string> = {
	pause: 'Pause',
	resume: 'Resume',
	enable: 'Enable',
	disable: 'Disable',
};

const ENDS: [string, number][] = [
	['when somebody ends it', 0],
	['after 10 minutes', 600],
	['after 1 hour', 3600],
	['after 8 hours', 28_800],
];

export interface ActRequest {
	act: Act;
	server: ServerView;
	backend: string;
}

export const ActDialog: Component<ActRequest & Closing> = (props) => {
	const [reason, setReason] = createSignal('');
	const [until, setUntil] = createSignal(0);
	const effects = () => ofAct(props.act, props.backend, props.server.frontends);
	const confirm = async () => {
		const ends = until() ? Math.round(now() / 1000) + until() : 0;
		const body = { reason: reason(), until_s: ends };
		await actOnBackend(props.server.name, props.backend, props.act, body);
		props.onDone(`${TITLES[props.act]}d ${props.backend} on ${props.server.name}`);
	};
	return (
		<Dialog
			title={`${TITLES[props.act]} ${props.backend} on ${props.server.name}?`}
			confirm={TITLES[props.act]}
			danger={effects().fatal || props.act === 'disable'}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Effects of={effects()} />
			<Show when={props.act !== 'resume'}>
				<label class="field">
					Reason, for everybody who looks
					<input
						type="text"
						maxlength="120"
						value={reason()}
						onInput={(event) => setReason(event.currentTarget.value)}
					/>
				</label>
				<label class="field">
					Ends
					<select value={until()} onChange={(event) => setUntil(Number(event.currentTarget.value))}>
						<For each={ENDS}>{([label, seconds]) => <option value={seconds}>{label}</option>}</For>
					</select>
				</label>
			</Show>
		</Dialog>
	);
};

export interface RollbackRequest {
	router: string;
	number: string;
}

/** The consequences follow the state while the question is open. */
export const RollbackDialog: Component<RollbackRequest & Closing> = (props) => {
	const router = () => routers().find((one) => one.name === props.router);
	const confirm = async () => {
		const after = await rollBack(props.router, props.number);
		props.onDone(`${props.router}: generation ${after.generation} is in force`);
	};
	return (
		<Dialog
			title={`Return to generation ${props.number} on ${props.router}?`}
			confirm="Return"
			danger={false}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<div class="effects">
				<p>
					<Show when={router()} fallback="This router is no longer shown.">
						{(it) => ofRollback(it(), props.number)}
					</Show>
				</p>
				<p class="muted">A later change of its file, or by its admin API, replaces it again.</p>
			</div>
		</Dialog>
	);
};

export interface DrainRequest {
	speaker: string;
	vip: string;
	address: string;
	undrain: boolean;
}

/** The consequences follow the state while the question is open. */
export const DrainDialog: Component<DrainRequest & Closing> = (props) => {
	const [reason, setReason] = createSignal('');
	const entries = (): Entry[] => announcers().get(props.address) ?? [];
	const effects = () => {
		const entry = entries().find((one) => one.speaker.name === props.speaker);
		return entry && !props.undrain ? ofDrain(entry, entries()) : null;
	};
	const title = () => (props.undrain ? 'Undrain' : 'Drain');
	const confirm = async () => {
		if (props.undrain) await undrainVip(props.speaker, props.vip);
		else await drainVip(props.speaker, props.vip, reason());
		props.onDone(`${title()}ed ${props.vip} on ${props.speaker}`);
	};
	return (
		<Dialog
			title={`${title()} ${props.vip} on ${props.speaker}?`}
			confirm={title()}
			danger={effects()?.fatal ?? false}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Show
				when={effects()}
				fallback={
					<div class="effects">
						<p>
							It follows its frontends again: {props.speaker} announces {props.address} if they are
							up.
						</p>
					</div>
				}
			>
				{(it) => (
					<div class="effects" classList={{ fatal: it().fatal }}>
						<p>
							<b>Here.</b> {it().here} The drain survives a restart and ends by hand.
						</p>
						<p classList={{ 'fatal-note': it().fatal }}>
							<Show when={it().fatal}>
								<VerdictIcon verdict="critical" />{' '}
							</Show>
							<b>Clients.</b> {it().elsewhere}
						</p>
					</div>
				)}
			</Show>
			<Show when={!props.undrain}>
				<label class="field">
					Reason, for everybody who looks
					<input
						type="text"
						maxlength="120"
						value={reason()}
						onInput={(event) => setReason(event.currentTarget.value)}
					/>
				</label>
			</Show>
		</Dialog>
	);
};

export interface WeightRequest {
	server: ServerView;
	frontend: Frontend;
	pool: Pool;
	backend: string;
}

export const WeightDialog: Component<WeightRequest & Closing> = (props) => {
	const inPool = () => props.pool.backends.find((one) => one.name === props.backend);
	const [weight, setValue] = createSignal(inPool()?.weight ?? 100);
	const [flush, setFlush] = createSignal(false);
	const effects = () =>
		ofWeight(props.frontend, props.pool, props.backend, { weight: weight(), flush: flush() });
	const take = (text: string) => {
		const value = Math.round(Number(text));
		if (text !== '' && value >= 0 && value <= 100) setValue(value);
	};
	const confirm = async () => {
		const where = { frontend: props.frontend.name, pool: props.pool.name, backend: props.backend };
		await setWeight(props.server.name, where, { weight: weight(), flush: flush() });
		props.onDone(`Weight of ${props.backend} in ${props.frontend.name} is ${weight()}`);
	};
	return (
		<Dialog
			title={`Weight of ${props.backend} in pool ${props.pool.name} of ${props.frontend.name}`}
			confirm="Set weight"
			danger={effects().fatal || flush()}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<div class="weight">
				<input
					type="range"
					min="0"
					max="100"
					aria-label="Weight, slider"
					value={weight()}
					onInput={(event) => take(event.currentTarget.value)}
				/>
				<input
					type="number"
					name="weight"
					min="0"
					max="100"
					aria-label="Weight"
					value={weight()}
					onInput={(event) => take(event.currentTarget.value)}
				/>
			</div>
			<p class="muted">
				Now {inPool()?.weight}; the file says {inPool()?.configured_weight}. A weight set here lasts
				until maglevd ends or the file says the same.
			</p>
			<label class="check">
				<input
					type="checkbox"
					checked={flush()}
					onChange={(event) => setFlush(event.currentTarget.checked)}
				/>
				also cut the existing flows of this backend
			</label>
			<Effects of={effects()} />
		</Dialog>
	);
};

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const mistakes = (answer: CheckAnswer): string =>
	[answer.parse_error, answer.semantic_error, answer.reload_error].filter(Boolean).join('\n');

const Lines: Component<{ title: string; lines: string[]; none: string }> = (props) => (
	<Show
		when={props.lines.length}
		fallback={
			<Show when={props.none}>
				<p>{props.none}</p>
			</Show>
		}
	>
		<h3>{props.title}</h3>
		<ul class="lines mono">
			<For each={props.lines}>{(line) => <li>{line}</li>}</For>
		</ul>
	</Show>
);

export const ReloadDialog: Component<{ server: ServerView } & Closing> = (props) => {
	const [answer] = createResource(() => checkConfig(props.server.name));
	const confirm = async () => {
		const done = await reloadConfig(props.server.name);
		if (!done.ok) throw new Error(mistakes(done));
		props.onDone(`Reloaded ${props.server.name}: ${plural(done.changes.length, 'change')}`);
	};
	return (
		<Dialog
			title={`Reload the configuration of ${props.server.name}?`}
			confirm="Reload"
			danger={false}
			waiting={!answer.latest?.ok}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Show when={answer.loading}>
				<p class="muted">Checking the file…</p>
			</Show>
			<Show when={answer.error}>
				<p class="dialog-error">{said(answer.error)}</p>
			</Show>
			<Show when={!answer.error && answer.latest}>
				{(it) => (
					<Show
						when={it().ok}
						fallback={
							<>
								<p>The file has mistakes. It cannot be taken; nothing that runs is changed.</p>
								<pre class="mistakes">{mistakes(it())}</pre>
							</>
						}
					>
						<Lines
							title="What changes"
							lines={it().changes}
							none="The file says what is running: nothing changes."
						/>
						<Lines title="Warnings" lines={it().warnings} none="" />
						<p>
							<b>Existing flows.</b> Those of backends that stay go on. A backend that leaves the
							file is removed and its flows are cut.
						</p>
					</Show>
				)}
			</Show>
		</Dialog>
	);
};

export const SyncDialog: Component<{ server: ServerView } & Closing> = (props) => {
	const [plan] = createResource(() => sync(props.server.name, '', true));
	const flushes = () => plan.latest?.operations.filter((one) => / flush\b/.test(one)).length ?? 0;
	const confirm = async () => {
		const done = await sync(props.server.name, '', false);
		props.onDone(`Synced ${props.server.name}: ${plural(done.operations.length, 'operation')}`);
	};
	return (
		<Dialog
			title={`Write the plan to the data plane of ${props.server.name}?`}
			confirm="Sync"
			danger={flushes() > 0}
			waiting={!plan.latest}
			onConfirm={confirm}
			onClose={props.onClose}
		>
			<Show when={plan.loading}>
				<p class="muted">Comparing…</p>
			</Show>
			<Show when={plan.error}>
				<p class="dialog-error">{said(plan.error)}</p>
			</Show>
			<Show when={!plan.error && plan.latest}>
				{(it) => (
					<>
						<Lines
							title="Operations"
							lines={it().operations}
							none="The data plane is as it should be: nothing to write."
						/>
						<Lines title="Left alone" lines={it().withheld} none="" />
						<p>
							<b>Existing flows.</b>{' '}
							{flushes()
								? `${plural(flushes(), 'operation')} with "flush" cut flows; the others keep them.`
								: 'No flow is cut.'}
						</p>
					</>
				)}
			</Show>
		</Dialog>
	);
};

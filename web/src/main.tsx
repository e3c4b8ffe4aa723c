// SPDX-License-Identifier: Apache-2.0
import { render } from 'solid-js/web';
import './style.css';
import { startTheme } from './theme.ts';
import { App } from './view/App.tsx';

startTheme();
const root = document.getElementById('app');
// in a task of its own: to run the script takes long enough
if (root) window.setTimeout(() => render(() => <App />, root), 0);

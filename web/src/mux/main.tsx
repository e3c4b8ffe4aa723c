// SPDX-License-Identifier: Apache-2.0
// The debug page of maglev-mux.
import { render } from 'solid-js/web';
import '../style.css';
import { startTheme } from '../theme.ts';
import { App } from './App.tsx';

startTheme();
const root = document.getElementById('app');
if (root) render(() => <App />, root);

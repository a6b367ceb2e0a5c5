import { type ScopeSet, scopesIn } from '../protocol/scope.ts';
import type { Connection } from '../store/grants.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { ago, csrfField, emptyState, listed, moment, notice } from './parts.ts';

/** Name and site are unknown when the application was deleted. */
export type ConnectedApplication = Connection & {
  readonly name: string | undefined;
  readonly site: string | undefined;
};

type ConnectionsProps = {
  readonly frame: Frame;
  readonly connections: readonly ConnectedApplication[];
  readonly done?: string | undefined;
  readonly now: number;
};

const GONE = 'An application that is gone';

function mayRead(scope: ScopeSet): string {
  const parts = scopesIn(scope).map(({ canRead }) => canRead);
  return parts.length === 0 ? 'only that you have an account' : listed(parts);
}

export function connectionsPage({ frame, connections, done, now }: ConnectionsProps): Html {
  return shellLayout(
    'Connections',
    'connections',
    frame,
    html`<div><h1>Connections</h1>
<p class="muted">Applications that you allowed to use your account.</p></div>
${done === 'disconnected' && notice('success', 'Disconnected. From now on it can no longer use your account.')}
<section class="panel" aria-label="Connected applications">
${connections.length > 0 ? html`<ul class="list">\n${connections.map((connection) => item(connection, now))}</ul>` : noConnections()}
</section>`,
  );
}

const noConnections = (): Html =>
  emptyState(
    'Nothing is connected',
    'When you allow an application to use your account, it appears here, and you can disconnect it at any time.',
  );

function item({ clientId, name, site, scope, since, lastUsedAt }: ConnectedApplication, now: number): Html {
  return html`<li class="row spread">
<div>
<h2>${name ?? GONE}</h2>
${site && html`<p class="muted small">${site}</p>`}
<p>Can read ${mayRead(scope)}.</p>
<p class="muted small">Connected ${moment(since)} · last used ${ago(lastUsedAt, now)}</p>
</div>
<a class="button small" href="/account/connections/${encodeURIComponent(clientId)}/disconnect">Disconnect<span class="visually-hidden"> ${name ?? GONE}</span></a>
</li>
`;
}

type DisconnectProps = {
  readonly frame: Frame;
  readonly connection: ConnectedApplication;
  readonly now: number;
};

export function disconnectPage({ frame, connection, now }: DisconnectProps): Html {
  const { clientId, name = GONE, site, scope, since, lastUsedAt } = connection;
  return shellLayout(
    `Disconnect ${name}`,
    'connections',
    frame,
    html`<h1>Disconnect ${name}?</h1>
<section class="panel"><div class="body stack">
<dl class="facts">
${site && html`<dt>Site</dt><dd>${site}</dd>`}
<dt>Can read</dt><dd>${mayRead(scope)}</dd>
<dt>Connected</dt><dd>${moment(since)}</dd>
<dt>Last used</dt><dd>${ago(lastUsedAt, now)}</dd>
</dl>
<p>It loses its access at once, on every device. What it has read already stays with it. To use it with your account again, you have to allow it anew.</p>
<form class="actions" method="post" action="/account/connections/${encodeURIComponent(clientId)}/disconnect">
${csrfField(frame.csrfToken)}
<button class="danger">Disconnect</button>
<a class="button" href="/account/connections">Keep it</a>
</form>
</div></section>`,
  );
}

import { MAX_SECRETS } from '../protocol/application.ts';
import { type Html, html } from './html.ts';
import { buttonForm, moment, momentAgo } from './parts.ts';

export type SecretState =
  /** Used within the last day. */
  | 'in_use'
  | 'never_used'
  /** Not used for a day or more. */
  | 'idle'
  /** Idle or never used, while a newer one is in use: safe to remove. */
  | 'replaced';

export type SecretView = {
  readonly id: string;
  readonly tail: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly state: SecretState;
  readonly removable: boolean;
};

export type SecretsProps = {
  readonly clientId: string;
  readonly csrfToken: string;
  readonly secrets: readonly SecretView[];
  /** The id of the secret to be created, so that posting the form twice creates one. */
  readonly newSecretId: string;
  readonly now: number;
};

const STATE_BADGES: Record<SecretState, Html> = {
  in_use: html`<span class="badge success">In use</span>`,
  never_used: html`<span class="badge">Not used yet</span>`,
  idle: html`<span class="badge">Idle</span>`,
  replaced: html`<span class="badge warning">Safe to remove</span>`,
};

/** Secrets appear by their last characters only: the service stores hashes. */
export function secretsPanel({ clientId, csrfToken, secrets, newSecretId, now }: SecretsProps): Html {
  const full = secrets.length >= MAX_SECRETS;
  return html`<section class="panel" aria-labelledby="secrets">
<header><h2 id="secrets">Client secrets</h2></header>
<ul class="list">
${secrets.map((secret) => item(clientId, secret, now))}</ul>
<footer class="row">
${
  full
    ? html`<span class="small muted">Two secrets can be live at a time. To make a new one, remove one first.</span>`
    : html`${buttonForm({ action: `/dashboard/apps/${clientId}/secrets`, csrfToken, label: 'New secret', fields: { secret_id: newSecretId } })}
<span class="small muted">The present one goes on working, so you can change over without downtime.</span>`
}
</footer>
</section>`;
}

function item(clientId: string, secret: SecretView, now: number): Html {
  const { id, tail, createdAt, expiresAt, lastUsedAt, state, removable } = secret;
  return html`<li class="row spread">
<div class="stack tight">
<div class="row"><code>…${tail}</code>${STATE_BADGES[state]}</div>
<div class="row tight small muted"><span>Created ${moment(createdAt)}</span><span>${lastUsedAt === null ? 'Never used' : html`Last used ${momentAgo(lastUsedAt, now)}`}</span>${expiresAt !== null && html`<span>Ends ${moment(expiresAt)}</span>`}</div>
</div>
${removable && html`<a class="button small danger" href="/dashboard/apps/${clientId}/secrets/${id}/remove">Remove<span class="visually-hidden"> the secret that ends in ${tail}</span></a>`}
</li>
`;
}

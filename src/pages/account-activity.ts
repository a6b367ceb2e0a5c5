import type { SecurityEvent, SecurityEventKind } from '../store/security-events.ts';
import type { Session } from '../store/sessions.ts';
import { deviceName } from './device.ts';
import { type Html, html } from './html.ts';
import type { Frame } from './layout.ts';
import { ago, buttonForm, moment } from './parts.ts';

export type SessionsProps = {
  readonly frame: Frame;
  readonly sessions: readonly ListedSession[];
  readonly now: number;
};

/** `current`: the session of the browser that asks. */
type ListedSession = Session & { readonly current: boolean };

export function sessionsPanel({ frame, sessions, now }: SessionsProps): Html {
  const item = ({
    idHash,
    userAgent,
    address,
    createdAt,
    current,
  }: ListedSession) => html`<li class="row spread">
<div>
<div class="row"><strong>${deviceName(userAgent)}</strong>${current && html` <span class="badge success">This browser</span>`}</div>
<p class="muted small">${address} · signed in ${ago(createdAt, now)}, ${moment(createdAt)}</p>
</div>
${!current && buttonForm({ action: '/account/sessions/end', csrfToken: frame.csrfToken, label: 'Sign out', className: 'small', fields: { session: idHash } })}
</li>
`;
  return html`<section class="panel" aria-labelledby="browsers-title">
<header class="row spread"><div><h2 id="browsers-title">Signed-in browsers</h2>
<p class="muted">Sign out what you do not know, then change your password.</p></div>
${sessions.length > 1 && buttonForm({ action: '/account/sessions/end-others', csrfToken: frame.csrfToken, label: 'Sign out all others', className: 'small' })}
</header>
<ul class="list">
${sessions.map(item)}</ul>
</section>`;
}

const EVENT_TEXTS: Record<SecurityEventKind, (application: string) => string> = {
  signed_up: () => 'You created this account',
  signed_in: () => 'Signed in',
  failed_sign_ins: () => 'Several failed attempts to sign in',
  password_changed: () => 'Password changed',
  password_reset: () => 'Password reset by mail',
  email_verified: () => 'E-mail address confirmed',
  email_changed: () => 'E-mail address changed',
  email_change_undone: () => 'Change of the e-mail address undone',
  session_ended: () => 'Signed another browser out',
  granted: (application) => `You allowed ${application} to use your account`,
  disconnected: (application) => `You disconnected ${application}`,
  refresh_token_reuse: (application) =>
    `${application} was cut off: an old token of it was used again, so somebody else may have had a copy`,
  code_replay: (application) =>
    `${application} was cut off: a sign-in code of it was used twice, so somebody else may have had a copy`,
};

const ALARMING: ReadonlySet<SecurityEventKind> = new Set([
  'failed_sign_ins',
  'refresh_token_reuse',
  'code_replay',
]);

export type ActivityProps = {
  readonly events: readonly SecurityEvent[];
  /** By client_id. */
  readonly applicationNames: ReadonlyMap<string, string>;
  readonly now: number;
};

export function activityPanel({ events, applicationNames, now }: ActivityProps): Html {
  const item = ({ kind, clientId, at, address, userAgent }: SecurityEvent) => {
    const application = applicationNames.get(clientId ?? '') ?? 'An application that is gone';
    const origin = address === '' ? '' : ` · ${deviceName(userAgent)}, ${address}`;
    return html`<li>
<p>${ALARMING.has(kind) && html`<span class="badge warning">Look at this</span> `}${EVENT_TEXTS[kind](application)}</p>
<p class="muted small">${ago(at, now)}, ${moment(at)}${origin}</p>
</li>
`;
  };
  return html`<section class="panel" aria-labelledby="activity-title">
<header><h2 id="activity-title">Recent activity</h2><p class="muted">The latest that concerns the safety of your account.</p></header>
${events.length > 0 ? html`<ul class="list compact">\n${events.map(item)}</ul>` : html`<div class="body"><p class="muted">Nothing yet.</p></div>`}
</section>`;
}

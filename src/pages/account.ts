import { MIN_PASSWORD_LENGTH } from '../passwords/password-rules.ts';
import { MAX_EMAIL_LENGTH } from '../protocol/email-address.ts';
import { EDITABLE_FIELDS, type ProfileFaults, type ProfileInput } from '../protocol/profile.ts';
import type { User } from '../store/users.ts';
import { type ActivityProps, activityPanel, type SessionsProps, sessionsPanel } from './account-activity.ts';
import { type Html, html } from './html.ts';
import { shellLayout } from './layout.ts';
import { buttonForm, csrfField, field, notice } from './parts.ts';
import { PASSWORD_HINT } from './sign-up.ts';

export type AccountFaults = {
  readonly profile?: ProfileFaults;
  readonly email?: { readonly email?: string | undefined; readonly current?: string | undefined };
  readonly password?: { readonly current?: string | undefined; readonly next?: string | undefined };
};

export type AccountProps = SessionsProps &
  ActivityProps & {
    readonly user: User;
    readonly profile: ProfileInput;
    readonly newEmail: string;
    readonly faults: AccountFaults;
    /** A key of DONE or TROUBLE. */
    readonly done?: string | undefined;
  };

/** Fixed texts by a key in the query: nothing from the address reaches the page. */
const DONE: Readonly<Record<string, string>> = {
  welcome: 'Welcome. Your address is confirmed and your account is ready.',
  profile: 'Your profile is saved.',
  password: 'Your password is changed. Every other browser was signed out.',
  email: 'Your e-mail address is changed and confirmed.',
  email_sent: 'Check your mail: your address changes when you open the link we sent to the new one.',
  verified: 'Your e-mail address is confirmed.',
  verify_sent: 'Check your mail: we sent a link to confirm your address.',
  session: 'That browser is signed out.',
  sessions: 'Every other browser is signed out.',
};
const TROUBLE: Readonly<Record<string, string>> = {
  stale: 'That link did not fit your account any more. Nothing was changed.',
  password_stale: 'Your password was changed elsewhere at this very moment. It was not changed again.',
  too_many: 'We sent you several mails in the last hour. Look for them first, or try again later.',
};

export function accountPage(props: AccountProps): Html {
  const { frame, faults, done = '' } = props;
  const wrong = Object.keys(faults).length > 0;
  return shellLayout(
    'Account',
    'account',
    frame,
    html`<h1>Account</h1>
${wrong && notice('error', 'Nothing was changed yet. See below.')}
${!wrong && Object.hasOwn(DONE, done) && notice('success', DONE[done]!)}
${!wrong && Object.hasOwn(TROUBLE, done) && notice('warning', TROUBLE[done]!)}
${profilePanel(props)}
${emailPanel(props)}
${passwordPanel(props)}
${sessionsPanel(props)}
${activityPanel(props)}
<section class="panel danger" aria-labelledby="delete-title">
<div class="body row spread">
<div><h2 id="delete-title">Delete your account</h2>
<p class="muted">Disconnects every application and removes what is kept about you.</p></div>
<a class="button danger" href="/account/delete">Delete account…</a>
</div>
</section>`,
  );
}

const list = (fault: string | undefined): string[] => (fault === undefined ? [] : [fault]);

function panel(id: string, title: string, lead: string, body: Html): Html {
  return html`<section class="panel setting" aria-labelledby="${id}-title">
<header><h2 id="${id}-title">${title}</h2><p class="muted">${lead}</p></header>
<div class="body">
${body}
</div>
</section>`;
}

function profilePanel({ frame, profile, faults: { profile: faults = {} } }: AccountProps): Html {
  return panel(
    'profile',
    'Profile',
    'What applications see of you once you allow it.',
    html`<form class="stack narrow" method="post" action="/account/profile">
${csrfField(frame.csrfToken)}
${EDITABLE_FIELDS.map((field) => html`${profileField(field, profile, faults)}\n`)}<div class="actions"><button class="primary">Save profile</button></div>
</form>`,
  );
}

function profileField(
  { property, claim, input }: (typeof EDITABLE_FIELDS)[number],
  profile: ProfileInput,
  faults: ProfileFaults,
): Html {
  const { label, type = 'text', hint, autocomplete, maxLength, required } = input;
  return field({
    name: claim,
    label,
    type,
    value: profile[property],
    autocomplete,
    maxLength,
    ...(hint !== undefined && { hint }),
    required: required !== undefined,
    errors: list(faults[property]),
  });
}

function emailPanel({ frame, user, newEmail, faults: { email: faults = {} } }: AccountProps): Html {
  const state = user.emailVerified
    ? html`<span class="badge success">Confirmed</span>`
    : html`<span class="badge warning">Not confirmed</span>`;
  const confirm = buttonForm({
    action: '/account/email/verify',
    csrfToken: frame.csrfToken,
    label: 'Send me a link to confirm it',
    className: 'small',
  });
  return panel(
    'email',
    'E-mail',
    'You sign in with it, and we write to you there when something happens to your account.',
    html`<div class="stack">
<div class="row"><strong>${user.email}</strong> ${state}${!user.emailVerified && confirm}</div>
<details${faults.email || faults.current ? html` open` : ''}>
<summary>Change the address</summary>
<form class="stack narrow" method="post" action="/account/email">
${csrfField(frame.csrfToken)}
${field({ name: 'email', id: 'new-email', label: 'New e-mail', type: 'email', value: newEmail, autocomplete: 'email', required: true, maxLength: MAX_EMAIL_LENGTH, hint: 'We send a link there. Your address changes when you open it.', errors: list(faults.email) })}
${field({ name: 'current_password', id: 'email-password', label: 'Your password', type: 'password', autocomplete: 'current-password', required: true, errors: list(faults.current) })}
<div class="actions"><button>Change address</button></div>
</form>
</details>
</div>`,
  );
}

function passwordPanel({ frame, user, faults: { password: faults = {} } }: AccountProps): Html {
  return panel(
    'password',
    'Password',
    'A change signs out every other browser.',
    html`<form class="stack narrow" method="post" action="/account/password">
${csrfField(frame.csrfToken)}
<input class="visually-hidden" type="email" name="email" value="${user.email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
${field({ name: 'current_password', label: 'Current password', type: 'password', autocomplete: 'current-password', required: true, errors: list(faults.current) })}
${field({ name: 'new_password', label: 'New password', type: 'password', autocomplete: 'new-password', required: true, minLength: MIN_PASSWORD_LENGTH, hint: PASSWORD_HINT, errors: list(faults.next) })}
<div class="actions"><button>Change password</button></div>
</form>`,
  );
}

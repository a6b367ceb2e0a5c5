import { MIN_PASSWORD_LENGTH } from '../passwords/password-rules.ts';
import { MAX_EMAIL_LENGTH } from '../protocol/email-address.ts';
import { MAX_NAME_LENGTH } from '../protocol/name.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { csrfField, field, notice } from './parts.ts';

export type SignUpFaults = {
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly password?: string | undefined;
};

type SignUpProps = {
  readonly csrfToken: string;
  readonly name: string;
  readonly email: string;
  readonly faults: SignUpFaults;
};

const list = (fault: string | undefined): string[] => (fault === undefined ? [] : [fault]);

export const PASSWORD_HINT = `${MIN_PASSWORD_LENGTH} characters or more. A few unrelated words are easy to remember and hard to guess.`;

export function signUpPage({ csrfToken, name, email, faults }: SignUpProps): Html {
  return gateLayout(
    'Create an account',
    html`<h1>Create an account</h1>
<form class="stack" method="post" action="/signup">
${csrfField(csrfToken)}
${field({ name: 'name', label: 'Name', value: name, autocomplete: 'name', required: true, maxLength: MAX_NAME_LENGTH, autofocus: !Object.values(faults).some(Boolean), errors: list(faults.name) })}
${field({ name: 'email', label: 'E-mail', type: 'email', value: email, autocomplete: 'username', required: true, maxLength: MAX_EMAIL_LENGTH, errors: list(faults.email) })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', required: true, minLength: MIN_PASSWORD_LENGTH, hint: PASSWORD_HINT, errors: list(faults.password) })}
<div class="actions even"><button class="primary">Create account</button></div>
</form>`,
    html`Have an account? <a href="/login">Sign in</a>`,
  );
}

const CHECK_MAIL: Record<
  'sign_up' | 'reset',
  { readonly lead: string; readonly hint: string; readonly again: string }
> = {
  sign_up: {
    lead: 'Open the link in it to finish. It works for 24 hours.',
    hint: 'Open it in this browser, then you are signed in at once.',
    again: '/signup',
  },
  reset: {
    lead: 'If the address has an account, the mail holds a link to choose a new password. It works for 30 minutes.',
    hint: 'Your password stays as it is until you choose another.',
    again: '/forgot-password',
  },
};

/** The same whether or not the address has an account: it must not be an account oracle. */
export function checkMailPage({
  email,
  about,
}: {
  readonly email: string;
  readonly about: keyof typeof CHECK_MAIL;
}): Html {
  const { lead, hint, again } = CHECK_MAIL[about];
  return gateLayout(
    'Check your mail',
    html`<h1>Check your mail</h1>
<p>We sent a mail to <strong>${email}</strong>. ${lead}</p>
<p class="muted">${hint}</p>`,
    html`Nothing there? Look among the junk mail, or <a href="${again}">try again</a>.`,
  );
}

type ConfirmSignUpProps = {
  readonly csrfToken: string;
  readonly token: string;
  readonly email: string;
  readonly askPassword: boolean;
  readonly error?: string | undefined;
};

export function confirmSignUpPage({ csrfToken, token, email, askPassword, error }: ConfirmSignUpProps): Html {
  return gateLayout(
    'Confirm your address',
    html`<h1>Almost there</h1>
${error && notice('error', error)}
<p>Confirm that <strong>${email}</strong> is your address, and your account is ready.</p>
<form class="stack" method="post" action="/signup/confirm">
${csrfField(csrfToken)}
<input type="hidden" name="token" value="${token}">
${
  askPassword &&
  html`<input class="visually-hidden" type="email" name="email" value="${email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: true, hint: 'The one you chose when you signed up. It is asked for because this is another browser.' })}`
}
<div class="actions even"><button class="primary">Confirm and sign in</button></div>
</form>`,
    html`You did not ask for an account? Then close this page: nothing happens.`,
  );
}

import { MAX_EMAIL_LENGTH } from '../protocol/email-address.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { csrfField, field, notice } from './parts.ts';

export type LoginProps = {
  readonly csrfToken: string;
  readonly returnTo: string;
  readonly email?: string;
  readonly error?: string | undefined;
  /** A key of DONE. */
  readonly done?: string | undefined;
};

const DONE: Readonly<Record<string, string>> = {
  reset: 'Your password is changed, and every browser was signed out. Sign in with the new one.',
  undone:
    'Your account has its earlier address and a new password, and every browser was signed out. Sign in with them.',
  deleted: 'Your account is deleted. Thank you for having been here.',
  taken: 'This address has an account already. Sign in to it.',
};

const withReturnTo = (path: string, returnTo: string): string =>
  returnTo === '/' ? path : `${path}?return_to=${encodeURIComponent(returnTo)}`;

export function loginPage({ csrfToken, returnTo, email = '', error, done = '' }: LoginProps): Html {
  const doneText = Object.hasOwn(DONE, done) && DONE[done];
  return gateLayout(
    'Sign in',
    html`<h1>Sign in</h1>
${error ? notice('error', error) : doneText && notice('success', doneText)}
<form class="stack" method="post" action="/login">
${csrfField(csrfToken)}
<input type="hidden" name="return_to" value="${returnTo}">
${field({ name: 'email', label: 'E-mail', type: 'email', value: email, autocomplete: 'username', required: true, maxLength: MAX_EMAIL_LENGTH, autofocus: email === '' })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: email !== '' })}
<div class="actions even"><button class="primary">Sign in</button></div>
</form>`,
    html`<p>New here? <a href="${withReturnTo('/signup', returnTo)}">Create an account</a></p>
<p><a href="/forgot-password">Forgot your password?</a></p>`,
  );
}

import { MIN_PASSWORD_LENGTH } from '../passwords/password-rules.ts';
import { MAX_EMAIL_LENGTH } from '../protocol/email-address.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { csrfField, field } from './parts.ts';
import { PASSWORD_HINT } from './sign-up.ts';

type ForgotPasswordProps = {
  readonly csrfToken: string;
  readonly email: string;
  readonly fault?: string | undefined;
};

export function forgotPasswordPage({ csrfToken, email, fault }: ForgotPasswordProps): Html {
  return gateLayout(
    'Forgot your password?',
    html`<h1>Forgot your password?</h1>
<p>Tell us your e-mail address, and we send you a link to choose a new one.</p>
<form class="stack" method="post" action="/forgot-password">
${csrfField(csrfToken)}
${field({ name: 'email', label: 'E-mail', type: 'email', value: email, autocomplete: 'username', required: true, maxLength: MAX_EMAIL_LENGTH, autofocus: true, errors: fault ? [fault] : [] })}
<div class="actions even"><button class="primary">Send the link</button></div>
</form>`,
    html`Remembered it? <a href="/login">Sign in</a>`,
  );
}

type ResetPasswordProps = {
  readonly csrfToken: string;
  readonly token: string;
  readonly email: string;
  readonly fault?: string | undefined;
};

export function resetPasswordPage({ csrfToken, token, email, fault }: ResetPasswordProps): Html {
  return gateLayout(
    'Choose a new password',
    html`<h1>Choose a new password</h1>
<p>For <strong>${email}</strong>. Every browser that is signed in to this account will be signed out.</p>
<form class="stack" method="post" action="/reset-password">
${csrfField(csrfToken)}
<input type="hidden" name="token" value="${token}">
<input class="visually-hidden" type="email" name="email" value="${email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
${field({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', required: true, minLength: MIN_PASSWORD_LENGTH, autofocus: true, hint: PASSWORD_HINT, errors: fault ? [fault] : [] })}
<div class="actions even"><button class="primary">Change the password</button></div>
</form>`,
  );
}

import { MIN_PASSWORD_LENGTH } from '../passwords/password-rules.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { csrfField, field } from './parts.ts';
import { PASSWORD_HINT } from './sign-up.ts';

type UndoEmailChangeProps = {
  readonly csrfToken: string;
  readonly token: string;
  /** The address that the account gets back. */
  readonly email: string;
  readonly fault?: string | undefined;
};

export function undoEmailChangePage({ csrfToken, token, email, fault }: UndoEmailChangeProps): Html {
  return gateLayout(
    'Take your account back',
    html`<h1>Take your account back</h1>
<p>Your account gets the address <strong>${email}</strong> again, and the password that you choose here. Every browser that is signed in to it will be signed out.</p>
<form class="stack" method="post" action="/undo-email-change">
${csrfField(csrfToken)}
<input type="hidden" name="token" value="${token}">
<input class="visually-hidden" type="email" name="email" value="${email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
${field({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', required: true, minLength: MIN_PASSWORD_LENGTH, autofocus: true, hint: PASSWORD_HINT, errors: fault ? [fault] : [] })}
<div class="actions even"><button class="primary">Restore the address</button></div>
</form>`,
    html`You changed the address yourself? Then close this page: nothing happens.`,
  );
}

import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { field, notice } from './parts.ts';

export type LoginProps = {
  readonly formToken: string;
  readonly returnTo: string;
  readonly email?: string;
  readonly error?: string | undefined;
};

export function loginPage({ formToken, returnTo, email = '', error }: LoginProps): Html {
  return gateLayout(
    'Sign in',
    html`<h1>Sign in</h1>
${error && notice('error', error)}
<form class="stack" method="post" action="/login">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="return_to" value="${returnTo}">
${field({ name: 'email', label: 'E-mail', type: 'email', value: email, autocomplete: 'username', required: true, maxLength: 254, autofocus: email === '' })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: email !== '' })}
<div class="actions even"><button class="primary">Sign in</button></div>
</form>`,
  );
}

import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { csrfField, field, notice } from './parts.ts';

type VerifyEmailProps = {
  readonly csrfToken: string;
  readonly token: string;
  readonly email: string;
  readonly purpose: 'verify_email' | 'change_email';
  /** The present address of the account. */
  readonly account: string;
  readonly askPassword: boolean;
  readonly error?: string | undefined;
};

const lead = ({ purpose, account, email }: VerifyEmailProps): Html =>
  purpose === 'verify_email'
    ? html`Confirm that this is the address of your account: <strong>${email}</strong>.`
    : html`From then on you sign in to the account <strong>${account}</strong> with the address <strong>${email}</strong>.`;

export function verifyEmailPage(props: VerifyEmailProps): Html {
  const { csrfToken, token, account, askPassword, error } = props;
  return gateLayout(
    'Confirm your address',
    html`<h1>Confirm your address</h1>
${error && notice('error', error)}
<p>${lead(props)}</p>
<form class="${askPassword ? 'stack' : 'actions even'}" method="post" action="/verify-email">
${csrfField(csrfToken)}
<input type="hidden" name="token" value="${token}">
${
  askPassword &&
  html`<input class="visually-hidden" type="email" name="email" value="${account}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: true, hint: 'The password of this account. It is asked for because this browser is not signed in to it.' })}`
}
<button class="primary">Confirm</button>
</form>`,
    html`You did not ask for this? Then close this page: nothing happens.`,
  );
}

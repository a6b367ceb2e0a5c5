import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { csrfField } from './parts.ts';

type VerifyEmailProps = {
  readonly csrfToken: string;
  readonly token: string;
  readonly email: string;
  readonly purpose: 'verify_email' | 'change_email';
};

const TEXTS = {
  verify_email: 'Confirm that this is your address:',
  change_email: 'From then on this is the address you sign in with:',
} as const;

export function verifyEmailPage({ csrfToken, token, email, purpose }: VerifyEmailProps): Html {
  return gateLayout(
    'Confirm your address',
    html`<h1>Confirm your address</h1>
<p>${TEXTS[purpose]} <strong>${email}</strong>.</p>
<form class="actions even" method="post" action="/verify-email">
${csrfField(csrfToken)}
<input type="hidden" name="token" value="${token}">
<button class="primary">Confirm</button>
</form>`,
    html`You did not ask for this? Then close this page: nothing happens.`,
  );
}

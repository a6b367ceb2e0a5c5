import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { csrfField } from './parts.ts';

export function logoutPage({
  email,
  csrfToken,
}: {
  readonly email: string;
  readonly csrfToken: string;
}): Html {
  return gateLayout(
    'Sign out',
    html`<h1>Sign out?</h1>
<p>You are signed in as <strong>${email}</strong>.</p>
<form class="actions even" method="post" action="/logout">
${csrfField(csrfToken)}
<a class="button" href="/account">Stay</a>
<button class="primary">Sign out</button>
</form>`,
  );
}
